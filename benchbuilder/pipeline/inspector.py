"""Inspects a build: the branches of a row, the lineage of an item, the rows of a step."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.config import did_you_mean
from benchbuilder.core import DataError, Row, combined_column, row_class, row_text, schema_of
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA
from benchbuilder.pipeline.inspected_flow import InspectedFlow
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.shards.files import may_hold, read_columns, read_part, read_slice
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest


@dataclass(frozen=True)
class TracedBranch:
    """One branch of a row: its steps and how it ended."""

    path: tuple[str, ...]
    outcome: str
    reason: str = ""
    detail: str = ""
    meaning: str = ""

    def ending(self) -> str:
        """The outcome as text, with its reason."""
        outcome = self.outcome + (f" ({self.reason})" if self.reason else "")
        why = ": ".join(part for part in (self.meaning, self.detail) if part)
        return outcome + (f" - {why}" if why else "")

    def __str__(self) -> str:
        return f"{' > '.join(self.path)}: {self.ending()}"


class RowFinder(Protocol):
    """Knows where ids are in large steps, so that an inspector need not read them whole."""

    def places(
        self, manifest: Manifest, column: Literal["id", "row"], ids: Set[str]
    ) -> Mapping[str, Sequence[tuple[int, int]]] | None:
        """The parts and lines where a column (``id`` of the rows, ``row`` of the outcomes) has each of these ids.

        ``None`` if the step has no index.
        """
        ...


_MOST_KEPT = 10_000
"""An inspector remembers the lines of so many questions about outcomes."""


class Inspector:
    """Reads the committed steps of a flow; DataError if there are none."""

    def __init__(
        self, flow: InspectedFlow, manifests: Mapping[str, Manifest], store: Store, *, compares: bool = True,
        index: RowFinder | None = None,
    ) -> None:  # fmt: skip
        """`compares` says whether files are compared with their checksums before they are read."""
        self.flow, self.store, self._compares, self._index = flow, store, compares, index
        self._asked: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        self.manifests: dict[str, Manifest] = dict(manifests)
        if not self.manifests:
            raise DataError(
                f"nothing is built in {store.folder}",
                why=store.former_layout_note() or "the store has no step of this recipe as it is now",
                next="build it first, with the same arguments: benchbuild recipe=... key=value ...",
            )

    @classmethod
    def of_plan(cls, plan: Plan, store: Store) -> Inspector:
        """An inspector of the committed steps of a plan."""
        manifests = {
            name: manifest
            for name, node in plan.nodes.items()
            if (manifest := store.manifest(name, node.key)) is not None
        }
        return cls(InspectedFlow.of_plan(plan), manifests, store)

    def branches_of(self, reference: str) -> list[TracedBranch]:
        """Every branch of a row (by id) or of a source unit (``file:line``); DataError if it is unknown."""
        if (unit := _unit(reference)) is not None:
            return self._branches_of_unit(*unit)
        for name in self._likely_steps(reference):
            if reference in self._row_positions(name, {reference}):
                return list(self._branches(name, reference, (name,)))
        raise self._unknown_row_error(reference)

    def branches_from(self, step: str, row: str) -> list[TracedBranch]:
        """Every branch of a row of a step that has it; see `branches_of`."""
        return list(self._branches(step, row, (step,)))

    def _branches_of_unit(self, file: str, line: int) -> list[TracedBranch]:
        branches: list[TracedBranch] = []
        for name, branch in self._unit_lines(file, line):
            if branch["out"]:
                branches += self._branches(name, branch["out"], (name,))
            else:
                branches.append(self._ended_branch(name, branch, (name,)))
        if branches:
            return branches
        sources = [name for name in self.flow.sources if name in self.manifests]
        files = sorted({file for name in sources for file, *_ in self.manifests[name].units})
        raise DataError(f"no source of this build has a unit {file}:{line}", why=f"its files: {', '.join(files)}",
                        next="name the file as the ledger does")  # fmt: skip

    def _unit_lines(self, file: str, line: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The outcomes of a source unit, with the name of its source."""
        for name in self.flow.sources:
            if name in self.manifests:
                yield from ((name, branch) for branch in self._outcome_lines(name, line=line, file=file))

    def texts_read_at(self, reference: str) -> list[str]:
        """The texts of the rows from the unit ``file:line``; none for the id of a row."""
        return [row_text(row) for _, row in self.rows_read_at(reference)]

    def rows_read_at(self, reference: str) -> list[tuple[str, Row]]:
        """The rows from the unit ``file:line`` with their sources; none for the id of a row."""
        unit = _unit(reference)
        ids = [branch["out"] for _, branch in self._unit_lines(*unit) if branch["out"]] if unit else []
        rows = self._rows_by_id(set(ids))
        return [rows[row] for row in ids if row in rows]

    def _branches(self, node: str, row: str, path: tuple[str, ...]) -> Iterator[TracedBranch]:
        if node in self.flow.items:
            yield TracedBranch(path, "item", detail=row)
            return
        ended, readers = True, list[str]()
        for name, inputs in self.flow.steps.items():
            for port, mode, names in inputs:
                if node not in names:
                    continue
                if mode in ("parent", "lookup"):
                    readers.append(name)
                    continue
                ended = False
                if name not in self.manifests:
                    yield TracedBranch((*path, name), "not built yet")
                elif mode == "each":
                    yield from self._branches_at_step(name, row, (*path, name))
                else:
                    yield from self._branch_of_use(name, port, row, (*path, name))
        if ended:
            end = f"{', '.join(readers)} look{'s' if len(readers) == 1 else ''} it up" if readers else ""
            yield TracedBranch(path, "kept", detail=f"{row}; {end or 'no step takes it further'}")

    def _branches_at_step(self, name: str, row: str, path: tuple[str, ...]) -> Iterator[TracedBranch]:
        for branch in self._outcome_lines(name, row=row, port="each"):
            if branch["outcome"] == "kept":
                yield from self._branches(name, branch["out"], path)
            else:
                yield self._ended_branch(name, branch, path)

    def _branch_of_use(self, name: str, port: str, row: str, path: tuple[str, ...]) -> Iterator[TracedBranch]:
        branches = self._outcome_lines(name, row=row, port=port)
        if branches:
            yield self._ended_branch(name, branches[0], path)
            return
        children = [child for part in self._row_files(name) for child in _children(part, row)]
        yield TracedBranch(path, "used", detail=f"{port} of {', '.join(children)}")

    def _ended_branch(self, name: str, branch: Mapping[str, Any], path: tuple[str, ...]) -> TracedBranch:
        sentence = self.manifests[name].reasons.get(branch["reason"], "")
        return TracedBranch(path, branch["outcome"].replace("_", " "), branch["reason"], branch["detail"], sentence)

    def trace(self, reference: str) -> list[tuple[str, Row]]:
        """A row and its ancestors with the steps that made them, in reverse flow order; DataError if it is unknown.

        None for a source unit ``file:line``.
        """
        if _unit(reference) is not None:
            return []
        row = self._rows_by_id({reference}).get(reference)
        if row is None:
            raise self._unknown_row_error(reference)
        rows = self._rows_by_id(set(row[1].parents))
        ancestors = [rows[parent] for parent in row[1].parents if parent in rows]
        flow = list(self.flow.steps)
        return [row, *sorted(ancestors, key=lambda step_and_row: -flow.index(step_and_row[0]))]

    def uses_of(self, row: str) -> list[tuple[str, dict[str, Any]]]:
        """The outcomes that a row had in each step that takes rows one by one, with the names of the steps."""
        return [
            (name, line) for name, inputs in self.flow.steps.items() if name in self.manifests
            if any(mode == "each" for _, mode, _ in inputs)
            for line in self._outcome_lines(name, row=row, port="each")
        ]  # fmt: skip

    def rows_named(self, ids: Set[str]) -> dict[str, tuple[str, Row]]:
        """The rows of these ids that there are, each with the first step that has it."""
        return self._rows_by_id(ids)

    def first_rows(self, step: str, count: int) -> tuple[Manifest, list[Row]]:
        """The manifest and the first rows of a step; DataError if it is unknown or not built."""
        if step not in self.flow.steps:
            why = f"this recipe has: {', '.join(self.flow.steps)}"
            hint = did_you_mean(step, list(self.flow.steps)) or "name one of these"
            raise DataError(f"there is no step or source {step!r}", why=why, next=hint)
        if step not in self.manifests:
            raise DataError(f"step {step!r} is not built yet", next="build first, with the same arguments")
        cls = row_class(self.manifests[step].row)
        rows: list[Row] = []
        for part in self._row_files(step):
            first = read_slice(part, schema_of(cls), 0, count - len(rows))
            rows += [cls.model_validate(data) for data in first.to_pylist()]
            if len(rows) >= count:
                break
        return self.manifests[step], rows

    def _rows_by_id(self, rows: Set[str]) -> dict[str, tuple[str, Row]]:
        """The existing rows of these ids, each with the first step that has it."""
        rows_by_id: dict[str, tuple[str, Row]] = {}
        for name in dict.fromkeys(name for row in sorted(rows) for name in self._likely_steps(row)):
            if missing := rows - rows_by_id.keys():
                cls = row_class(self.manifests[name].row)
                for row, (part, position) in self._row_positions(name, missing).items():
                    data = read_slice(part, schema_of(cls), position, 1).to_pylist()[0]
                    rows_by_id[row] = name, cls.model_validate(data)
        return rows_by_id

    def _likely_steps(self, row: str) -> list[str]:
        """The steps in flow order, first those whose kind of row the id names."""
        names = {name: row_class(manifest.row).name for name, manifest in self.manifests.items()}
        return sorted(names, key=lambda name: not row.startswith(f"{names[name]}-"))

    def _row_positions(self, name: str, rows: Set[str]) -> dict[str, tuple[Path, int]]:
        """The file and position of the rows of these ids in a step."""
        files, indexed = self._row_files(name), self._indexed(name, "id", rows)
        if indexed is not None:
            return {row: (files[places[0][0]], places[0][1]) for row, places in indexed.items()}
        positions: dict[str, tuple[Path, int]] = {}
        wanted = pa.array(sorted(rows), pa.string())
        for part in files:
            ids = combined_column(read_columns(part, ["id"]), "id")
            for position in _true_positions(pc.is_in(ids, value_set=wanted)):
                positions[ids[position].as_py()] = part, position
            if len(positions) == len(rows):
                break
        return positions

    def _row_files(self, name: str) -> tuple[Path, ...]:
        manifest = self.manifests[name]
        return self.store.parts(manifest) if self._compares else self.store.part_files(manifest)[0]

    def _outcome_files(self, name: str) -> tuple[Path, ...]:
        manifest = self.manifests[name]
        return self.store.outcome_parts(manifest) if self._compares else self.store.part_files(manifest)[1]

    def _outcome_lines(self, name: str, **values: str | int) -> list[dict[str, Any]]:
        """The branches of a step whose outcomes have these values."""
        asked = (name, *sorted(values.items()))
        if asked in self._asked:
            return self._asked[asked]
        lines = list[dict[str, Any]]()
        for part, positions in self._outcome_places(name, values):
            near: list[dict[str, Any]] = read_part(part, OUTCOME_SCHEMA).take(positions).to_pylist()
            lines += [line for line in near if all(line[column] == value for column, value in values.items())]
        if len(self._asked) < _MOST_KEPT:
            self._asked[asked] = lines
        return lines

    def _outcome_places(self, name: str, values: Mapping[str, str | int]) -> Iterator[tuple[Path, list[int]]]:
        """Each file with outcomes that may have these values, and their positions; by the index if there is one."""
        files = self._outcome_files(name)
        row = values.get("row")
        indexed = self._indexed(name, "row", {row}) if isinstance(row, str) else None
        if indexed is not None:
            places = next(iter(indexed.values()), ())
            for part in sorted({part for part, _ in places}):
                yield files[part], [line for at, line in places if at == part]
            return
        compute = cast("Any", pc)
        for part in files:
            if not all(may_hold(part, column, (values[column],)) for column in ("line", "file") if column in values):
                continue
            columns = read_columns(part, list(values))
            masks = [compute.equal(combined_column(columns, column), value) for column, value in values.items()]
            if positions := _true_positions(functools.reduce(compute.and_, masks)):
                yield part, positions

    def _indexed(
        self, name: str, column: Literal["id", "row"], ids: Set[str]
    ) -> Mapping[str, Sequence[tuple[int, int]]] | None:
        return None if self._index is None else self._index.places(self.manifests[name], column, ids)

    def _unknown_row_error(self, row: str) -> DataError:
        return DataError(
            f"no row of this build has the id {row!r}",
            why=f"{len(self.manifests)} steps of {self.store.folder} searched",
            next="ids are in items.jsonl, candidates.jsonl and ledger.tsv; a source unit is named FILE:LINE",
        )


def _unit(reference: str) -> tuple[str, int] | None:
    """The file and the line of a source unit; None for the id of a row."""
    file, _, line = reference.rpartition(":")
    return (file, int(line)) if file and line.isdigit() else None


def _true_positions(mask: Any) -> list[int]:
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist()


def _children(part: Path, row: str) -> list[str]:
    """The ids of the rows in a file with `row` among their parents."""
    table, compute = read_columns(part, ["id", "parents"]), pc
    lists: Any = combined_column(table, "parents")
    owners: Any = compute.call_function("list_parent_indices", [lists])
    children = owners.filter(compute.call_function("equal", [lists.flatten(), pa.scalar(row)]))
    return [str(child) for child in combined_column(table, "id").take(children.unique()).to_pylist()]
