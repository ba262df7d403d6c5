"""The tables of committed steps, each read when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchbuilder.core import Table
from benchbuilder.pipeline.shards.worker import StoredTable, TableFiles
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

_CACHED_BYTES = 8_000_000
"""The largest table whose rows are kept in memory for the next exporter; as objects they take many times that."""


class StepTables(Mapping[str, Table[Any]]):
    """The tables of committed steps by name, each read when it is first used."""

    def __init__(self, store: Store, manifests: Mapping[str, Manifest]) -> None:
        self._store, self._manifests = store, manifests
        self._cached: dict[str, Table[Any]] = {}

    def __getitem__(self, name: str) -> Table[Any]:
        if name not in self._cached:
            manifest = self._manifests[name]
            table = TableFiles(manifest.row, self._store.parts(manifest), self._store.cache).load()
            self._cached[name] = _CachedTable(table) if _is_small(table) else table
        return self._cached[name]

    def __contains__(self, name: object) -> bool:
        return name in self._manifests  # without reading the table

    def __iter__(self) -> Iterator[str]:
        return iter(self._manifests)

    def __len__(self) -> int:
        return len(self._manifests)


def _is_small(table: Table[Any]) -> bool:
    return not isinstance(table, StoredTable) and table.arrow.nbytes <= _CACHED_BYTES


class _CachedTable(Table[Any]):
    """A table that several exporters read: its rows are made once."""

    def __init__(self, table: Table[Any]) -> None:
        super().__init__(table.arrow, table.row)
        self._rows: list[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self._rows is None:
            self._rows = list(super().__iter__())
        return iter(self._rows)
