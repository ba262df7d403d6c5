"""Adds up the shards of a step: the counts and digests of its manifest, and the checks that they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import EndOfFile, UniqueIds, schema_of
from benchbuilder.pipeline.accounting.checks import source_accounting_error
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard, count_outcomes_by, filter_outcomes
from benchbuilder.pipeline.plan import Node
from benchbuilder.pipeline.store.digest import TableDigest
from benchbuilder.pipeline.store.folder import StepDraft
from benchbuilder.pipeline.store.manifest import Manifest, sorted_counts
from benchbuilder.sources import Source

_FEW_ROWS = 50_000
"""Up to so many outcomes, rows and outcomes are hashed one after the other; more are hashed side by side."""

_Counts = Counter[tuple[str, str, str]]


@dataclass
class StepTotals:
    """Sums over the shards of a node; `failed` holds the outcomes of the failed branches, shard by shard."""

    node: Node
    shards: int
    ends: Sequence[EndOfFile] = ()
    digest: str = ""
    outcomes: str = ""
    rows: int = 0
    counts: _Counts = field(default_factory=_Counts)
    unused: _Counts = field(default_factory=_Counts)
    units: _Counts = field(default_factory=_Counts)
    tallies: _Counts = field(default_factory=_Counts)
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
    failed: list[pa.Table] = field(default_factory=list[pa.Table])

    @classmethod
    def add_up(cls, node: Node, draft: StepDraft, shards: int, ends: Sequence[EndOfFile] = ()) -> StepTotals:
        """Add up the first `shards` shards of a draft; `ends` are the ends of the files of a source.

        AccountingError if an id occurs twice, or the units of a source do not add up.
        """
        rows, outcome_count = draft.row_counts(shards)
        totals, unique = cls(node, shards, ends, rows=rows), UniqueIds()
        row_digest = TableDigest(rows, schema_of(node.row).names)
        outcome_digest = TableDigest(outcome_count, OUTCOME_SCHEMA.names)
        files = _SourceFileCounts(node.producer, ends) if isinstance(node.producer, Source) else None

        def loaded() -> Iterator[Shard]:
            return (draft.load_shard(index, node.row) for index in range(shards))

        with ThreadPoolExecutor(1) as pool:
            for shard in loaded():
                hashed = pool.submit(outcome_digest.update, shard.outcomes) if outcome_count > _FEW_ROWS else None
                row_digest.update(shard.rows.arrow)
                unique.add(shard.rows.arrow.column("id"))
                totals._add(shard)
                if files is not None:
                    files.add(shard.outcomes)
                if hashed is None:
                    outcome_digest.update(shard.outcomes)
                else:
                    hashed.result()
        if files is not None:
            files.check(loaded)
            tallied = node.producer.tallies().items() if isinstance(node.producer, Source) else ()
            totals.tallies.update({("clean", node.name, key): n for key, n in tallied})
        unique.check(node.name)
        totals.digest, totals.outcomes = row_digest.hexdigest(), outcome_digest.hexdigest()
        return totals

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
        """The number of branches."""
        return sum(self.counts.values())

    def failure_count(self) -> int:
        """The number of branches that failed."""
        return sum(table.num_rows for table in self.failed)

    def manifest(self, inputs: Mapping[str, str], external_inputs: Mapping[str, str]) -> Manifest:
        """The manifest of the step, with the digests of its inputs and the hashes of external contributions."""
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
            shards=self.shards,
            counts=sorted_counts(self.counts),
            unused=sorted_counts(self.unused),
            units=sorted_counts(self.units),
            auxiliary=tuple(
                (end.file, "auxiliary", what, n)
                for end in self.ends
                for what, n in sorted((end.auxiliary or {}).items())
            ),
            tallies=sorted_counts(self.tallies),
            notes=self.notes,
            external_inputs=dict(external_inputs),
            reasons=dict(node.producer.reasons),
            state="incomplete" if self.failed else "complete",
        )


class _SourceFileCounts:
    """The units of a source's files, added up shard by shard."""

    def __init__(self, source: Source, ends: Sequence[EndOfFile]) -> None:
        self._source, self._ends = source, ends
        self._units, self._last = Counter[str](), dict[str, int]()
        self._unordered: set[str] = set()
        """Files whose units did not come in order, so that repeated units must be looked for."""

    def add(self, outcomes: pa.Table) -> None:
        """Add the outcomes of a shard."""
        for file, lines in _file_runs(outcomes):
            self._units[file] += len(lines)
            if int(lines[0]) <= self._last.get(file, -1) or bool(np.any(np.diff(lines) <= 0)):
                self._unordered.add(file)
            self._last[file] = max(int(lines[-1]), self._last.get(file, -1))

    def check(self, shards: Callable[[], Iterable[Shard]]) -> None:
        """AccountingError unless every file reached its end and each of its units has one outcome."""
        source, units = self._source, self._units
        ended = {end.file: end.units for end in self._ends if end.auxiliary is None}
        auxiliary = {end.file for end in self._ends if end.auxiliary is not None}
        for file in sorted({*units, *ended, *(ref.path for ref in source.files())} - auxiliary):
            if units[file] != ended.get(file, -1):
                raise source_accounting_error(
                    source.name,
                    f"accounts for {units[file]} units of {file}, which has {ended.get(file, 'no end')}",
                    "a source must name an outcome for every unit and reach the end of every file",
                )
            if file in self._unordered and _distinct_units(shards(), file) != units[file]:
                raise source_accounting_error(source.name, f"names a unit of {file} twice", "a unit has one outcome")


def _file_runs(outcomes: pa.Table) -> Iterator[tuple[str, Any]]:
    """Runs of units of one file: the file, and the numbers of its units."""
    for chunk in outcomes.select(["file", "line"]).combine_chunks().to_batches():
        files: Any = chunk.column(0).dictionary_encode()
        codes, lines = files.indices.to_numpy(), chunk.column(1).to_numpy()
        starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
        for start, end in pairwise(starts):
            if end > start:
                yield str(files.dictionary[int(codes[start])].as_py()), lines[start:end]


def _distinct_units(shards: Iterable[Shard], file: str) -> int:
    """How many units of a file have an outcome."""
    lines = [filter_outcomes(shard.outcomes, file=file).column("line") for shard in shards]
    chunks = pa.chunked_array([chunk for column in lines for chunk in column.chunks], pa.int64())
    compute: Any = pc
    return int(compute.count_distinct(chunks).as_py())
