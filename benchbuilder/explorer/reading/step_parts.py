"""The files of one step, read by position: outcomes, the rows that came out, and the rows that went in."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchbuilder.core import row_class, schema_of
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.pipeline import Manifest, may_hold, ports_of_step, read_columns, read_footer, shard_counts

_FACETS: tuple[str, ...] = ("partition", "outcome", "reason")
_KEPT_FACETS = 2
"""Of so many parts the facets stay in memory."""


class StepParts:
    """The parts of a committed step. Nothing is checked against checksums: the pages of Parquet have their own."""

    def __init__(self, build: BuildFolder, manifest: Manifest) -> None:
        self.build, self.manifest = build, manifest
        self.schema = schema_of(row_class(manifest.row))
        self.rows, self.outcomes = build.store.part_files(manifest)
        self._lock = threading.Lock()
        self._row_starts, self._outcome_starts = [0], [0]
        self._facets: dict[int, dict[str, Any]] = {}
        self._counts: dict[int, list[tuple[str, str, str, int]] | None] = {}
        self.rows_in_order: dict[int, bool] = {}
        """Of parts that were compared: whether their rows stand in the order of the branches."""
        self.inputs_in_order: dict[int, bool] = {}
        """Of parts that were compared: whether branches stand in the order of the rows that went in."""

    @property
    def count(self) -> int:
        """The number of parts."""
        return self.manifest.shards

    def row_start(self, part: int) -> int:
        """The number of rows before part `part`."""
        return self._start(self._row_starts, self.rows, part)

    def outcome_start(self, part: int) -> int:
        """The number of outcomes before part `part`."""
        return self._start(self._outcome_starts, self.outcomes, part)

    def _start(self, starts: list[int], files: Sequence[Path], part: int) -> int:
        with self._lock:
            while len(starts) <= part:
                starts.append(starts[-1] + read_footer(files[len(starts) - 1]).num_rows)
            return starts[part]

    def counts(self, part: int) -> list[tuple[str, str, str, int]] | None:
        """The branches of a part by (partition, outcome, reason), if its receipt has them."""
        if part not in self._counts:
            self._counts[part] = shard_counts(self.outcomes[part].parent, part)
        return self._counts[part]

    def may_hold(self, part: int, wanted: Mapping[str, Collection[str]]) -> bool:
        """Whether a part may have outcomes with such values, by its counts, or else by statistics in its footer."""
        counts = self.counts(part)
        if counts is not None:
            lines: list[dict[str, str]] = [dict(zip(_FACETS, line[:3], strict=True)) for line in counts]
            return any(all(line[name] in values for name, values in wanted.items()) for line in lines)
        return all(may_hold(self.outcomes[part], name, values) for name, values in wanted.items())

    def facets(self, part: int, names: Sequence[str] = _FACETS) -> pa.Table:
        """Source, outcome and reason of each branch of a part, or some of them; those read last are kept."""
        with self._lock:
            known = self._facets.pop(part, {})
        if missing := [name for name in names if name not in known]:
            table = read_columns(self.outcomes[part], missing)
            known |= {name: table.column(name) for name in missing}
        with self._lock:
            self._facets[part] = known
            while len(self._facets) > _KEPT_FACETS:
                self._facets.pop(next(iter(self._facets)))
        return pa.table({name: known[name] for name in names})

    def outcome_columns(self, part: int, names: Sequence[str]) -> pa.Table:
        """Columns of the outcomes of a part."""
        return read_columns(self.outcomes[part], names)

    def row_columns(self, part: int, names: Sequence[str]) -> pa.Table:
        """Columns of the rows of a part; a struct of which fields are named has these alone."""
        return read_columns(self.rows[part], names)

    @cached_property
    def inputs(self) -> tuple[Manifest, ...]:
        """The steps whose rows it takes one by one."""
        manifests = self.build.manifests()
        return tuple(manifests[name] for name in ports_of_step(self.manifest).get("each", ()) if name in manifests)


_KEPT_STEPS = 64
_known: dict[tuple[Path, str, str, str], StepParts] = {}
_known_lock = threading.Lock()


def parts_of(build: BuildFolder, manifest: Manifest) -> StepParts:
    """The parts of a step; those that were read lately are kept with their footers."""
    key = (build.folder, manifest.step, manifest.key, manifest.digest)
    with _known_lock:
        parts = _known.pop(key, None) or StepParts(build, manifest)
        _known[key] = parts
        while len(_known) > _KEPT_STEPS:
            _known.pop(next(iter(_known)))
        return parts
