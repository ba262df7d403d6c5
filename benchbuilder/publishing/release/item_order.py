"""Goes through the items of a build one at a time, in their own order or in another, and chooses some of them."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core import Table, flat_records, schema_of
from benchbuilder.exporters import windows_in_order
from benchbuilder.publishing.release.items import TEST, SharedItem, shared_item
from benchbuilder.publishing.release.material import ReleaseMaterial, TaskMaterial
from benchbuilder.publishing.release.records import plain_name


def items_of_material(material: ReleaseMaterial) -> Iterator[SharedItem]:
    """Every item of a build, task by task."""
    for task in material.tasks:
        yield from _shared(items_of_task(task), task)


def items_in_order(material: ReleaseMaterial, places: Mapping[str, Any], folder: Path) -> Iterator[SharedItem]:
    """The items that have a place, by their places; rows of a large build go through files in `folder`."""
    streams = [_placed(task, places, folder) for task in material.tasks]
    return heapq.merge(*streams, key=lambda item: places[item.id])


def _placed(task: TaskMaterial, places: Mapping[str, Any], folder: Path) -> Iterator[SharedItem]:
    table = items_of_task(task)
    placed = ((places[name], position) for position, name in enumerate(table.ids()) if name in places)
    positions = np.array([position for _, position in sorted(placed)], np.int64)
    for window in windows_in_order(table, positions, folder):
        yield from _shared(window, task)


def _shared(table: Table[Any], task: TaskMaterial) -> Iterator[SharedItem]:
    for record in flat_records(table):
        yield shared_item({plain_name(name): value for name, value in record.items()}, task.loaded.task, TEST)


def items_of_task(task: TaskMaterial) -> Table[Any]:
    """The items of a task."""
    return task.finished.tables[task.finished.items]


def chosen_items(task: TaskMaterial, ids: Collection[str]) -> Table[Any]:
    """The items of a task with these ids, in their order."""
    table = items_of_task(task)
    chosen = np.fromiter((name in ids for name in table.ids()), np.bool_, len(table))
    return table if chosen.all() else ChosenRows(table, chosen)


class ChosenRows(Table[Any]):
    """Some rows of a table, which are read whenever they are used; `chosen` says of each row whether it is one."""

    def __init__(self, table: Table[Any], chosen: NDArray[np.bool_]) -> None:
        self.row = table.row
        self._table, self._chosen, self._count = table, chosen, int(chosen.sum())

    @property
    def arrow(self) -> pa.Table:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All of the rows, in memory."""
        return pa.concat_tables([schema_of(self.row).empty_table(), *self.batches()])

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """About how many bytes the rows take."""
        return self._table.nbytes * self._count // max(len(self._table), 1)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows, or some columns of them, piece by piece."""
        first = 0
        for piece in self._table.batches(names):
            yield piece.filter(pa.array(self._chosen[first : first + piece.num_rows]))
            first += piece.num_rows

    def find(self, ids: Collection[str], name: str = "id") -> Table[Any]:
        """The rows of these ids, or of these values of another column, in their order here."""
        found, own = self._table.find(ids, name), set(self.ids())
        return found.find([one for one in found.ids() if one in own])
