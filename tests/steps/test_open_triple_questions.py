"""Open-ended questions about triples: one right answer, and a false statement for the wrong one."""

from __future__ import annotations

import pickle

import pytest
from claim_rows import RULES, triple

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import Span
from benchbuilder.steps.triple_questions import AskOeTriple

FACTS = [
    triple("病甲", "传播途径", "蚊虫叮咬", line=1, tail_terms=("蚊虫叮咬", "蚊子叮咬")),
    triple("病乙", "就诊科室", "儿科", line=2, head_terms=("病乙", "乙症")),
]


TABLE = """relation\tstatement\tnegated\ttf\toe\tanswer_end
传播途径\t{tail}是{head}的传播途径。\t{tail}不是{head}的传播途径。\t{tail}是{head}的传播途径吗？\t{tail}是什么疾病的传播途径？\thead
就诊科室\t{head}的就诊科室是{tail}。\t{head}的就诊科室不是{tail}。\t{head}的就诊科室是{tail}吗？\t{head}的就诊科室是哪个科？\ttail
"""


def made(folder, **more):
    (folder / "relations.tsv").write_text(TABLE, encoding="utf-8")
    tables = {"default": str(folder / "relations.tsv")}
    spec = {**RULES["ask_oe_triple"], "enabled": True, "relations": tables, "inverse_suffix": "（反向）", **more}
    context = StepContext(seed=1, language="zh", step="ask", cache=folder, workplace=folder)
    return AskOeTriple(AskOeTriple.spec_class.model_validate({"kind": "ask_oe_triple", "from": "x", **spec}), context)


def true_of(fact):
    return Statement.child(fact, produced_by=fact.produced_by, polarity="true", text="真。", joined="template",
                           answer=Span(start=0, end=1), fact=fact.id)  # fmt: skip


def false_of(fact):
    return Statement.child(fact, produced_by=fact.produced_by, polarity="false", text="假。", joined="replacement",
                           fact=fact.id, family="family-1")  # fmt: skip


def asked(step):
    outcomes = [next(iter(step.map(true_of(fact), {"fact": fact}))) for fact in FACTS]
    return [
        outcome.row.text if isinstance(outcome, Kept) else (outcome.reason, getattr(outcome, "detail", ""))
        for outcome in outcomes
    ]


ASKED = ["蚊虫叮咬是什么疾病的传播途径？", "病乙的就诊科室是哪个科？"]


def test_without_the_ports_all_are_asked(tmp_path):
    step = made(tmp_path)
    step.open({})
    assert asked(step) == ASKED
    off = made(tmp_path, enabled=False)
    assert off.prepare({}) == ()
    off.open({})
    assert {reason for reason, _ in asked(off)} == {"switched_off"}


def test_a_fact_without_a_false_statement_is_not_asked(tmp_path):
    step = made(tmp_path)
    step.open({"statements": Table.of([true_of(FACTS[0]), false_of(FACTS[1])], Statement)})
    assert asked(step) == [("no_counterpart", "真。"), ASKED[1]]


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ([("病乙", "就诊科室", "皮肤科", {})], "病乙 | 就诊科室 | 皮肤科"),
        ([("乙症", "就诊科室", "皮肤科", {})], "乙症 | 就诊科室 | 皮肤科"),
        ([("皮肤科", "就诊科室（反向）", "病乙", {})], "皮肤科 | 就诊科室（反向） | 病乙"),
        ([("病乙", "并发症", "皮肤科", {})], None),
        ([("病乙", "就诊科室", "小儿科", {"tail_terms": ("小儿科", "儿科")})], None),
        ([("病丙", "就诊科室", "儿科", {})], None),
    ],
)
def test_another_known_end_is_another_answer(tmp_path, known, reason):
    others = [triple(head, relation, tail, line=9, **more) for head, relation, tail, more in known]
    lookups = {
        "known": Table.of([*FACTS, *others], Fact[Triple]),
        "statements": Table.of([false_of(fact) for fact in FACTS], Statement),
    }
    prepared = made(tmp_path)
    (path,) = prepared.prepare(lookups)
    assert path.parent == tmp_path
    there = pickle.loads(pickle.dumps(prepared))
    there.open(lookups)
    whole = made(tmp_path)
    whole.open(lookups)
    assert asked(there) == asked(whole) == [ASKED[0], ASKED[1] if reason is None else ("several_answers", reason)]


def test_all_triples_are_read_where_facts_are_not_known_as_they_are(tmp_path):
    lookups = {
        "known": Table.of([triple("病乙", "就诊科室", "皮肤科", line=9)], Fact[Triple]),
        "statements": Table.of([false_of(fact) for fact in FACTS], Statement),
    }
    step = made(tmp_path)
    assert step.prepare(lookups) == ()
    step.open(lookups)
    assert asked(step) == [ASKED[0], ("several_answers", "病乙 | 就诊科室 | 皮肤科")]
