"""Questions for all known ends of a concept: which sets are asked for, and which two exchange their ends."""

from __future__ import annotations

import pytest
from claim_rows import triple
from gathered import outcomes_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import RecipeError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.name_sets import set_members
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Candidate, Statement
from benchbuilder.core.records.row import ProducedBy
from benchbuilder.steps.ask_set_triple import AskSetTriple, AskSetTripleSpec
from benchbuilder.testing import check_step

BARS = {"known": True, "any_relation": True, "synonyms": ["同义词"], "generic": []}
EXCHANGE = {
    "relations": {},
    "bar": BARS,
    "partner": "far",
    "unit": "characters",
    "inverse_suffix": "（反向）",
    "ignore": "。",
}
FEVER = ("甲热", "症", ["一", "二"])
COUGH = ("乙咳", "症", ["三", "四"])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("relations") / "relations.tsv"
    file.write_text(
        "relation\tstatement\tnegated\ttf\toe\tanswer_end\toe_set\n"
        "防\t{tail}防{head}。\t{tail}不防{head}。\t{tail}防{head}吗？\t\thead\t能防住{tail}的有哪些？\n"
        "*\t{head}有{tail}。\t{head}没有{tail}。\t{head}有{tail}吗？\t\ttail\n",
        encoding="utf-8",
    )
    return str(file)


def made(table, folder, *, exchange=None, seed=1, **more):
    spec = {
        "kind": "ask_set_triple", "from": "rows", "relations": {"default": table}, "mark": "？", "ends": "。？",
        "question": "{head}的{relation}有哪些？", "plain": r"\p{Han}+", "unusable": ["、", "^无"],
        "exchange": {**EXCHANGE, **(exchange or {})},
    }  # fmt: skip
    context = StepContext(seed=seed, language="zh", step="sets", cache=folder, workplace=folder)
    return AskSetTriple(AskSetTripleSpec.model_validate({**spec, **more}), context)


def facts_of(*sets, partition="kg"):
    edges = [(head, relation, tail) for head, relation, tails in sets for tail in tails]
    return [triple(*edge, line=line, partition=partition) for line, edge in enumerate(edges, 1)]


def run(step, facts, known=(), statements=()):
    """The questions, and the outcome of each fact by its triple."""
    tables = {"each": Table.of(facts, Fact[Triple]), "known": Table.of([*facts, *known], Fact[Triple]),
              "statements": Table.of(statements, Statement)}  # fmt: skip
    outcomes, notes = outcomes_of(step, tables, Candidate)
    names = {fact.id: (fact.payload.head, fact.payload.tail) for fact in facts}
    told = {names[row]: outcome for row, outcome in outcomes.items()}
    return [outcome.row for outcome in told.values() if isinstance(outcome, Kept)], told, notes


def reasons(told):
    return {getattr(outcome, "reason", "kept") for outcome in told.values()}


def members(text):
    return {names[0] for names in set_members(text)}


def test_two_concepts_exchange_their_sets(table, tmp_path):
    facts = facts_of(FEVER, COUGH)
    asked, told, notes = run(made(table, tmp_path), facts)
    one, two = asked
    assert [one.question, two.question] == ["甲热的症有哪些？", "乙咳的症有哪些？"]
    assert (members(one.answer), members(one.answer_wrong)) == ({"一", "二"}, {"三", "四"})
    assert (one.answer, one.answer_wrong) == (two.answer_wrong, two.answer)
    assert one.family == two.family != ""
    assert (one.type, one.form, one.expected, one.tags, one.wrong_from) == ("oe", "set", "", (), "exchanged")
    assert one.fact == facts[0].id
    assert set(one.parents) == {fact.id for fact in facts}
    assert (reasons(told), notes) == ({"kept", "in_set"}, {"sets": {"症": 2}})


