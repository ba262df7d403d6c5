"""Rows are selected: without duplicates, and as samples of the requested size."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from preparation_rows import choice, make, triple

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Fact, Triple
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.text.normalise import compose_characters
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.steps.selection import Sample, SampleSpec
from benchbuilder.testing import check_step

# --- deduplicate -----------------------------------------------------------------------------------------------------

FIELDS = {"context": "payload.context", "question": "payload.question", "answer": "payload.answer"}


def outcomes(rows, row_class, **spec):
    """For each row whether it is kept, or what is said of it, in the order of the rows."""
    stage, tables = make("deduplicate", **spec), {"each": Table.of(rows, row_class)}
    shard = account_gather(stage, tables, stage.gather(tables), row_class)
    lines = shard.outcomes.to_pylist()
    assert [line["row"] for line in lines] == [row.id for row in rows]
    kept = [row for row, line in zip(rows, lines, strict=True) if line["outcome"] == "kept"]
    assert list(shard.rows) == kept
    return [line["outcome"] == "kept" or (line["reason"], line["detail"]) for line in lines]


def test_the_first_row_stays_and_the_drop_names_it():
    first = choice("诊断是", line=3)
    again = choice("诊断是 ", line=9)
    detail = f"same context, question, answer as {first.id} (medqa.jsonl:3)"
    assert outcomes([first, again], Fact[Choice], fields=FIELDS) == [True, ("duplicate", detail)]


def test_the_preferred_partition_stays_wherever_it_comes():
    rows = [choice("诊断是", partition="other"), choice("诊断是", partition="mlecqa"), choice("诊断是")]
    result = outcomes(rows, Fact[Choice], fields=FIELDS, prefer=["medqa", "mlecqa"])
    assert [outcome is True for outcome in result] == [False, False, True]


def test_equal_questions_with_other_answers_are_not_the_same():
    rows = [choice("诊断是", "肺炎", line=1), choice("诊断是", "贫血", line=2)]
    assert outcomes(rows, Fact[Choice], fields=FIELDS) == [True, True]


def test_the_letter_of_the_answer_can_be_the_key():
    rows = [
        choice("诊断是", "肺炎", options=("肺炎", "贫血"), line=1),
        choice("诊断是", "湿疹", options=("湿疹", "贫血"), line=2),
    ]
    fields = {"question": "payload.question", "answer": "payload.answer_key"}
    assert [outcome is True for outcome in outcomes(rows, Fact[Choice], fields=fields)] == [True, False]


def test_a_missing_column_is_named():
    with pytest.raises(DataError, match=r"payload\.question"):
        outcomes([triple("甲", "是", "乙")], Fact[Triple], fields={"question": "payload.question"})


@pytest.mark.push
@given(
    st.lists(st.tuples(st.sampled_from("甲乙"), st.sampled_from("丙丁"), st.sampled_from(["bios", "kg"])), max_size=9)
)
def test_every_row_has_one_fate_and_one_of_each_stays(values):
    rows = [triple(h, "是", t, line=n, partition=p, head_type=str(n)) for n, (h, t, p) in enumerate(values, 1)]
    fields = {"head": "payload.head", "tail": "payload.tail"}
    result = outcomes(rows, Fact[Triple], fields=fields, prefer=["kg"])
    kept = [row.payload for row, outcome in zip(rows, result, strict=True) if outcome is True]
    assert sorted((p.head, p.tail) for p in kept) == sorted({(h, t) for h, t, _ in values})


TEXT = st.text(st.sampled_from(["甲", " ", "\u3000", "\x1f", "e", "\u0301", "é", "3", ":", "\n"]), max_size=3)


def by_pairs(rows, prefer):
    """The place of the row that stays for each, by comparing them all."""
    keys = [
        (compose_characters(p.head.strip()), compose_characters(p.tail.strip()), json.dumps(p.head_terms))
        for p in (r.payload for r in rows)
    ]
    ranks = [(prefer.index(row.partition) if row.partition in prefer else len(prefer), n) for n, row in enumerate(rows)]
    return [min(rank for rank, other in zip(ranks, keys, strict=True) if other == key)[1] for key in keys]


@pytest.mark.push
@given(
    st.lists(st.tuples(TEXT, TEXT, st.lists(TEXT, max_size=2), st.sampled_from(["bios", "kg", "x"])), max_size=7),
    st.lists(st.sampled_from(["bios", "kg"]), unique=True),
)
def test_rows_are_the_same_if_every_field_is(values, prefer):
    rows = [
        triple(h, "是", t, line=n, partition=p, head_terms=tuple(terms)) for n, (h, t, terms, p) in enumerate(values)
    ]
    fields = {"a": "payload.head", "b": "payload.tail", "c": "payload.head_terms"}
    wanted = [
        stays == n or ("duplicate", f"same a, b, c as {rows[stays].id} ({rows[stays].partition}.jsonl:{stays})")
        for n, stays in enumerate(by_pairs(rows, prefer))
    ]
    assert outcomes(rows, Fact[Triple], fields=fields, prefer=prefer) == wanted


# --- sample ----------------------------------------------------------------------------------------------------------

KINDS = ("star", "planet", "moon", "moon")


def facts(count=40):
    made = {"origin": Origin(file="sky.csv", line=1), "produced_by": ProducedBy(rule="test"), "language": "en",
            "partition": "sky"}  # fmt: skip
    return [
        Fact[Triple].build(
            payload=Triple(head=f"body {n}", relation="is a", tail="body", head_type=KINDS[n % 4]), **made
        )
        for n in range(count)
    ]


def stage(tmp_path, seed=7, **spec):
    context = StepContext(seed=seed, language="en", step="some", cache=tmp_path, workplace=tmp_path)
    return Sample(SampleSpec.model_validate({"kind": "sample", "from": "all", **spec}), context)


def drawn(made, rows, without=None):
    tables = {"each": Table.of(rows, Fact[Triple])}
    if without is not None:
        tables["without"] = Table.of(without, Fact[Triple])
    shard = account_gather(made, tables, made.gather(tables), Fact[Triple])
    return list(shard.rows), Counter(
        line["reason"] for line in shard.outcomes.to_pylist() if line["outcome"] == "dropped"
    )


def test_so_many_rows_whatever_their_order(tmp_path):
    rows = facts()
    some, dropped = drawn(stage(tmp_path, n=10), rows)
    assert len(some) == 10
    assert dropped == {"not_drawn": 30}
    again, _ = drawn(stage(tmp_path, n=10), rows[::-1])
    assert {row.id for row in again} == {row.id for row in some}
    other, _ = drawn(stage(tmp_path, n=10, seed=8), rows)
    assert {row.id for row in other} != {row.id for row in some}
    larger, _ = drawn(stage(tmp_path, n=20), rows)
    assert {row.id for row in some} < {row.id for row in larger}


def test_all_where_there_are_no_more(tmp_path):
    rows = facts(5)
    assert drawn(stage(tmp_path, n=9), rows)[0] == rows
    assert drawn(stage(tmp_path), rows)[0] == rows


def test_in_proportion_to_a_column(tmp_path):
    some, _ = drawn(stage(tmp_path, n=12, by="payload.head_type"), facts())
    assert Counter(row.payload.head_type for row in some) == {"moon": 6, "star": 3, "planet": 3}


def test_samples_with_nothing_in_common(tmp_path):
    rows = facts()
    first, _ = drawn(stage(tmp_path, n=10), rows)
    second, dropped = drawn(stage(tmp_path, n=10), rows, without=first)
    assert not {row.id for row in first} & {row.id for row in second}
    assert dropped == {"drawn_elsewhere": 10, "not_drawn": 20}
    made = [Fact[Triple].child(row, produced_by=ProducedBy(rule="test"), payload=row.payload) for row in first]
    assert drawn(stage(tmp_path, n=10), rows, without=made) == (second, dropped)


def test_a_column_that_is_not_there(tmp_path):
    (complaint,) = stage(tmp_path, by="payload.colour").validate_inputs({"each": Fact[Triple]})
    assert (complaint.key, complaint.actual) == ("by", "payload.colour")
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        stage(tmp_path, n=0)


def test_contract(tmp_path):
    rows = facts()
    tables = {"each": Table.of(rows, Fact[Triple]), "without": Table.of(rows[:5], Fact[Triple])}
    assert len(check_step(lambda: stage(tmp_path, n=10), tables).rows) == 10
