"""The books of a step, added up shard by shard: what its manifest says, and that it holds together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import AccountingError, EndOfFile, UniqueIds, schema_of
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard, count_outcomes_by, filter_outcomes
from benchbuilder.pipeline.plan import Node
from benchbuilder.pipeline.store.digest import TableDigest
from benchbuilder.pipeline.store.manifest import Manifest, sorted_counts
from benchbuilder.sources import Source

_FEW_ROWS = 50_000
"""So many rows are hashed at once; of more, rows and outcomes are hashed side by side."""


@dataclass(frozen=True)
class StepShards:
    """The shards of a step, loaded one at a time: how many there are, their rows and their outcomes in all."""

    load: Callable[[int], Shard]
    count: int
    rows: int
    outcomes: int

    @classmethod
    def of_one(cls, shard: Shard) -> StepShards:
        """One that is in memory."""
        return cls(lambda _: shard, 1, len(shard.rows), shard.outcomes.num_rows)

    def __iter__(self) -> Iterator[Shard]:
        return (self.load(index) for index in range(self.count))


@dataclass
class StepTotals:
    """Sums over the shards of a node.

    `digest` and `outcomes` are those of the manifest. Raises AccountsError if an id occurs twice.
    """

    node: Node
    digest: str = ""
    outcomes: str = ""
    rows: int = 0
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    unused: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    units: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    tallies: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
    failed: list[pa.Table] = field(default_factory=list[pa.Table])
    """The outcomes of the branches that failed."""

    @classmethod
    def add_up(cls, node: Node, shards: StepShards, files: SourceFileCounts | None = None) -> StepTotals:
        """The books of all shards; with `files` those of a source, which must balance too."""
        books, unique = cls(node, rows=shards.rows), UniqueIds()
        of_rows, of_outcomes = (
            TableDigest(shards.rows, schema_of(node.row).names),
            TableDigest(shards.outcomes, OUTCOME_SCHEMA.names),
        )
        with ThreadPoolExecutor(1) as aside:
            for shard in shards:
                other = aside.submit(of_outcomes.update, shard.outcomes) if shards.outcomes > _FEW_ROWS else None
                of_rows.update(shard.rows.arrow)
                unique.add(shard.rows.arrow.column("id"))
                books._add(shard)
                if files is not None:
                    files.add(shard.outcomes)
                if other is None:
                    of_outcomes.update(shard.outcomes)
                else:
                    other.result()
        if files is not None:
            files.check(shards)
        unique.check(node.name)
        books.digest, books.outcomes = of_rows.hexdigest(), of_outcomes.hexdigest()
        return books

    def _add(self, shard: Shard) -> None:
        outcomes = shard.outcomes
        self.counts += shard.counts()
        self.tallies.update(shard.tallies)  # keeps zeros, which `+=` would drop
        self.notes |= shard.notes
        if isinstance(self.node.producer, Source):
            self.units += count_outcomes_by(outcomes, ("file", "outcome", "reason"))
        self.unused += count_outcomes_by(filter_outcomes(outcomes, outcome="unused"), ("port", "partition", "reason"))
        if (failed := filter_outcomes(outcomes, outcome="failed")).num_rows:
            self.failed.append(failed)

    def branch_count(self) -> int:
        """How many there are."""
        return sum(self.counts.values())

    def failure_count(self) -> int:
        """How many of them failed."""
        return sum(table.num_rows for table in self.failed)

    def manifest(
        self, inputs: Mapping[str, str], shards: int, ends: Sequence[EndOfFile], observed: Mapping[str, str]
    ) -> Manifest:
        """The seal of the step."""
        node = self.node
        return Manifest(
            step=node.name,
            kind=node.kind,
            row=node.row_name,
            key=node.key,
            key_inputs=dict(node.key_inputs),
            inputs=dict(inputs),
            digest=self.digest,
            outcomes=self.outcomes,
            rows=self.rows,
            shards=shards,
            counts=sorted_counts(self.counts),
            unused=sorted_counts(self.unused),
            units=sorted_counts(self.units),
            auxiliary=tuple(
                (end.file, "auxiliary", what, n) for end in ends for what, n in sorted((end.auxiliary or {}).items())
            ),
            tallies=sorted_counts(self.tallies),
            notes=self.notes,
            external_inputs=dict(observed),
            reasons=dict(node.producer.reasons),
            state="incomplete" if self.failed else "complete",
        )


class SourceFileCounts:
    """The units of a source's files, added up shard by shard."""

    def __init__(self, source: Source, ends: Sequence[EndOfFile]) -> None:
        self._source, self._ends = source, ends
        self._seen, self._last = Counter[str](), dict[str, int]()
        self._loose: set[str] = set()
        """Files whose units did not come in order, so that they must be counted."""

    def add(self, outcomes: pa.Table) -> None:
        """The outcomes of a shard."""
        for file, lines in _file_runs(outcomes):
            self._seen[file] += len(lines)
            if int(lines[0]) <= self._last.get(file, -1) or bool(np.any(np.diff(lines) <= 0)):
                self._loose.add(file)
            self._last[file] = max(int(lines[-1]), self._last.get(file, -1))

    def check(self, shards: StepShards) -> None:
        """Every file reached its end, and its units are as many as the outcomes that were written down, each once."""
        source, seen = self._source, self._seen
        ended = {end.file: end.units for end in self._ends if end.auxiliary is None}
        auxiliary = {end.file for end in self._ends if end.auxiliary is not None}
        for file in sorted({*seen, *ended, *(ref.path for ref in source.files())} - auxiliary):
            if seen[file] != ended.get(file, -1):
                raise source_accounting_error(
                    source, f"accounts for {seen[file]} units of {file}, which has {ended.get(file, 'no end')}",
                    "a source must name a outcome for every unit and reach the end of every file",
                )  # fmt: skip
            if file in self._loose and _distinct_units(shards, file) != seen[file]:
                raise source_accounting_error(source, f"names a unit of {file} twice", "a unit has one outcome")


def source_accounting_error(source: Source, what: str, why: str) -> AccountingError:
    """The error of a source whose accounts do not balance."""
    return AccountingError(
        f"source {source.name!r} {what}", why=why, next="this is a bug in the source's kind: report it"
    )


def _file_runs(outcomes: pa.Table) -> Iterator[tuple[str, Any]]:
    """The numbers of units that stand beside each other and are of one file."""
    for chunk in outcomes.select(["file", "line"]).combine_chunks().to_batches():
        files: Any = chunk.column(0).dictionary_encode()
        codes, lines = files.indices.to_numpy(), chunk.column(1).to_numpy()
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
        for start, end in pairwise(starts):
            if end > start:
                yield str(files.dictionary[int(codes[start])].as_py()), lines[start:end]


def _distinct_units(shards: StepShards, file: str) -> int:
    """How many units of a file have a outcome."""
    lines = [filter_outcomes(shard.outcomes, file=file).column("line") for shard in shards]
    compute: Any = pc
    return int(compute.count_distinct(pa.chunked_array([chunk for column in lines for chunk in column.chunks],
                                                       pa.int64())).as_py())  # fmt: skip
