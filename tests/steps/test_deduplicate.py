import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from preparation_rows import choice, make, triple

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Fact, Triple
from benchbuilder.core.text.normalise import compose
from benchbuilder.pipeline.accounting.shard import settle_gather

FIELDS = {"context": "payload.context", "question": "payload.question", "answer": "payload.answer"}


def fates(rows, row_class, **spec):
    """For each row whether it is kept, or what is said of it, in the order of the rows."""
    stage, tables = make("deduplicate", **spec), {"each": Table.of(rows, row_class)}
    shard = settle_gather(stage, tables, stage.gather(tables), row_class)
    lines = shard.fates.to_pylist()
    assert [line["row"] for line in lines] == [row.id for row in rows]
    kept = [row for row, line in zip(rows, lines, strict=True) if line["fate"] == "kept"]
    assert list(shard.rows) == kept
    return [line["fate"] == "kept" or (line["reason"], line["detail"]) for line in lines]


def test_the_first_row_stays_and_the_drop_names_it():
    first = choice("诊断是", line=3)
    again = choice("诊断是 ", line=9)
    detail = f"same context, question, answer as {first.id} (medqa.jsonl:3)"
    assert fates([first, again], Fact[Choice], fields=FIELDS) == [True, ("duplicate", detail)]


def test_the_preferred_partition_stays_wherever_it_comes():
    rows = [choice("诊断是", partition="other"), choice("诊断是", partition="mlecqa"), choice("诊断是")]
    result = fates(rows, Fact[Choice], fields=FIELDS, prefer=["medqa", "mlecqa"])
    assert [fate is True for fate in result] == [False, False, True]


def test_equal_questions_with_other_answers_are_not_the_same():
    rows = [choice("诊断是", "肺炎", line=1), choice("诊断是", "贫血", line=2)]
    assert fates(rows, Fact[Choice], fields=FIELDS) == [True, True]


def test_the_letter_of_the_answer_can_be_the_key():
    rows = [
        choice("诊断是", "肺炎", options=("肺炎", "贫血"), line=1),
        choice("诊断是", "湿疹", options=("湿疹", "贫血"), line=2),
    ]
    fields = {"question": "payload.question", "answer": "payload.answer_key"}
    assert [fate is True for fate in fates(rows, Fact[Choice], fields=fields)] == [True, False]


def test_a_missing_column_is_named():
    with pytest.raises(DataError, match=r"payload\.question"):
        fates([triple("甲", "是", "乙")], Fact[Triple], fields={"question": "payload.question"})


@given(
    st.lists(st.tuples(st.sampled_from("甲乙"), st.sampled_from("丙丁"), st.sampled_from(["bios", "kg"])), max_size=9)
)
def test_every_row_has_one_fate_and_one_of_each_stays(values):
    rows = [triple(h, "是", t, line=n, partition=p, head_type=str(n)) for n, (h, t, p) in enumerate(values, 1)]
    fields = {"head": "payload.head", "tail": "payload.tail"}
    result = fates(rows, Fact[Triple], fields=fields, prefer=["kg"])
    kept = [row.payload for row, fate in zip(rows, result, strict=True) if fate is True]
    assert sorted((p.head, p.tail) for p in kept) == sorted({(h, t) for h, t, _ in values})


TEXT = st.text(st.sampled_from(["甲", " ", "\u3000", "\x1f", "e", "\u0301", "é", "3", ":", "\n"]), max_size=3)


def by_pairs(rows, prefer):
    """The place of the row that stays for each, by comparing them all."""
    keys = [
        (compose(p.head.strip()), compose(p.tail.strip()), json.dumps(p.head_terms)) for p in (r.payload for r in rows)
    ]
    ranks = [(prefer.index(row.partition) if row.partition in prefer else len(prefer), n) for n, row in enumerate(rows)]
    return [min(rank for rank, other in zip(ranks, keys, strict=True) if other == key)[1] for key in keys]


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
    assert fates(rows, Fact[Triple], fields=fields, prefer=prefer) == wanted
