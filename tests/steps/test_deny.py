from __future__ import annotations

import pytest
from claim_rows import RULES, choice, kept, make
from pydantic import ValidationError

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.roles import Question, Statement

STATE = make("state_choice", RULES["state_choice"])
REPLACE = make("replace", RULES["replace_choice"])
SPEC = {"form": "{statement}，这种说法不正确。", "stop": "。", "lowered": False}
FACTS = [choice(f"第{n}组患儿首选的药物是", "甲药", "乙药", "丙药", context="背景。") for n in range(20)]


def pair(fact):
    true = kept(STATE.map(fact, {}))
    return true, kept(REPLACE.map(true, {"fact": fact}))


def test_a_true_statement_becomes_a_false_one_and_a_false_one_a_true_one():
    true, false = pair(FACTS[0])
    denials = [kept(make("deny", SPEC).map(row, {})) for row in (true, false)]
    assert [denial.polarity for denial in denials] == ["false", "true"]
    assert denials[0].text == "第0组患儿首选的药物是甲药，这种说法不正确。"
    assert denials[0].answer.of(denials[0].text) == "甲药"
    assert (denials[0].of, denials[0].fact, denials[0].context) == (true.id, true.fact, "背景。")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Izinso zihluza igazi.", "Akulona iqiniso ukuthi izinso zihluza igazi."),
        ("ATP iyadingeka.", "Akulona iqiniso ukuthi ATP iyadingeka."),
    ],
)
def test_a_statement_inside_a_sentence_begins_with_a_small_letter(said, text):
    spec = {"form": "Akulona iqiniso ukuthi {statement}.", "stop": ".", "lowered": True}
    row = pair(FACTS[0])[0].model_copy(update={"text": said, "answer": None})
    denial = kept(make("deny", {**spec, "keep_capitals": [r"\p{Lu}{2}"]}).map(row, {}))
    assert denial.text == text


def test_a_form_without_the_statement_is_refused():
    with pytest.raises(ValidationError, match="must stand in it once"):
        make("deny", {**SPEC, "form": "不对。"})


def assembled(denied):
    asked, tables = make("ask_tf", RULES["ask_tf_choice"]), {"stated": [], "replaced": [], "negated": []}
    questions = []
    for fact in FACTS:
        true, false = pair(fact)
        tables["stated"].append(true)
        tables["replaced"].append(false)
        questions += [fate.row for row in (true, false) for fate in asked.map(row, {}) if isinstance(fate, Kept)]
    every = [*tables["stated"], *tables["replaced"]]
    rows = {port: Table.of(found, Statement) for port, found in tables.items()}
    if denied:
        rows["denied"] = Table.of([kept(make("deny", SPEC).map(row, {})) for row in every], Statement)
    gathered = make("assemble", RULES["candidates"]).gather({"each": Table.of(questions, Question), **rows})
    return [fate.row for _, fates in gathered.fates for fate in fates if isinstance(fate, Kept)], gathered, rows


def test_a_claim_of_its_own_is_answered_by_itself_or_by_its_denial():
    rows, gathered, tables = assembled(denied=True)
    assert {row.expected for row in rows} == {"yes", "no"}
    for row in rows:
        asked = row.question.removesuffix("吗？")
        denial = f"{asked}，这种说法不正确。"
        both = (row.answer, row.answer_wrong)
        assert both == ((f"{asked}。", denial) if row.expected == "yes" else (denial, f"{asked}。"))
    used = {parent for row in rows for parent in row.parents}
    for port in ("stated", "replaced", "denied"):
        ids = set(tables[port].ids())
        assert set(gathered.unused[port]) == ids - used


def test_without_denials_nothing_changes():
    rows, gathered, _ = assembled(denied=False)
    assert all(row.answer.endswith("是甲药。") for row in rows)
    assert "denied" not in gathered.unused
