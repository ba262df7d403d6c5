"""The tables of committed steps, each read when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchbuilder.core import Table
from benchbuilder.pipeline.shards.worker import StoredTable, TableFiles
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

_CACHED_BYTES = 8_000_000
"""The size of the tables whose rows are kept in memory for the next exporter; as objects they take many times that."""
_HELD_BYTES = 32_000_000
"""The size of the tables that are held in memory at all: an evaluation has many, each of them small."""


def stored_table(store: Store, manifest: Manifest, *, held: int | None = None) -> Table[Any]:
    """The rows of a committed step: few of them (or up to `held` bytes) in memory, more read piece by piece."""
    return TableFiles(manifest.row, store.parts(manifest), store.cache).load(held)


class StepTables(Mapping[str, Table[Any]]):
    """The tables of committed steps by name, each read when it is first used."""

    def __init__(self, store: Store, manifests: Mapping[str, Manifest]) -> None:
        self._store, self._manifests = store, manifests
        self._cached: dict[str, Table[Any]] = {}
        self._room, self._unheld = _CACHED_BYTES, _HELD_BYTES

    def __getitem__(self, name: str) -> Table[Any]:
        if name not in self._cached:
            table = stored_table(self._store, self._manifests[name], held=self._unheld)
            self._unheld -= 0 if isinstance(table, StoredTable) else table.arrow.nbytes
            self._cached[name] = self._with_rows(table)
        return self._cached[name]

    def _with_rows(self, table: Table[Any]) -> Table[Any]:
        """The table; one that keeps its rows while there is room."""
        if isinstance(table, StoredTable) or table.arrow.nbytes > self._room:
            return table
        self._room -= table.arrow.nbytes
        return _CachedTable(table)

    def __contains__(self, name: object) -> bool:
        return name in self._manifests  # without reading the table

    def __iter__(self) -> Iterator[str]:
        return iter(self._manifests)

    def __len__(self) -> int:
        return len(self._manifests)


class _CachedTable(Table[Any]):
    """A table that several exporters read: its rows are made once."""

    def __init__(self, table: Table[Any]) -> None:
        super().__init__(table.arrow, table.row)
        self._rows: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._rows is None:
            self._rows = list(super().__iter__())
        return iter(self._rows)
