"""Reads a source and commits what it reads shard by shard."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import EndOfFile, SourceBatch, Table, combined_column, constant_column
from benchbuilder.pipeline.accounting.checks import source_accounting_error
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard
from benchbuilder.sources import Source

_compute: Any = pc


def read_source_shards(
    source: Source, rows: int, most_bytes: int, commit: Callable[[int, Shard], None], advance: Callable[[int], None]
) -> tuple[int, list[EndOfFile]]:
    """Read a source to its end; the next shard is read while the last one is written.

    A shard has `rows` units, fewer if its rows take `most_bytes` bytes. `commit` writes it under its number, `advance`
    reports how many more units were read. AccountingError if a row does not name its unit, or a reason is undeclared.

    Returns:
        The number of shards, and the ends of the files.
    """
    buffer, ends = _UnitBuffer(source), list[EndOfFile]()
    count, writing = 0, list[Future[None]]()
    with ThreadPoolExecutor(1) as writer:

        def put(units: int) -> None:
            nonlocal count
            for future in writing:
                future.result()
            writing[:] = [writer.submit(commit, count, buffer.shard(units))]
            count += 1

        for batch in source.read_batches():
            if isinstance(batch, EndOfFile):
                ends.append(batch)
                continue
            buffer.add(batch)
            advance(len(batch.lines))
            while buffer.units >= rows:
                put(rows)
            if buffer.bytes >= most_bytes:
                put(buffer.units)
        if buffer.units or not count:
            put(buffer.units)
        for future in writing:
            future.result()
    return count, ends


class _UnitBuffer:
    """Units that were read and are not in a shard yet."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows: list[pa.Table] = []
        self._outcomes: list[pa.Table] = []
        self.units = 0
        self.bytes = 0

    def add(self, batch: SourceBatch) -> None:
        """Add the units of a batch."""
        self._check(batch)
        self._rows.append(batch.rows.arrow)
        self._outcomes.append(_outcomes(self._source, batch))
        self.units += len(batch.lines)
        self.bytes += batch.rows.arrow.nbytes

    def shard(self, units: int) -> Shard:
        """The first so many units as a shard."""
        output = self._source.output
        rows = Table.concat((Table(table, output) for table in self._rows), output).arrow
        outcomes = pa.concat_tables([OUTCOME_SCHEMA.empty_table(), *self._outcomes])
        taken = outcomes.slice(0, units)
        kept = int(_compute.sum(_compute.equal(taken.column("outcome"), "kept"), min_count=0).as_py())
        self._rows, self._outcomes = [rows.slice(kept)], [outcomes.slice(units)]
        self.units -= units
        self.bytes = self._rows[0].nbytes if self.units else 0
        if not self.units:
            self._rows, self._outcomes = [], []
        return Shard(Table(rows.slice(0, kept), output), taken)

    def _check(self, batch: SourceBatch) -> None:
        source, lines, reasons = self._source, batch.lines, batch.reasons
        kept_lines = lines.filter(_compute.is_null(reasons))
        origins = batch.rows.arrow
        has_rows = len(batch.rows) > 0
        row_lines = combined_column(origins, "origin.line") if has_rows else pa.array([], pa.int64())
        files = _compute.unique(combined_column(origins, "origin.file")).to_pylist() if has_rows else []
        if not kept_lines.equals(row_lines) or any(file != batch.file for file in files):
            raise source_accounting_error(
                source.name,
                f"makes rows of other units than those that it keeps, near {batch.file}:{lines[0]}",
                "a row names the unit that it was read from",
            )
        unknown = sorted(set(_compute.unique(reasons.drop_null()).to_pylist()) - set(source.reasons))
        if unknown:
            line = lines[_compute.index(reasons, unknown[0]).as_py()]
            raise source_accounting_error(
                source.name,
                f"drops {batch.file}:{line} for the undeclared reason {unknown[0]!r}",
                f"declared: {', '.join(source.reasons)}",
            )


def _outcomes(source: Source, batch: SourceBatch) -> pa.Table:
    """The lines of the outcomes table for the units of a batch."""
    count = len(batch.lines)
    kept: Any = _compute.is_null(batch.reasons)
    empty = constant_column("", count)
    out = _compute.replace_with_mask(empty, kept, combined_column(batch.rows.arrow, "id"))
    partition = constant_column(source.name, count)
    if len(batch.rows):
        own = combined_column(batch.rows.arrow, "partition")
        partition = _compute.replace_with_mask(partition, kept, own)
    columns = {
        "port": constant_column("file", count),
        "row": empty,
        "slot": empty,
        "outcome": _compute.if_else(kept, "kept", "dropped"),
        "reason": _compute.fill_null(batch.reasons, ""),
        "detail": batch.details,
        "out": out,
        "partition": partition,
        "file": constant_column(batch.file, count),
        "line": batch.lines,
    }
    return pa.table(columns, schema=OUTCOME_SCHEMA)
