"""Facts are translated by a table: whole, checked, by the id of the original, and never by position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.core.records.payloads import Choice, Fact, LabelledClaim, Option, Term
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.steps.translate import Translate, TranslateSpec
from benchbuilder.steps.translation.file import TRANSLATION_COLUMNS, payload_parts, read_translations
from benchbuilder.steps.translation.glossary import read_glossary
from benchbuilder.testing import check_step

CHECKS = Path(__file__).parents[2] / "recipes" / "translation_checks"
HEADER = "\t".join(TRANSLATION_COLUMNS)


def fact(question: str, *options: str) -> Fact[Choice]:
    listed = tuple(Option(key="ABCD"[at], text=text) for at, text in enumerate(options))
    payload = Choice(question=question, options=listed, answer_key="B", answer=options[1])
    return Fact[Choice].build(
        payload=payload,
        origin=Origin(file="exam.csv", line=1),
        produced_by=ProducedBy(rule="exam"),
        language="en",
        partition="exam",
    )


DRUG = fact("Which drug, 5 mg, is given first?", "Oxytocin.", "Insulin.", "Digoxin.")
TEXTS = ["¿Qué fármaco, 5 mg, se administra primero?", "Oxitocina.", "Insulina.", "Digoxina."]


def table(folder: Path, row: Fact[Choice], texts: list[str], **cells: str) -> str:
    """The path of a table with the translations of a fact; `cells` are added to its first line."""
    lines = []
    for (part, original), text in zip(payload_parts(row.payload).items(), texts, strict=True):
        given = {"id": row.id, "part": part, "original": original, "translation": text, "author": "p1"}
        given |= cells if not lines else {}
        lines.append("\t".join(given.get(name, "") for name in TRANSLATION_COLUMNS))
    path = folder / "es.tsv"
    path.write_text("\ufeff" + "\n".join([HEADER, *lines]) + "\n", "utf-8")
    return str(path)


def step(translations: str | None, **spec: Any) -> Translate:
    words = {code: yaml.safe_load((CHECKS / f"{code}.yaml").read_text("utf-8")) for code in ("en", "es")}
    given = {"kind": "translate", "from": "rows", "strategy": "rules", "original": "en", "checks": words, **spec}
    context = StepContext(seed=1, language="es", step="translate", cache=Path("cache"), workplace=Path("people"))
    return Translate(TranslateSpec.model_validate({**given, "translations": translations}), context)


def outcome(translations: str | None, row: Fact[Choice] = DRUG, **spec: Any) -> Any:
    made = step(translations, **spec)
    made.open({})
    (found,) = made.map(row, {})
    return found


def test_a_fact_is_translated_with_its_answer_and_says_who_did_it(tmp_path):
    row = outcome(table(tmp_path, DRUG, TEXTS)).row
    assert (row.language, row.of, row.origin) == ("es", DRUG.id, DRUG.origin)
    assert row.payload.question == TEXTS[0]
    assert (row.payload.answer_key, row.payload.answer) == ("B", "Insulina.")
    assert row.produced_by.rule == "translate/people+p1"
    assert "Which drug" in row.original


def test_a_changed_translation_is_another_fact_and_that_of_the_original_stays(tmp_path):
    first = outcome(table(tmp_path, DRUG, TEXTS)).row
    second = outcome(table(tmp_path, DRUG, ["¿Cuál, 5 mg, se da primero?", *TEXTS[1:]])).row
    assert first.id != second.id
    assert first.of == second.of == DRUG.id


@pytest.mark.parametrize(
    ("texts", "cells", "reason"),
    [
        (["¿Qué fármaco, 50 mg, se administra primero?", *TEXTS[1:]], {}, "number_changed"),
        ([TEXTS[0], "Insulina.", *TEXTS[2:]], {}, "options_merged"),
        ([TEXTS[0], "", *TEXTS[2:]], {}, "no_translation"),
        (TEXTS, {"original": "Which drug, 5 mg, is given last?"}, "stale_translation"),
        ([TEXTS[0].replace("5 mg", "5 \u202emg"), *TEXTS[1:]], {}, "odd_characters"),
    ],
)
def test_what_cannot_stand_is_dropped_with_its_reason(tmp_path, texts, cells, reason):
    found = outcome(table(tmp_path, DRUG, texts, **cells))
    assert isinstance(found, Dropped)
    assert found.reason == reason
    assert found.detail


def test_a_fault_that_a_person_accepted_with_a_reason_passes(tmp_path):
    texts = ["¿Qué fármaco, 50 mg, se administra primero?", *TEXTS[1:]]
    assert outcome(table(tmp_path, DRUG, texts, note="ok:")).reason == "number_changed"
    assert outcome(table(tmp_path, DRUG, texts, note="ok: the dose here")).row.payload.question == texts[0]


def test_without_a_table_every_fact_is_dropped_and_check_says_how_to_make_one():
    assert outcome(None).reason == "no_translation"
    (remark,) = step(None).remarks()
    assert "translations write" in remark.allowed[0]


def test_a_step_says_which_settings_are_about_words_or_facts(tmp_path):
    path = table(tmp_path, DRUG, TEXTS)
    rows = {"each": Fact[Choice]}
    assert [issue.key for issue in step(path).validate_inputs(rows)] == []
    assert [issue.key for issue in step(path, original=None).validate_inputs(rows)] == ["original"]
    assert [issue.key for issue in step(path, dictionary=path).validate_inputs(rows)] == ["dictionary"]
    words = [issue.key for issue in step(path).validate_inputs({"each": Fact[Term]})]
    assert words == ["translations", "original"]


def test_the_step_keeps_its_promises(tmp_path):
    other = fact("Which is safe?", "None.", "All.")
    shard = check_step(lambda: step(table(tmp_path, DRUG, TEXTS)), {"each": Table.of([DRUG, other], Fact[Choice])})
    assert [row.language for row in shard.rows] == ["es"]


def test_each_text_of_a_fact_is_one_part():
    assert list(payload_parts(DRUG.payload)) == ["question", "option.1", "option.2", "option.3"]
    claim = LabelledClaim(text="Cats sleep.", label="true", premise="A cat sleeps.")
    assert payload_parts(claim) == {"text": "Cats sleep.", "premise": "A cat sleeps."}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\tpart\toriginal\n", "no column 'translation'"),
        (f"{HEADER}\nf1\tquestion\ta\tb\t\t\t\nf1\tquestion\ta\tc\t\t\t\n", "stands in line 2 too"),
        (f"{HEADER}\n\tquestion\ta\tb\t\t\t\n", "no id or no part"),
    ],
)
def test_a_faulty_table_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "es.tsv"
    path.write_text(text if text.count("\n") > 1 else text + "f1\tquestion\ta\n", "utf-8")
    with pytest.raises(DataError) as error:
        read_translations(path)
    assert message in str(error.value)


def test_a_glossary_has_forms_and_translations_divided_by_a_bar(tmp_path):
    path = tmp_path / "glossary.tsv"
    path.write_text("term\ttranslation\tforbidden\nchild|children\tniño|niña\tcrío\n", "utf-8")
    glossary = read_glossary(path)
    assert list(glossary.faults("Two children.", "Dos niños.")) == []
    assert "forbids" in next(glossary.faults("A child.", "Un niño, un crío."))
    assert list(glossary.faults("Childhood.", "Infancia.")) == []
    path.write_text("term\ttranslation\tforbidden\nchild\t\t\n", "utf-8")
    with pytest.raises(DataError, match="forbidden"):
        read_glossary(path)
