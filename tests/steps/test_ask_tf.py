from __future__ import annotations

import pytest
from claim_rows import REFERENCE, RULES, choice, kept, make, reason, statement
from pydantic import ValidationError

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import MadeBy
from benchbuilder.steps.writer import Fault

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


def test_even_asks_about_as_many_false_statements_as_there_can_be():
    rows = []
    for number in range(40):
        fact = choice(f"第{number}产程首选的处理是", "甲法", "乙法")
        true = kept(STATE.map(fact, {}))
        rows += [true, kept(REPLACE.map(true, {"fact": fact}))] if number % 4 else [true]
    stage = make("ask_tf", {**SPEC, "polarity": "even"})
    stage.open({"statements": Table.of(rows, Statement)})
    asked = [fate.row.expected for row in rows for fate in stage.map(row, {}) if isinstance(fate, Kept)]
    assert (asked.count("yes"), asked.count("no")) == (20, 20)
    few = [row for row in rows if row.polarity == "true" or row.fact == rows[1].fact]
    stage.open({"statements": Table.of(few, Statement)})
    asked = [fate.row.expected for row in few for fate in stage.map(row, {}) if isinstance(fate, Kept)]
    assert asked.count("no") == len({row.fact for row in few if row.polarity == "false"})
    assert len(asked) == 40


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


def judged(true, text):
    stage = make("ask_tf", {**SPEC, "polarity": "true_only"})
    return stage.judge(true, {}, text, MadeBy(rule="model"))


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("新生儿脐带夹闭后首选的处理是保持干燥吗？", "新生儿脐带夹闭后首选的处理是保持干燥吗？"),
        ("新生儿脐带夹闭后，首选的处理会是保持干燥吗?", "新生儿脐带夹闭后，首选的处理会是保持干燥吗？"),
        (
            "新生儿脐带夹闭后首选的处理是保持干燥，这种说法对吗？",
            "新生儿脐带夹闭后首选的处理是保持干燥，这种说法对吗？",
        ),
    ],
)
def test_a_models_question_holds_the_statement(text, asked):
    row = judged(statement("新生儿脐带夹闭后首选的处理是", "保持干燥", context="男婴。"), text)
    assert not isinstance(row, Fault), row
    assert (row.text, row.type, row.expected, row.context) == (asked, "tf", "yes", "男婴。")
    assert "same_negations" in row.checks


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("新生儿脐带夹闭后首选的处理是保持干燥吗？请回答。", "not_one_question"),
        ("新生儿脐带夹闭后首选的处理是保持干燥。", "not_one_question"),
        ("新生儿脐带夹闭后首选的处理是保持干燥\n吗？", "not_one_question"),
        ("新生儿脐带夹闭后首选的处理是保持干燥？", "not_true_or_false"),
        ("新生儿脐带夹闭后首选的处理不是保持干燥吗？", "polarity_changed"),
        ("新生儿脐带夹闭后首选的处理是湿敷吗？", "answer_missing"),
        ("首选保持干燥吗？", "inconsistent"),
        ("3日内新生儿脐带夹闭后首选的处理是保持干燥吗？", "inconsistent"),
        ("答案：新生儿脐带夹闭后首选的处理是保持干燥吗？", "leaks_verdict"),
        ("是的，新生儿脐带夹闭后首选的处理是保持干燥吗？", "leaks_verdict"),
        ("难道新生儿脐带夹闭后首选的处理是保持干燥吗？", "leaks_verdict"),
    ],
)
def test_what_a_model_asks_is_checked(text, fault):
    made = judged(statement("新生儿脐带夹闭后首选的处理是", "保持干燥"), text)
    assert isinstance(made, Fault), made
    assert made.reason == fault


def test_a_negation_that_is_lost_would_turn_the_key():
    true = statement("Auer小体不见于", "淋巴细胞白血病")
    assert judged(true, "Auer小体见于淋巴细胞白血病吗？").reason == "polarity_changed"
    assert judged(true, "Auer小体不见于淋巴细胞白血病吗？").expected == "yes"


def test_what_the_statement_says_itself_is_no_verdict():
    true = statement("保持正确的含接姿势可预防的是", "乳头皲裂")
    assert judged(true, "保持正确的含接姿势可预防的是乳头皲裂吗？").expected == "yes"
