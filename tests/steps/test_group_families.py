"""Families of near-duplicate facts, and equal questions that are dropped."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_families import plain_outcomes

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Candidate
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.steps.group_families import GroupFamilies, GroupFamiliesSpec

MADE = ProducedBy(rule="test")


def candidate(fact: str, question: str, answer: str, expected: str = "", wrong: str = "", **more: Any) -> Candidate:
    return Candidate.build(
        origin=Origin(file="f", line=1), produced_by=MADE, language="zh", partition="medqa", slot=fact,
        type="tf" if expected else "oe", expected=expected, question=question, answer=answer,
        answer_wrong=wrong or f"不是{answer}", fact=fact, **{"family": fact, **more},
    )  # fmt: skip


def grouped(rows: list[Candidate], triples: list[Fact[Triple]] | None = None, **spec: Any) -> dict[str, Any]:
    """The family or the drop of each row, by its id."""
    step = GroupFamilies(
        GroupFamiliesSpec.model_validate({"kind": "group_families", "from": "candidates", **spec}),
        StepContext(11, "zh", "families", Path("cache"), Path("people")),
    )
    tables = {"each": Table.of(rows, Candidate)}
    if triples is not None:
        tables["triples"] = Table.of(triples, Fact[Triple])
    shard = account_gather(step, tables, step.gather(tables), Candidate)
    lines = shard.outcomes.to_pylist()
    assert [line["row"] for line in lines] == [row.id for row in rows]
    families = {row.id: row.family for row in shard.rows}
    originals = {row.id: row for row in rows}
    assert all(row.model_copy(update={"family": originals[row.id].family}) == originals[row.id] for row in shard.rows)
    found: dict[str, Any] = {"notes": shard.notes}
    for line in lines:
        kept = line["outcome"] == "kept"
        found[line["row"]] = families[line["out"]] if kept else Dropped(line["reason"], line["detail"])
    return found


def two_keys() -> list[Candidate]:
    """Two questions of one examination with one stem and two keys."""
    stem = "医学伦理学的特征之一是"
    rows: list[Candidate] = []
    for fact, right, wrong in (("fact-b", "实践性", "集体性"), ("fact-a", "继承性", "实践性")):
        true, false = f"{stem}{right}。", f"{stem}{wrong}。"
        rows += [
            candidate(fact, f"{stem}什么？", true, "", false),
            candidate(fact, f"{stem}{right}，这种说法对吗？", true, "yes", false),
            candidate(fact, f"{stem}{wrong}，这种说法对吗？", true, "no", false),
        ]
    return rows


def test_equal_questions_with_two_right_answers_are_dropped_and_name_each_other():
    rows = two_keys()
    found = grouped(rows)
    for one, other in ((0, 3), (3, 0), (1, 5), (5, 1)):
        drop = found[rows[one].id]
        assert drop.reason == "contradiction"
        assert rows[other].id in drop.detail
        assert rows[one].answer in drop.detail
        assert rows[other].answer in drop.detail
    for lonely in (2, 4):  # what is left of a family would give its verdict away
        assert found[rows[lonely].id].reason == "family_incomplete"
    assert found["notes"]["contradictions"] == 4


def test_one_statement_that_is_true_and_false_is_a_contradiction_in_any_form():
    rows = two_keys()[1::3]
    right, wrong = "医学伦理学的特征之一是时代性。", "医学伦理学的特征之一是实践性。"
    denied = [
        candidate("fact-c", f"{text.replace('是', '不是')}这种说法对吗？", right, verdict, wrong, negated=True)
        for text, verdict in ((right, "no"), (wrong, "yes"))
    ]
    found = grouped([*rows, *denied])
    assert [found[row.id].reason for row in (rows[0], denied[1])] == ["contradiction"] * 2
    assert found[denied[0].id] == Dropped("family_incomplete", denied[1].id)
    assert found[rows[1].id] == "fact-a"


def test_contradictions_can_be_kept_for_the_experts_and_are_of_one_family():
    rows = two_keys()
    found = grouped(rows, contradictions="keep", near=None)
    assert {found[row.id] for row in rows} == {"fact-a"}


def test_of_equal_questions_with_equal_answers_the_first_stays_with_its_family():
    one = [
        candidate("f2", "早产儿的胎龄小于37周吗？", "早产儿的胎龄小于37周。", "yes"),
        candidate("f2", "早产儿的胎龄小于42周吗？", "早产儿的胎龄小于37周。", "no", "早产儿的胎龄小于42周。"),
        candidate("f2", "早产儿的胎龄小于多少周？", "早产儿的胎龄小于37周。"),
    ]
    other = [
        candidate("f1", "早产儿的胎龄小于３７周吗?", "早产儿的胎龄小于37周。", "yes"),
        candidate("f1", "早产儿的胎龄小于40周吗？", "早产儿的胎龄小于37周。", "no", "早产儿的胎龄小于40周。"),
        candidate("f1", "早产儿的胎龄小于多少周？", "早产儿的胎龄小于３７周。"),
    ]
    found = grouped([*one, *other])
    assert {found[row.id] for row in one} == {"f1"}
    assert found[other[0].id] == Dropped("duplicate", one[0].id)
    assert found[other[1].id] == Dropped("family_incomplete", other[0].id)
    assert found[other[2].id] == Dropped("duplicate", one[2].id)


def test_answers_that_follow_another_verb_are_the_same():
    texts = ("引起日本血吸虫病病变最严重的是虫卵。", "引起日本血吸虫病病变最严重的为虫卵。")
    rows = [candidate(f"f{n}", "引起日本血吸虫病病变最严重的是什么？", text) for n, text in enumerate(texts)]
    assert grouped(rows)[rows[1].id].reason == "duplicate"
    rows[1] = candidate("f1", rows[1].question, "引起日本血吸虫病病变最严重的是成虫。")
    assert grouped(rows)[rows[1].id].reason == "contradiction"


def test_near_duplicate_facts_are_one_family_and_swapped_pairs_are_joined_with_them():
    text = "献血者为A型血，经交叉配血试验，主侧不凝集而次侧凝集，受血者的血型应该是{}型。"
    rows = [
        candidate("f3", "受血者是AB型血吗？", text.format("AB"), "yes", text.format("O"), family="pair-9"),
        candidate("f4", "新生儿应喝水吗？", "新生儿不应喝水。", "no", "新生儿应喝水。", family="pair-9"),
        candidate("f5", "受血者应是AB型吗？", text.format("AB").replace("应该是", "应为"), "yes", family="pair-2"),
        candidate("f6", "首选的药物是硫酸镁吗？", "预防子痫首选的药物是硫酸镁。", "yes"),
    ]
    found = grouped(rows)
    assert [found[row.id] for row in rows] == ["pair-2", "pair-2", "pair-2", "f6"]
    assert grouped(rows[::-1])[rows[1].id] == "pair-2"
    assert [grouped(rows, near=None)[row.id] for row in rows] == ["pair-9", "pair-9", "pair-2", "f6"]


def triples(count: int) -> tuple[list[Fact[Triple]], list[Candidate]]:
    """Facts of few concepts with long names, in swapped pairs."""
    rng = random.Random(1)
    ends = [(f"第{n % 9}型小儿急性呼吸道合胞病毒性肺炎", f"{rng.choice('热咳喘痛吐泻')}{n}") for n in range(count)]
    facts = [
        Fact[Triple].build(origin=Origin(file="f", line=n), produced_by=MADE, language="zh", partition="kg",
                           payload=Triple(head=head, relation="临床表现", tail=tail))
        for n, (head, tail) in enumerate(ends)
    ]  # fmt: skip
    rows: list[Candidate] = []
    for one, other in zip(facts[::2], facts[1::2], strict=True):
        for fact, swapped in ((one, other), (other, one)):
            true, false = (f"{fact.payload.head}的临床表现包括{end.payload.tail}。" for end in (fact, swapped))
            for text, verdict in ((true, "yes"), (false, "no")):
                rows.append(candidate(fact.id, f"{text}对吗？", true, verdict, false, family=min(one.id, other.id)))
    return facts, rows


def test_triples_are_not_joined_by_the_frame_of_their_sentences_or_by_one_long_name():
    facts, rows = triples(60)
    sizes = grouped(rows, facts)["notes"]["families"]["sizes"]
    assert sizes == {"2": 30}
    assert max(map(int, grouped(rows)["notes"]["families"]["sizes"])) > 50, "what would happen by text"


def test_an_open_question_about_triples_with_several_answers_is_dropped_and_joins_no_families():
    facts, rows = triples(30)
    families = {row.fact: row.family for row in rows}
    for fact in facts[:18]:
        head, tail = fact.payload.head, fact.payload.tail
        asked = f"{head}的临床表现包括什么？"
        rows.append(candidate(fact.id, asked, f"{head}的临床表现包括{tail}。", family=families[fact.id]))
    found = grouped(rows, facts)
    assert all(found[row.id].reason == "contradiction" for row in rows[60:])
    assert found["notes"]["families"]["sizes"] == {"2": 15}


def test_triples_of_two_sources_with_near_ends_are_one_family():
    facts, rows = triples(2)
    again = facts[0].payload.model_copy(update={"relation": "症状", "head": f"{facts[0].payload.head}（RSV）"})
    twin = Fact[Triple].build(origin=Origin(file="g", line=1), produced_by=MADE, language="zh", partition="other",
                              payload=again)  # fmt: skip
    row = candidate(twin.id, "症状对吗？", "症状有热。", "yes")
    found = grouped([*rows, row], [*facts, twin])
    assert len({found[one.id] for one in (*rows, row)}) == 1


def test_every_kept_family_has_as_many_yes_as_no():
    _, rows = triples(40)
    rows += [candidate("far", rows[place].question, rows[place].answer, rows[place].expected) for place in (0, 9)]
    rows += [candidate("odd", rows[5].question, rows[5].answer, "yes" if rows[5].expected == "no" else "no")]
    found = grouped(rows, near=None)
    kept = [row for row in rows[:80] if isinstance(found[row.id], str)]
    verdicts = Counter((row.family, row.expected) for row in kept)
    assert all(verdicts[row.family, "yes"] == verdicts[row.family, "no"] == 2 for row in kept)
    assert 70 < len(kept) < 80


def test_facts_of_one_record_are_one_family_on_request() -> None:
    asked = ((1, "a", "猫是什么？", "动物"), (1, "b", "盐是什么？", "矿物"), (2, "c", "光是什么？", "波"))
    rows = [
        candidate(fact, question, answer).model_copy(update={"origin": Origin(file="f", line=line)})
        for line, fact, question, answer in asked
    ]
    apart, together = grouped(rows), grouped(rows, by_record=True)
    assert [apart[row.id] for row in rows] == ["a", "b", "c"]
    assert [together[row.id] for row in rows] == ["a", "a", "c"]


def strange_rows(rng: random.Random) -> tuple[list[Candidate], list[Fact[Triple]]]:
    """Candidates that repeat and contradict each other more often than real ones."""

    def text(signs: str, least: int, most: int) -> str:
        return "".join(rng.choices(signs, k=rng.randint(least, most)))

    facts = [
        Fact[Triple].build(origin=Origin(file="k", line=line), produced_by=MADE, language="zh", partition="kg",
                           payload=Triple(head=text("甲乙丙丁一二", 0, 6), relation="r", tail=text("甲乙丙", 1, 6)))
        for line in range(8)
    ]  # fmt: skip
    asked, told = [text("儿胎龄是X1.2，？", 2, 14) for _ in range(6)], [text("儿龄是实践性。", 2, 12) for _ in range(5)]
    rows: dict[str, Candidate] = {}
    for number in range(rng.randint(0, 30)):
        tf, question = rng.random() < 0.6, rng.choice(asked)
        fact = rng.choice(facts).id if rng.random() < 0.4 else f"fact-{rng.choice('abcdef')}"
        row = candidate(
            fact, question, question[: rng.randint(0, 5)] + rng.choice(told), rng.choice(["yes", "no"]) if tf else "",
            rng.choice(told), context=rng.choice(["", "甲。"]), family=rng.choice(["", "", "p1", "p2", "p3"]),
            negated=tf and rng.random() < 0.3, asked=rng.choice(["", "", "问一？"]), form=str(number),
        ).model_copy(update={"origin": Origin(file=rng.choice("fg"), line=rng.randint(1, 9))})  # fmt: skip
        rows[row.id] = row
    return list(rows.values()), facts


@pytest.mark.push
@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([None, 0.3, 0.5, 0.7, 1.0]), st.sampled_from([1.0, 0.6, 0.4]),
       st.sampled_from(["drop", "keep"]), st.booleans(), st.booleans())  # fmt: skip
def test_columns_of_numbers_give_what_rows_as_objects_give(
    rng: random.Random, near: float | None, same: float, contradictions: str, by_record: bool, with_triples: bool
) -> None:
    rows, facts = strange_rows(rng)
    settings_of = {"near": near, "same": same, "contradictions": contradictions, "by_record": by_record}
    spec = GroupFamiliesSpec.model_validate({"kind": "group_families", "from": "rows", **settings_of})
    ends = {fact.id: (fact.payload.head, fact.payload.tail) for fact in facts} if with_triples else {}
    found = grouped(rows, facts if with_triples else None, **settings_of)
    wanted = plain_outcomes(rows, ends, spec)
    assert [found[row.id] for row in rows] == [name or Dropped(reason, detail) for name, reason, detail in wanted]


def test_any_number_of_rows_at_a_time_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, facts = strange_rows(random.Random(3))
    whole = grouped(rows, facts)
    monkeypatch.setattr("benchbuilder.steps.group_families._WINDOW", 1)
    monkeypatch.setattr("benchbuilder.core.records.arrow.table._BATCH_ROWS", 3)
    assert grouped(rows, facts) == whole
