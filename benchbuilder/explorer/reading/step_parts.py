"""The files of one step, read by position: outcomes, the rows that came out, and the rows that went in."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import combined_column, row_class, schema_of
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.pipeline import Manifest, ports_of_step, read_columns, read_footer, shard_counts

_FACETS: tuple[str, ...] = ("partition", "outcome", "reason")


_KEPT_FACETS = 2


class StepParts:
    """The parts of a committed step. Nothing is checked against checksums: the pages of Parquet have their own."""

    def __init__(self, build: BuildFolder, manifest: Manifest) -> None:
        self.build, self.manifest = build, manifest
        self.schema = schema_of(row_class(manifest.row))
        self.rows, self.outcomes = build.store.part_files(manifest)
        self._lock = threading.Lock()
        self._starts: dict[tuple[Path, ...], list[int]] = {}
        self._facets: dict[int, pa.Table] = {}
        self._counts: dict[int, list[tuple[str, str, str, int]] | None] = {}

    @property
    def count(self) -> int:
        """The number of parts."""
        return self.manifest.shards

    def row_start(self, part: int) -> int:
        """The number of rows before part `part`."""
        return self._start(self.rows, part)

    def outcome_start(self, part: int) -> int:
        """The number of outcomes before part `part`."""
        return self._start(self.outcomes, part)

    def _start(self, files: tuple[Path, ...], part: int) -> int:
        with self._lock:
            starts = self._starts.setdefault(files, [0])
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
        footer = read_footer(self.outcomes[part])
        names = {footer.schema.column(place).path: place for place in range(footer.num_columns)}
        return all(_may_hold(footer, names[name], values) for name, values in wanted.items())

    def facets(self, part: int) -> pa.Table:
        """Source, outcome and reason of each branch of a part; those read last are kept."""
        with self._lock:
            table = self._facets.pop(part, None)
        if table is None:
            table = read_columns(self.outcomes[part], _FACETS)
        with self._lock:
            self._facets[part] = table
            while len(self._facets) > _KEPT_FACETS:
                self._facets.pop(next(iter(self._facets)))
        return table

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


def _may_hold(footer: Any, column: int, values: Collection[str]) -> bool:
    """Whether a column may have one of these values, by the statistics of its row groups."""
    for group in range(footer.num_row_groups):
        stats = footer.row_group(group).column(column).statistics
        if stats is None or not stats.has_min_max:
            return True
        if any(str(stats.min) <= value <= str(stats.max) for value in values):
            return True
    return False


class InputRows:
    """The rows that a step takes one by one, found by position, or else by a search for their ids."""

    def __init__(self, parts: StepParts) -> None:
        self._steps = [parts_of(parts.build, manifest) for manifest in parts.inputs]
        self._places = [(step, part) for step in self._steps for part in range(step.count)]

    def find(self, ids: Sequence[str], hint: int) -> dict[str, tuple[StepParts, int, int]]:
        """Where the rows of these ids are: step, part and line. `hint` is the likely number of the first."""
        wanted = set(ids)
        found: dict[str, tuple[StepParts, int, int]] = {}
        order = self._nearest(hint)
        for step, part in order:
            if len(found) == len(wanted):
                break
            column: Any = combined_column(step.row_columns(part, ["id"]), "id")
            hits = pc.call_function("is_in", [column], pc.SetLookupOptions(pa.array(sorted(wanted), pa.string())))
            for line in np.flatnonzero(hits.to_numpy(zero_copy_only=False)).tolist():
                found.setdefault(column[line].as_py(), (step, part, line))
        return found

    def _nearest(self, hint: int) -> list[tuple[StepParts, int]]:
        """All parts, the one that holds row number `hint` first, then those around it."""
        first, before = 0, 0
        for place, (step, part) in enumerate(self._places):
            rows = step.row_start(part + 1) - step.row_start(part)
            if before + rows > hint:
                first = place
                break
            before += rows
        near = sorted(range(len(self._places)), key=lambda place: abs(place - first))
        return [self._places[place] for place in near]


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
