"""Digests: equal rows, equal digest, wherever their buffers come from."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.payloads import Choice, Fact
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import Origin, ProducedBy, Span
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard
from benchbuilder.pipeline.store.digest import table_digest


def statements(texts: list[str], spans: list[Span | None]) -> pa.Table:
    rows = [
        Statement.build(
            origin=Origin(file="f", line=line), produced_by=ProducedBy(rule="r"), language="en", partition="p",
            polarity="true", text=text, joined="seam", fact="f", answer=span, checks=tuple(text.split()),
        )
        for line, (text, span) in enumerate(zip(texts, spans, strict=True), 1)
    ]  # fmt: skip
    return Table.of(rows, Statement).arrow


spans = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda p: Span(start=p[0], end=p[1]))
rows = st.lists(st.tuples(st.text(max_size=5), spans), max_size=12)


@pytest.mark.push
@settings(max_examples=60)
@given(given=rows, cut=st.integers(0, 12))
def test_equal_rows_have_equal_digests(tmp_path_factory: pytest.TempPathFactory, given: list[tuple[str, Span | None]],
                                       cut: int) -> None:  # fmt: skip
    table = statements([text for text, _ in given], [span for _, span in given])
    digest = table_digest(table)
    path: Path = tmp_path_factory.mktemp("digest") / "table.parquet"
    pq.write_table(table, path)
    read = pq.read_table(path, schema=schema_of(Statement))
    assert table_digest(read) == digest
    assert table_digest(pa.concat_tables([table.slice(0, cut), read.slice(cut)])) == digest
    padded = pa.concat_tables([statements(["x"], [None]), table])
    assert table_digest(padded.slice(1)) == digest
    mask = pa.array([False] + [True] * len(given))
    assert table_digest(padded.filter(mask)) == digest


@pytest.mark.push
@settings(max_examples=60)
@given(one=rows, other=rows)
def test_other_rows_have_other_digests(
    one: list[tuple[str, Span | None]], other: list[tuple[str, Span | None]]
) -> None:
    tables = [statements([text for text, _ in given], [span for _, span in given]) for given in (one, other)]
    assert (table_digest(tables[0]) == table_digest(tables[1])) == (one == other)


def test_a_value_does_not_run_into_its_neighbour() -> None:
    assert table_digest(pa.table({"a": ["ab", "c"]})) != table_digest(pa.table({"a": ["a", "bc"]}))
    assert table_digest(pa.table({"a": ["a"], "b": ["bc"]})) != table_digest(pa.table({"a": ["ab"], "b": ["c"]}))
    empty = pa.table({"a": pa.array([[], ["x"]], pa.list_(pa.string()))})
    assert table_digest(empty) != table_digest(pa.table({"a": pa.array([["x"], []], pa.list_(pa.string()))}))
    assert table_digest(pa.table({"a": pa.array([1.0, None])})) != table_digest(pa.table({"a": pa.array([None, 1.0])}))


def test_a_shard_of_rows_with_a_payload_travels() -> None:
    """A row class with a payload cannot be pickled: the shard carries its name."""
    fact = Fact[Choice].build(
        origin=Origin(file="f", line=1), produced_by=ProducedBy(rule="r"), language="en", partition="p",
        payload=Choice.examples()[0],
    )  # fmt: skip
    shard = Shard(Table.of([fact], Fact[Choice]), OUTCOME_SCHEMA.empty_table(), notes={"a": 1})
    again = pickle.loads(pickle.dumps(shard))
    assert list(again.rows) == [fact]
    assert again.rows.row is Fact[Choice]
    assert again.notes == {"a": 1}
