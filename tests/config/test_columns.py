"""`check` knows the texts and columns of the rows before there are any."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.core.errors import RecipeError
from benchbuilder.core.records.arrow.column_names import column_names, text_names
from benchbuilder.core.records.payloads import Choice, Fact
from benchbuilder.core.records.roles import Passage
from benchbuilder.pipeline.check import check


def test_names_are_known_without_rows() -> None:
    assert text_names(Fact[Choice]) == ("context", "question", "options", "answer")
    assert text_names(Passage) == ("title", "text")
    assert text_names(Fact) == ()
    assert {"id", "origin.file", "payload.question", "payload.answer_key"} <= set(column_names(Fact[Choice]))


@pytest.mark.parametrize(
    ("key", "value", "found", "hint"),
    [
        ("steps.unique.fields.question", "payload.qestion", "payload.qestion", "payload.question"),
        ("steps.choices_on_topic.groups.anywhere", "[contxt]", "contxt", "context"),
        ("steps.screen_options.checks.all_or_none.fields", "[option]", "option", "options"),
    ],
)
def test_names_that_rows_do_not_have(key: str, value: str, found: str, hint: str) -> None:
    with pytest.raises(RecipeError) as caught:
        check(load_recipe(["recipe=care_mi", f"{key}={value}"]))
    (problem,) = caught.value.problems
    assert (problem.key, problem.found) == (key, found)
    assert f"'{hint}'" in problem.hint
    assert problem.where.startswith("command line: ")


def test_a_faulty_relation_table(tmp_path: Path) -> None:
    table = tmp_path / "relations.tsv"
    table.write_text("relation\tstatement\tnegated\ttf\toe\tanswer_end\ncauses\t{hed} causes {tail}\tx\ty\tz\ttail\n")
    with pytest.raises(RecipeError, match=r"relations\.tsv:2") as caught:
        check(load_recipe(["recipe=care_mi", f"paths.relations={table}"]))
    assert {problem.key for problem in caught.value.problems} == {
        f"steps.{step}" for step in ("state_triple", "negate_triple", "ask_tf_triple")
    }