@pytest.mark.parametrize(
    ("sets", "known", "more", "reason"),
    [
        ([FEVER, ("乙咳", "症", ["三"])], [], {}, {"one_end", "no_partner"}),
        ([FEVER, ("乙咳", "症", ["三", "四", "五"])], [], {}, {"no_partner"}),
        ([FEVER, ("乙咳", "症", ["三", "四", "五"])], [], {"most": 2}, {"too_many_ends", "no_partner"}),
        ([FEVER, ("乙咳", "症", ["三", "四、五"])], [], {}, {"unusable_end", "no_partner"}),
        ([FEVER, ("乙咳", "症", ["三", "无热"])], [], {}, {"unusable_end", "no_partner"}),
        ([FEVER, ("乙咳", "症", ["三", "四; 五"])], [], {}, {"unusable_end", "no_partner"}),
        ([FEVER, COUGH], [("甲热", "因", ["四"])], {}, {"barred"}),  # known by another relation
        ([FEVER, COUGH], [("甲热", "因", ["x"]), ("y", "因", ["x"]), ("y", "症", ["四"])], {}, {"barred"}),
        ([FEVER, COUGH, ("丙", "症", ["四", "五"])], [], {"most_sets": 2}, {"over_limit", "kept", "in_set"}),
        ([FEVER, COUGH], [], {"question": None}, {"no_template"}),
        ([FEVER, COUGH], [], {"plain": "因"}, {"no_template"}),
        ([FEVER, COUGH], [], {"mark": "。"}, {"not_one_question"}),
        ([("甲热", "症", ["热", "二"]), COUGH], [], {}, {"leaks_answer", "no_partner"}),
        ([FEVER, COUGH], [], {"enabled": False}, {"switched_off"}),
    ],
)  # fmt: skip
def test_why_a_set_is_not_asked_for(table, tmp_path, sets, known, more, reason):
    facts = facts_of(*sets)
    _, told, _ = run(made(table, tmp_path, **more), facts, facts_of(*known))
    assert reasons(told) == reason


def test_a_set_of_an_open_relation_does_without_an_end_that_is_no_single_one(table, tmp_path):
    facts = facts_of(("甲热", "症", ["一", "九、十", "二"]), COUGH, ("丙疹", "症", ["五、六", "七"]))
    known = facts_of(("乙咳", "症", ["无热"]))  # only known, not asked about
    asked, told, _ = run(made(table, tmp_path, exchange={"relations": {"open": ["症"]}}), facts, known)
    assert [members(row.answer) for row in asked] == [{"一", "二"}, {"三", "四"}]
    assert {pair: told[pair].reason for pair in told if not isinstance(told[pair], Kept)} == {
        ("甲热", "九、十"): "unusable_end", ("丙疹", "五、六"): "unusable_end", ("丙疹", "七"): "one_end",
        ("甲热", "二"): "in_set", ("乙咳", "四"): "in_set",
    }  # fmt: skip
    _, told, _ = run(made(table, tmp_path), facts, known)
    assert "kept" not in reasons(told), "the set of a relation that is not open needs all its ends"


def test_an_end_of_all_sorts_makes_no_wrong_set(table, tmp_path):
    known = facts_of(*((name, "症", ["一"]) for name in "丙丁"), ("丙", "因", ["x"]), ("丁", "因", ["y"]))
    _, told, _ = run(made(table, tmp_path), facts_of(FEVER, COUGH), known)
    assert reasons(told) == {"unspecific", "no_partner"}


def test_what_a_set_is_not_asked_for_by_its_relation(table, tmp_path):
    facts = facts_of(FEVER, COUGH)
    for name in ("ranges", "preferences", "kinds"):
        _, told, _ = run(made(table, tmp_path, exchange={"relations": {name: ["症"]}}), facts)
        assert reasons(told) == {"no_set"}
    asked, _, _ = run(made(table, tmp_path, exchange={"relations": {"open": ["症"]}}), facts)
    wrong = {row.question[0]: (row.answer_wrong, row.wrong_from) for row in asked}
    assert wrong == {"甲": ("", ""), "乙": ("", "")}  # nobody is similar, nobody speaks against it
    assert {row.tags for row in asked} == {("open_set",)}
    assert asked[0].family != asked[1].family
    like = facts_of(
        *((name, relation, [end]) for name in ("甲热", "丙") for relation, end in (("因", "x"), ("症", "七")))
    )
    bars = {**BARS, "similar": {"nearest": 1}}
    asked, _, _ = run(
        made(table, tmp_path, exchange={"relations": {"open": ["症"]}, "bar": bars}), facts, like[:1] + like[2:]
    )
    assert {row.question[0]: members(row.answer_wrong) for row in asked} == {"甲": {"三", "四"}, "乙": set()}
    assert asked[0].family == asked[1].family
    assert [len(row.parents) for row in asked] == [4, 2]


