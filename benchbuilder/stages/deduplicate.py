"""Keep one of several rows that say the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.errors import DataError
from benchbuilder.ports.stage import Complaint, Gather, Port
from benchbuilder.records.columns import column_names
from benchbuilder.records.envelope import Row
from benchbuilder.records.fates import Dropped, Fate, Gathered, Kept
from benchbuilder.records.table import Table
from benchbuilder.spec.base import StepSpec
from benchbuilder.text.normalise import compose


class DeduplicateSpec(StepSpec):
    """`fields` (name -> dotted column) is what two rows must share to be the same.

    Of such rows the one whose partition stands first in `prefer` stays (unlisted partitions come last), then the one
    that comes first.
    """

    fields: Annotated[dict[str, str], Field(min_length=1)]
    prefer: tuple[str, ...] = ()


class Deduplicate(Gather):
    """Drops rows that are equal in all fields, naming the row that stays.

    Values are compared exactly, but for white space at their ends and the form of Unicode. Kept rows pass as the very
    rows that they are.
    """

    kind: ClassVar[str] = "deduplicate"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = DeduplicateSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row)}
    output: ClassVar[type[Row] | None] = None
    reasons: ClassVar[Mapping[str, str]] = {"duplicate": "Another row that says the same stays."}

    spec: DeduplicateSpec

    def complaints(self, rows: Mapping[str, type[Row]]) -> Iterable[Complaint]:
        """Fields that name a column which the rows do not have."""
        known = column_names(rows["each"])
        for name, column in self.spec.fields.items():
            if column not in known:
                yield Complaint(f"fields.{name}", "the rows have no such column", column, known)

    def gather(self, tables: Mapping[str, Table[Any]]) -> Gathered:
        """Every row, kept or dropped, in the order in which they came."""
        table = tables["each"]
        keys = self._keys(table)
        partitions: list[str] = table.column("partition")
        order = {partition: rank for rank, partition in enumerate(self.spec.prefer)}
        winner: dict[tuple[str, ...], tuple[int, int]] = {}
        for index, (key, partition) in enumerate(zip(keys, partitions, strict=True)):
            rank = (order.get(partition, len(order)), index)
            winner[key] = min(rank, winner.get(key, rank))
        ids, origins = table.ids(), table.column("origin")
        shared = ", ".join(self.spec.fields)
        fates: list[tuple[str, list[Fate]]] = []
        for index, row in enumerate(table):
            kept = winner[keys[index]][1]
            if kept == index:
                fates.append((row.id, [Kept(row)]))
                continue
            where = f"{origins[kept]['file']}:{origins[kept]['line']}"
            fates.append((row.id, [Dropped("duplicate", f"same {shared} as {ids[kept]} ({where})")]))
        return Gathered(fates)

    def _keys(self, table: Table[Any]) -> list[tuple[str, ...]]:
        columns = [_column(table, path) for path in self.spec.fields.values()]
        return list(zip(*columns, strict=True))


def _column(table: Table[Any], path: str) -> list[str]:
    """The values at dotted `path` in the form in which they are compared."""
    try:
        values = table.column(path)
    except KeyError as error:
        raise DataError(
            f"rows of {table.row.name!r} have no column {path!r}",
            where=path,
            next="name a column of the rows in the step's `fields`, with dots into structs (payload.question)",
        ) from error
    return [
        compose(value.strip()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for value in values
    ]
