"""What exporters read of a build: its tables and the counts of its steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from benchbuilder.core import Table
from benchbuilder.exporters import FinishedBuild, StepCounts
from benchbuilder.models import Receipt
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.shards.worker import TableFiles
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

_CACHED_ROWS = 50_000
"""Tables of up to so many rows are kept in memory for the next exporter."""


def finished_build(
    plan: Plan,
    store: Store,
    manifests: Mapping[str, Manifest],
    recipe_yaml: str,
    waiting: str = "",
    receipts: tuple[Receipt, ...] = (),
) -> FinishedBuild:
    """The view of a build that exporters get; its ledger must be written.

    Args:
        plan: The plan of the build.
        store: Where its steps are.
        manifests: The steps that are up to date, by name.
        recipe_yaml: The resolved recipe.
        waiting: What people still have to do; empty if nothing.
        receipts: What was asked of models and what it cost.
    """
    return FinishedBuild(
        tables=StepTables(store, manifests),
        step_counts=tuple(_step_counts(manifest, plan.nodes[name].inputs) for name, manifest in manifests.items()),
        recipe=plan.recipe.model_dump(mode="json", by_alias=True, exclude={"run"}, serialize_as_any=True),
        recipe_yaml=recipe_yaml,
        ledger=store.folder / "ledger.tsv",
        items=plan.recipe.items,
        state="waiting" if waiting else "done",
        waiting=waiting,
        receipts=receipts,
    )


def _step_counts(manifest: Manifest, inputs: Mapping[str, tuple[str, ...]]) -> StepCounts:
    return StepCounts(
        step=manifest.step,
        kind=manifest.kind,
        role=manifest.row.partition("[")[0],
        rows=manifest.rows,
        inputs=inputs,
        counts={(partition, outcome, reason): n for partition, outcome, reason, n in manifest.counts},
        units={(file, outcome, reason): n for file, outcome, reason, n in (*manifest.units, *manifest.auxiliary)},
        tallies={(tally, partition, key): n for tally, partition, key, n in manifest.tallies},
        notes=manifest.notes,
        reasons=manifest.reasons,
    )


class StepTables(Mapping[str, Table[Any]]):
    """The tables of committed steps by name, each read when it is first used."""

    def __init__(self, store: Store, manifests: Mapping[str, Manifest]) -> None:
        self._store, self._manifests = store, manifests
        self._cached: dict[str, Table[Any]] = {}

    def __getitem__(self, name: str) -> Table[Any]:
        if name not in self._cached:
            manifest = self._manifests[name]
            table = TableFiles(manifest.row, self._store.parts(manifest), self._store.cache).load()
            self._cached[name] = _CachedTable(table) if len(table) <= _CACHED_ROWS else table
        return self._cached[name]

    def __contains__(self, name: object) -> bool:
        return name in self._manifests  # without reading the table

    def __iter__(self) -> Iterator[str]:
        return iter(self._manifests)

    def __len__(self) -> int:
        return len(self._manifests)


class _CachedTable(Table[Any]):
    """A table that several exporters read: its rows are made once."""

    def __init__(self, table: Table[Any]) -> None:
        self.row = table.row
        self._table = table
        self._rows: list[Any] | None = None

    @property
    def arrow(self) -> pa.Table:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The rows as an Arrow table."""
        return self._table.arrow

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Any]:
        if self._rows is None:
            self._rows = list(self._table)
        return iter(self._rows)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows, or some columns of them, piece by piece."""
        return self._table.batches(names)

    def find(self, ids: Collection[str]) -> Table[Any]:
        """The rows of these ids."""
        return self._table.find(ids)