def test_a_set_of_an_open_relation_is_asked_for_even_if_no_other_set_is_wrong(table, tmp_path):
    known = facts_of(*((name, "症", ["一"]) for name in "丙丁"), ("丙", "因", ["x"]), ("丁", "因", ["y"]))
    step = made(table, tmp_path, exchange={"relations": {"open": ["症"]}})
    for sets in ((FEVER, COUGH), (FEVER, ("乙咳", "症", ["三", "四", "五"]))):
        asked, _, _ = run(step, facts_of(*sets), known)
        assert {row.question[0]: row.answer_wrong for row in asked} == {"甲": "", "乙": ""}


def test_all_known_ends_are_in_the_set_with_their_names(table, tmp_path):
    known = facts_of(("甲热", "症", ["五"]), ("乙咳", "症", ["六"]), ("五", "同义词", ["又名"]))
    asked, _, _ = run(made(table, tmp_path), facts_of(FEVER, COUGH), known)
    assert {frozenset(names) for names in set_members(asked[0].answer)} == {
        frozenset({"一"}), frozenset({"二"}), frozenset({"五", "又名"})
    }  # fmt: skip


def test_a_fact_of_a_true_false_question_keeps_its_set_out(table, tmp_path):
    facts = facts_of(FEVER, COUGH)
    false = Statement.child(
        facts[0], produced_by=ProducedBy(rule="swap"), polarity="false", text="甲热有三。", joined="replacement",
        fact=facts[0].id,
    )  # fmt: skip
    _, told, _ = run(made(table, tmp_path), facts, statements=[false])
    assert {names: outcome.reason for names, outcome in told.items()} == {
        ("甲热", "一"): "asked_true_or_false", ("甲热", "二"): "asked_true_or_false",
        ("乙咳", "三"): "no_partner", ("乙咳", "四"): "no_partner",
    }  # fmt: skip


def test_the_answer_may_be_the_head(table, tmp_path):
    facts = [triple(head, "防", tail, line=line) for line, (head, tail) in
             enumerate([("一", "甲"), ("二", "甲"), ("三", "乙"), ("四", "乙")], 1)]  # fmt: skip
    asked, _, _ = run(made(table, tmp_path), facts)
    assert {row.question: members(row.answer) for row in asked} == {
        "能防住甲的有哪些？": {"一", "二"}, "能防住乙的有哪些？": {"三", "四"}
    }  # fmt: skip


def test_a_gone_bar_and_a_faulty_table_are_errors(table, tmp_path):
    with pytest.raises(ValidationError, match="`plausible` is gone"):
        made(table, tmp_path, exchange={"bar": {**BARS, "plausible": 0.0}})
    file = tmp_path / "faulty.tsv"
    file.write_text(
        "relation\tstatement\tnegated\ttf\toe\tanswer_end\toe_set\n"
        "症\t{head}有{tail}。\t{head}没有{tail}。\t{head}有{tail}吗？\t\ttail\t{tail}？\n", encoding="utf-8",
    )  # fmt: skip
    with pytest.raises(RecipeError, match="oe_set: it contains its own answer"):
        made(str(file), tmp_path).validate_inputs({})


NAME = st.sampled_from(["甲乙", "丙丁", "戊己", "庚辛", "壬癸", "子丑", "寅卯", "辰巳", "午未", "申酉"])


@pytest.mark.push
@settings(max_examples=40)
@given(st.lists(st.tuples(NAME, st.sampled_from(["症", "因"]), NAME), min_size=2, max_size=24, unique=True))
def test_no_member_of_a_wrong_set_is_known(table, tmp_path_factory, edges):
    folder = tmp_path_factory.mktemp("sets", numbered=True)
    facts = [triple(*edge, line=line) for line, edge in enumerate(edges, 1) if edge[0] != edge[2]]
    asked, _, _ = run(made(table, folder), facts)
    linked = {frozenset((head, tail)) for head, _, tail in edges}
    for row in asked:
        concept, right, wrong = row.question.split("的")[0], members(row.answer), members(row.answer_wrong)
        assert len(right) == len(wrong)
        assert not right & wrong
        assert all(frozenset((concept, name)) in linked for name in right)
        assert not any(frozenset((concept, name)) in linked or name == concept for name in wrong)
    assert sorted(row.answer for row in asked) == sorted(row.answer_wrong for row in asked)


def test_contract(table, tmp_path):
    facts = facts_of(FEVER, COUGH, ("丙", "症", ["一"]))
    tables = {"each": Table.of(facts, Fact[Triple]), "known": Table.of(facts, Fact[Triple])}
    check_step(lambda: made(table, tmp_path), tables)
