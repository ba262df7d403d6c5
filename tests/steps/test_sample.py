"""Samples: of the wanted size, in proportion, the same in any order, with nothing in common where they shall not."""

from collections import Counter

import pytest

from benchbuilder.core.context import Context
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.row import MadeBy, Origin
from benchbuilder.pipeline.accounting.shard import settle_gather
from benchbuilder.steps.sample import Sample, SampleSpec
from benchbuilder.testing import check_stage

KINDS = ("star", "planet", "moon", "moon")


def facts(count=40):
    made = {"origin": Origin(file="sky.csv", line=1), "made_by": MadeBy(rule="test"), "language": "en",
            "partition": "sky"}  # fmt: skip
    return [
        Fact[Triple].build(
            payload=Triple(head=f"body {n}", relation="is a", tail="body", head_type=KINDS[n % 4]), **made
        )
        for n in range(count)
    ]


def stage(tmp_path, seed=7, **spec):
    context = Context(seed=seed, language="en", step="some", cache=tmp_path, workplace=tmp_path)
    return Sample(SampleSpec.model_validate({"kind": "sample", "from": "all", **spec}), context)


def drawn(made, rows, without=None):
    tables = {"each": Table.of(rows, Fact[Triple])}
    if without is not None:
        tables["without"] = Table.of(without, Fact[Triple])
    shard = settle_gather(made, tables, made.gather(tables), Fact[Triple])
    return list(shard.rows), Counter(line["reason"] for line in shard.fates.to_pylist() if line["fate"] == "dropped")


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
    made = [Fact[Triple].child(row, made_by=MadeBy(rule="test"), payload=row.payload) for row in first]
    assert drawn(stage(tmp_path, n=10), rows, without=made) == (second, dropped)


def test_a_column_that_is_not_there(tmp_path):
    (complaint,) = stage(tmp_path, by="payload.colour").complaints({"each": Fact[Triple]})
    assert (complaint.key, complaint.found) == ("by", "payload.colour")
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        stage(tmp_path, n=0)


def test_contract(tmp_path):
    rows = facts()
    tables = {"each": Table.of(rows, Fact[Triple]), "without": Table.of(rows[:5], Fact[Triple])}
    assert len(check_stage(lambda: stage(tmp_path, n=10), tables).rows) == 10
