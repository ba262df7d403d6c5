from __future__ import annotations

from claim_rows import RULES, choice, kept, make, tokenizer
from gathered_rows import run_gather

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.roles import Question, Statement
from benchbuilder.steps import assemble

STATE = make("state_choice", RULES["state_choice"])
NEGATE = make("negate", {**RULES["negate_choice"], "tokenizer": tokenizer("whitespace")})
REPLACE = make("replace", RULES["replace_choice"])
TF = make("ask_tf", {**RULES["ask_tf_choice"], "polarity": "balanced"})
OE = make("ask_oe", RULES["ask_oe_choice"])


def built(facts, *, replaced=True, ask=("tf", "oe"), wrong_tf=("replaced",)):
    true, no, other, questions = [], [], [], []
    for fact in facts:
        row = kept(STATE.map(fact, {}))
        true.append(row)
        no.append(kept(NEGATE.map(row, {})))
        other += [kept(REPLACE.map(row, {"fact": fact}))] if replaced else []
        asked = ([row, *other[-1:]] if "tf" in ask else []), ([row] if "oe" in ask else [])
        for stage, rows in ((TF, asked[0]), (OE, asked[1])):
            questions += [outcome.row for item in rows for outcome in stage.map(item, {}) if isinstance(outcome, Kept)]
    tables = {
        "each": Table.of(questions, Question),
        "stated": Table.of(true, Statement),
        "negated": Table.of(no, Statement),
        "replaced": Table.of(other, Statement),
    }
    return run_gather(make("assemble", {**RULES["candidates"], "wrong_tf": list(wrong_tf)}), tables), tables


FACTS = [choice(f"第{n}组患儿首选的药物是", "甲药", "乙药", "丙药", context="背景。") for n in range(20)]


def test_each_question_gets_the_right_and_a_wrong_answer():
    result, tables = built(FACTS)
    rows = [outcome.row for _, outcomes in result.outcomes for outcome in outcomes if isinstance(outcome, Kept)]
    assert len(rows) == len(tables["each"])
    for row in rows:
        assert row.answer.endswith("是甲药。")
        assert row.answer != row.answer_wrong
        assert "不是" not in row.answer_wrong
        assert row.family == row.fact
        if row.expected == "no":
            assert row.question.removesuffix("吗？") + "。" == row.answer_wrong  # that very false statement
    assert {row.expected for row in rows} == {"yes", "no", ""}


def test_every_statement_is_in_a_candidate_or_named_as_unused():
    result, tables = built(FACTS)
    rows = [outcome.row for _, outcomes in result.outcomes for outcome in outcomes if isinstance(outcome, Kept)]
    used = {parent for row in rows for parent in row.parents}
    for port in ("stated", "negated", "replaced"):
        ids = set(tables[port].ids())
        assert ids - used == set(result.unused[port])
    assert set(result.unused["negated"].values()) == {"not_chosen"}


def test_without_a_wrong_answer_there_is_no_candidate():
    result, _ = built(FACTS[:3], replaced=False, ask=("oe",))
    assert [outcomes[0].reason for _, outcomes in result.outcomes] == ["no_wrong_answer"] * 3
    assert set(result.unused["stated"].values()) == {"no_candidate"}


def test_a_true_question_falls_back_on_the_negation():
    result, _ = built(FACTS, replaced=False, ask=("tf",), wrong_tf=["replaced", "negated"])
    rows = [outcome.row for _, outcomes in result.outcomes for outcome in outcomes if isinstance(outcome, Kept)]
    assert any(row.expected == "yes" for row in rows)
    assert all("不是甲药" in row.answer_wrong for row in rows)


def test_both_answers_are_affirmed_whatever_the_form_of_the_question():
    """Else the answer with fewer negations would be the right one."""
    true = [kept(STATE.map(fact, {})) for fact in FACTS[:4]]
    replaced = [kept(REPLACE.map(row, {"fact": fact})) for fact, row in zip(FACTS, true, strict=False)]
    replaced = [row.model_copy(update={"family": f"family-{n // 2}"}) for n, row in enumerate(replaced)]
    negated = [kept(NEGATE.map(row, {})) for row in (*true, *replaced)]
    statements = Table.of([*true, *replaced, *negated], Statement)
    ask = make("ask_tf", {**RULES["ask_tf_choice"], "polarity": "every"}, lookups={"statements": statements})
    questions = [outcome.row for row in statements for outcome in ask.map(row, {}) if isinstance(outcome, Kept)]
    tables = {"each": Table.of(questions, Question), "stated": Table.of(true, Statement),
              "negated": Table.of(negated, Statement), "replaced": Table.of(replaced, Statement)}  # fmt: skip
    gathered = run_gather(make("assemble", RULES["candidates"]), tables)
    rows = [outcome.row for _, outcomes in gathered.outcomes for outcome in outcomes if isinstance(outcome, Kept)]
    texts = {row.fact: row.text for row in true}, {row.fact: row.text for row in replaced}
    assert len(rows) == 16
    assert all((row.answer, row.answer_wrong) == (texts[0][row.fact], texts[1][row.fact]) for row in rows)
    assert {row.family for row in rows} == {"family-0", "family-1"}
    assert sum(row.negated for row in rows) == 8


def test_statements_without_a_question_are_named():
    result, _ = built(FACTS[:2], ask=())
    assert result.outcomes == []
    assert set(result.unused["stated"].values()) == {"no_question"}


def test_candidates_name_the_form_of_their_question_and_the_origin_of_their_wrong_answer():
    result, _ = built(FACTS[:2])
    rows = [outcome.row for _, outcomes in result.outcomes for outcome in outcomes if isinstance(outcome, Kept)]
    assert {(row.form, row.wrong_from, row.verdict_only) for row in rows} == {("statement", "listed", False)}


def test_any_number_of_rows_at_a_time_gives_the_same(monkeypatch):
    whole, _ = built(FACTS, wrong_tf=["replaced", "negated"])
    monkeypatch.setattr(assemble, "_WINDOW", 3)
    monkeypatch.setattr(assemble, "_PAIR_WINDOW", 2)
    result, _ = built(FACTS, wrong_tf=["replaced", "negated"])
    assert result == whole
