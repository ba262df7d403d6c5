"""What a source reads, on its way into shards."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import EndOfFile, SourceBatch, Table, combined_column, constant_column
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard
from benchbuilder.pipeline.totals import source_accounting_error
from benchbuilder.sources import Source

_compute: Any = pc


def read_source_shards(
    source: Source, rows: int, most_bytes: int, commit: Callable[[int, Shard], None], advance: Callable[[int], None]
) -> tuple[int, list[EndOfFile]]:
    """Read a source to its end and commit shards of `rows` units, or fewer where their rows take `most_bytes`.

    How many shards there are, and the ends of the files. While one shard is written the next is read. AccountsError if
    the source does not say of what it read the row comes, or drops for a reason that it did not declare.
    """
    shelf, ends = _UnitBuffer(source), list[EndOfFile]()
    count, writing = 0, list[Future[None]]()
    with ThreadPoolExecutor(1) as writer:

        def put(units: int) -> None:
            nonlocal count
            for future in writing:
                future.result()
            writing[:] = [writer.submit(commit, count, shelf.shard(units))]
            count += 1

        for units in source.read_batches():
            if isinstance(units, EndOfFile):
                ends.append(units)
                continue
            shelf.add(units)
            advance(len(units.lines))
            while shelf.units >= rows:
                put(rows)
            if shelf.bytes >= most_bytes:
                put(shelf.units)
        if shelf.units or not count:
            put(shelf.units)
        for future in writing:
            future.result()
    return count, ends


class _UnitBuffer:
    """Units that are not in a shard yet."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows: list[pa.Table] = []
        self._outcomes: list[pa.Table] = []
        self.units = 0
        self.bytes = 0

    def add(self, units: SourceBatch) -> None:
        """Put more units on the shelf."""
        self._check(units)
        self._rows.append(units.rows.arrow)
        self._outcomes.append(_outcomes(self._source, units))
        self.units += len(units.lines)
        self.bytes += units.rows.arrow.nbytes

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

    def _check(self, units: SourceBatch) -> None:
        source, lines, reasons = self._source, units.lines, units.reasons
        kept = lines.filter(_compute.is_null(reasons))
        origin = units.rows.arrow.column("origin")
        there = combined_column(units.rows.arrow, "origin.line") if len(units.rows) else pa.array([], pa.int64())
        files = _compute.unique(combined_column(units.rows.arrow, "origin.file")).to_pylist() if len(origin) else []
        if not kept.equals(there) or any(file != units.file for file in files):
            raise source_accounting_error(
                source, f"makes rows of other units than those that it keeps, near {units.file}:{lines[0]}",
                "a row names the unit that it was read from",
            )  # fmt: skip
        unknown = sorted(set(_compute.unique(reasons.drop_null()).to_pylist()) - set(source.reasons))
        if unknown:
            line = lines[_compute.index(reasons, unknown[0]).as_py()]
            raise source_accounting_error(
                source,
                f"drops {units.file}:{line} for the undeclared reason {unknown[0]!r}",
                f"declared: {', '.join(source.reasons)}",
            )


def _outcomes(source: Source, units: SourceBatch) -> pa.Table:
    """The lines of the outcomes table of some units."""
    count = len(units.lines)
    kept: Any = _compute.is_null(units.reasons)
    empty = constant_column("", count)
    out = _compute.replace_with_mask(empty, kept, combined_column(units.rows.arrow, "id"))
    partition = constant_column(source.name, count)
    if len(units.rows):
        own = combined_column(units.rows.arrow, "partition")
        partition = _compute.replace_with_mask(partition, kept, own)
    return pa.table(
        {
            "port": constant_column("file", count),
            "row": empty,
            "slot": empty,
            "outcome": _compute.if_else(kept, "kept", "dropped"),
            "reason": _compute.fill_null(units.reasons, ""),
            "detail": units.details,
            "out": out,
            "partition": partition,
            "file": constant_column(units.file, count),
            "line": units.lines,
        },
        schema=OUTCOME_SCHEMA,
    )
