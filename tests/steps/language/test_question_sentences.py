"""Sentences of relations that ask: each is one question, in the tables that ship and in those that people write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchbuilder.core import fill_template
from benchbuilder.steps.language.questions import is_one_sentence
from benchbuilder.steps.language.relations import RelationTables, question_issues

RECIPES = Path(__file__).parents[3] / "recipes"
HEADER = "relation\tstatement\tnegated\ttf\toe\tanswer_end\toe_set\n"
ROW = "helps with\t{head} helps with {tail}.\t{head} does not help with {tail}.\tDoes {head} help with {tail}?\t"


def sentences() -> list[tuple[str, str]]:
    """Each question of the sentences by language, with the language."""
    found: list[tuple[str, str]] = []
    for file in sorted((RECIPES / "relations").glob("*.yaml")):
        known: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        found += [
            (file.stem, re.sub(r"\{(?!head|tail|relation)\w+\}", "group", one[name]))
            for one in known.get("sentences", ())
            for name in ("tf", "oe", "oe_set")
            if name in one
        ]
    return found


@pytest.mark.parametrize(("language", "sentence"), sentences())
def test_what_ships_is_one_question_in_its_language(language: str, sentence: str) -> None:
    written = yaml.safe_load((RECIPES / "writing" / f"{language}.yaml").read_text(encoding="utf-8"))
    text, _ = fill_template(sentence, {"head": "aaa", "tail": "bbb", "relation": "ccc"})
    ends = "".join(written["stops"]) + written["stop"]
    assert is_one_sentence(text, written["question_mark"], ends), text


def test_a_sentence_whose_questions_are_all_dropped_is_said(tmp_path: Path) -> None:
    file = tmp_path / "relations.tsv"
    asked = ("What does {head} help with? Name all.", "What does {head} help with?", "")
    file.write_text(HEADER + "".join(f"{ROW}\ttail\t{one}\n" for one in asked), encoding="utf-8")
    tables = RelationTables.read({"default": file})
    (issue,) = question_issues(tables, "oe_set", "?", ".?!")
    assert (issue.key, issue.actual) == ("relations", asked[0])
    assert "`oe_set` of helps with is not one sentence that ends in '?'" in issue.message
