"""Keep one of several rows that say the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    DataError,
    OutcomeBatch,
    Row,
    SpecIssue,
    Table,
    column_names,
    combined_column,
    constant_column,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.composing import strip_texts

_compute: Any = pc
_WINDOW = 65_536


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

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Fields that name a column which the rows do not have."""
        known = column_names(rows["each"])
        for name, path in self.spec.fields.items():
            if path not in known:
                yield SpecIssue(f"fields.{name}", "the rows have no such column", path, known)

    def gather(self, tables: Mapping[str, Table[Any]]) -> OutcomeBatch:
        """Every row, kept or dropped, in the order in which they came."""
        table = tables["each"]
        stays = self._kept_positions(table)
        kept = stays == np.arange(len(table))
        lost = pa.array(stays[~kept])
        ids, origins = combined_column(table.arrow, "id"), table.arrow.select(["origin"])
        where = [combined_column(origins, f"origin.{name}").take(lost) for name in ("file", "line")]
        told = [f"same {', '.join(self.spec.fields)} as ", ids.take(lost), " (", where[0], ":",
                where[1].cast(pa.string()), ")"]  # fmt: skip
        mask, empty = pa.array(kept), constant_column("", len(table))
        details = _compute.replace_with_mask(empty, pa.array(~kept), _compute.binary_join_element_wise(*told, ""))
        outcomes = _compute.if_else(mask, "kept", "dropped")
        reasons = _compute.if_else(mask, "", "duplicate")
        rows = Table(table.arrow if kept.all() else table.arrow.filter(mask), table.row)
        return OutcomeBatch(pa.array(np.arange(len(table))), empty, outcomes, reasons, details, rows)

    def _kept_positions(self, table: Table[Any]) -> Any:
        """For each row the place of the one that stays of those that say the same."""
        keys = np.concatenate([np.zeros((0, 2), np.uint64), *(
            _hash_lines([_comparison_values(table.row, part, path) for path in self.spec.fields.values()])
            for start in range(0, len(table), _WINDOW) if (part := table.arrow.slice(start, _WINDOW))
        )])  # fmt: skip
        partitions: Any = combined_column(table.arrow.select(["partition"]), "partition")
        order: Any = _compute.index_in(partitions, value_set=pa.array(self.spec.prefer, pa.string()))
        ranks = order.fill_null(len(self.spec.prefer)).to_numpy(zero_copy_only=False)
        sorted_by = np.lexsort((ranks, keys[:, 1], keys[:, 0]))
        begins = np.ones(len(keys), bool)
        begins[1:] = (keys[sorted_by][1:] != keys[sorted_by][:-1]).any(axis=1)
        stays = np.empty(len(keys), np.int64)
        stays[sorted_by] = sorted_by[begins][np.cumsum(begins) - 1]
        return stays


def _comparison_values(row: type[Row], table: pa.Table, path: str) -> Any:
    """The values at dotted `path` in the form in which they are compared."""
    if path not in column_names(row):
        raise DataError(
            f"rows of {row.name!r} have no column {path!r}",
            where=path,
            next="name a column of the rows in the step's `fields`, with dots into structs (payload.question)",
        )
    values: Any = combined_column(table, path)
    if pa.types.is_string(values.type):
        return strip_texts(values).fill_null("null")
    told = [json.dumps(value, ensure_ascii=False, sort_keys=True) for value in values.to_pylist()]
    return pa.array(told, pa.string())


def _hash_lines(columns: list[Any]) -> Any:
    """A hash of the values of each line, as two numbers."""
    parts = [part for texts in columns for part in (_compute.binary_length(texts).cast(pa.string()), ":", texts)]
    lines = _compute.binary_join_element_wise(*parts, "")
    digests = b"".join([hashlib.blake2b(line, digest_size=16).digest() for line in lines.cast(pa.binary()).to_pylist()])
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)
