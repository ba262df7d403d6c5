from __future__ import annotations

import pytest
from claim_rows import REFERENCE, RULES, choice, kept, make, reason, statement
from pydantic import ValidationError

from benchbuilder.records.fates import Kept
from benchbuilder.records.statement import Statement
from benchbuilder.records.table import Table

SPEC = RULES["ask_tf_choice"]
STATE = make("state_choice", RULES["state_choice"])
REPLACE = make("replace", RULES["replace_choice"])


def test_each_fact_is_asked_about_once_and_both_verdicts_occur():
    stage = make("ask_tf", SPEC)
    verdicts = []
    for number in range(60):
        fact = choice(f"第{number}产程首选的处理是", "甲法", "乙法")
        true = kept(STATE.map(fact, {}))
        false = kept(REPLACE.map(true, {"fact": fact}))
        fates = [fate for row in (true, false) for fate in stage.map(row, {})]
        [question] = [fate.row for fate in fates if isinstance(fate, Kept)]
        asked = true if question.expected == "yes" else false
        assert question.of == asked.id
        assert question.text == asked.text.removesuffix("。") + "吗？"
        assert [fate.reason for fate in fates if not isinstance(fate, Kept)] == ["other_polarity"]
        verdicts.append(question.expected)
    assert 15 < verdicts.count("yes") < 45


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("Auer小体不见于", "淋巴细胞白血病", "Auer小体不见于淋巴细胞白血病，这种说法对吗？"),
        ("还应询问的病史是", "是否有盗汗", "还应询问的病史是是否有盗汗，这种说法对吗？"),
        ("不显影的结石是", "尿酸结石", "不显影的结石是尿酸结石吗？"),
    ],
)
def test_negative_predicates_are_not_asked_with_a_rhetorical_particle(question, answer, text):
    stage = make("ask_tf", {**SPEC, "polarity": "true_only"})
    assert kept(stage.map(statement(question, answer), {})).text == text


def test_true_only_asks_about_no_false_statement():
    stage = make("ask_tf", {**SPEC, **REFERENCE["ask_tf_choice"]})
    true = statement("产后出血最常见的原因是", "宫缩乏力", context="产妇，28岁。")
    question = kept(stage.map(true, {}))
    assert (question.type, question.expected, question.context) == ("tf", "yes", "产妇，28岁。")
    false = true.model_copy(update={"polarity": "false"})
    assert reason(stage.map(false, {})) == "other_polarity"


def test_a_question_of_two_sentences_is_dropped():
    stage = make("ask_tf", {**SPEC, "polarity": "true_only"})
    assert reason(stage.map(statement("病因不明；首选药物是", "青霉素"), {})) == "not_one_question"


@pytest.mark.parametrize("form", ["{statment}吗？", "吗？", "{statement}{吗？"])
def test_a_form_must_hold_the_statement_and_nothing_unknown(form):
    with pytest.raises(ValidationError, match="form"):
        make("ask_tf", {**SPEC, "forms": [{"form": form}]})


def test_a_fact_without_a_false_statement_is_asked_about_its_true_one():
    facts = [choice(f"第{number}产程首选的处理是", "甲法", "乙法") for number in range(20)]
    true = [kept(STATE.map(fact, {})) for fact in facts]
    false = [kept(REPLACE.map(row, {"fact": fact})) for fact, row in zip(facts[:10], true, strict=False)]
    everything = Table.of([*true, *false], Statement)
    stage = make("ask_tf", SPEC, lookups={"statements": everything})
    fates = [fate for row in everything for fate in stage.map(row, {})]
    asked = [fate.row for fate in fates if isinstance(fate, Kept)]
    assert sorted(question.fact for question in asked) == sorted(fact.id for fact in facts)
    assert {question.expected for question in asked if question.fact in {f.id for f in facts[10:]}} == {"yes"}
    assert {question.expected for question in asked if question.fact in {f.id for f in facts[:10]}} == {"yes", "no"}
