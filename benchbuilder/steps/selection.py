"""Keeps some rows as they are: a sample, or one of several equal rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.annotation import proportional_sample
from benchbuilder.config import StepSpec
from benchbuilder.core import (
    DataError,
    Dropped,
    GatherResult,
    Kept,
    Outcome,
    OutcomeBatch,
    Row,
    SpecIssue,
    Table,
    column_names,
    combined_column,
    constant_column,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.columns import strip_texts


class SampleSpec(StepSpec):
    """`n` rows go on; with ``null``, all.

    With `by`, a dotted column (``payload.department``), the sample is proportional to its values.
    """

    n: Annotated[int | None, Field(ge=1)] = None
    by: str | None = None


class Sample(Gather):
    """Keeps `n` rows as they are, drawn by the recipe's seed and their ids only.

    A larger sample contains most of a smaller one. Rows in the table of the port `without`, and ancestors of its rows,
    are not drawn again: the samples of two steps have nothing in common.
    """

    kind: ClassVar[str] = "sample"
    spec_class: ClassVar[type[StepSpec]] = SampleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row), "without": Port(Row, mode="lookup", optional=True)}
    reasons: ClassVar[Mapping[str, str]] = {
        "not_drawn": "Not drawn for the sample; `n` is its size.",
        "drawn_elsewhere": "Another sample has the row, and this one must have nothing in common with it.",
    }

    spec: SampleSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """A column `by` that the rows do not have."""
        known = column_names(rows["each"])
        if self.spec.by is not None and self.spec.by not in known:
            yield SpecIssue("by", "the rows have no such column", self.spec.by, known)

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Every row, kept or dropped, in the order of the input."""
        table, drawn_rows = tables["each"], tables.get("without")
        taken: set[str] = set()
        if drawn_rows is not None:
            taken = {*drawn_rows.ids(), *(name for parents in drawn_rows.column("parents") for name in parents)}
        ids = table.ids()
        groups = [""] * len(ids) if self.spec.by is None else [str(value) for value in table.column(self.spec.by)]
        free = [(name, group) for name, group in zip(ids, groups, strict=True) if name not in taken]
        size = len(free) if self.spec.n is None else self.spec.n
        drawn = dict(proportional_sample(
            free, size, name=lambda pair: pair[0], group=lambda pair: pair[1], seed=self.context.seed
        ))  # fmt: skip

        def outcome(row: Row) -> Outcome:
            return Kept(row) if row.id in drawn else Dropped("drawn_elsewhere" if row.id in taken else "not_drawn")

        return GatherResult([(row.id, [outcome(row)]) for row in table])


_compute: Any = pc
_WINDOW = 65_536


class DeduplicateSpec(StepSpec):
    """Two rows are duplicates if they agree in all `fields` (name -> dotted column).

    The row whose partition comes first in `prefer` is kept (unlisted partitions come last), and among these the first
    row.
    """

    fields: Annotated[dict[str, str], Field(min_length=1)]
    prefer: tuple[str, ...] = ()


class Deduplicate(Gather):
    """Drops rows that are equal in all fields, and names the kept row.

    Values are compared exactly, except for white space at their ends and the Unicode normal form. Kept rows stay as
    they are.
    """

    kind: ClassVar[str] = "deduplicate"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = DeduplicateSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row)}
    reasons: ClassVar[Mapping[str, str]] = {"duplicate": "An equal row is kept."}

    spec: DeduplicateSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Fields with a column that the rows do not have."""
        known = column_names(rows["each"])
        for name, path in self.spec.fields.items():
            if path not in known:
                yield SpecIssue(f"fields.{name}", "the rows have no such column", path, known)

    def gather(self, tables: Mapping[str, Table[Any]]) -> OutcomeBatch:
        """Every row, kept or dropped, in the order of the input."""
        table = tables["each"]
        stays = self._kept_positions(table)
        kept = stays == np.arange(len(table))
        lost = pa.array(stays[~kept])
        ids, origins = combined_column(table.arrow, "id"), table.arrow.select(["origin"])
        file, line = (combined_column(origins, f"origin.{name}").take(lost) for name in ("file", "line"))
        parts = [f"same {', '.join(self.spec.fields)} as ", ids.take(lost), " (", file, ":", line.cast(pa.string()),
                 ")"]  # fmt: skip
        mask, empty = pa.array(kept), constant_column("", len(table))
        details = _compute.replace_with_mask(empty, pa.array(~kept), _compute.binary_join_element_wise(*parts, ""))
        outcomes = _compute.if_else(mask, "kept", "dropped")
        reasons = _compute.if_else(mask, "", "duplicate")
        rows = Table(table.arrow if kept.all() else table.arrow.filter(mask), table.row)
        return OutcomeBatch(pa.array(np.arange(len(table))), empty, outcomes, reasons, details, rows)

    def _kept_positions(self, table: Table[Any]) -> Any:
        """For each row, the position of the kept one among its duplicates."""
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
    """The values at dotted `path`, prepared for the comparison."""
    if path not in column_names(row):
        raise DataError(
            f"rows of {row.name!r} have no column {path!r}",
            where=path,
            next="name a column of the rows in the step's `fields`, with dots into structs (payload.question)",
        )
    values: Any = combined_column(table, path)
    if pa.types.is_string(values.type):
        return strip_texts(values).fill_null("null")
    texts = [json.dumps(value, ensure_ascii=False, sort_keys=True) for value in values.to_pylist()]
    return pa.array(texts, pa.string())


def _hash_lines(columns: list[Any]) -> Any:
    """A hash of the values of each row, as two numbers."""
    parts = [part for texts in columns for part in (_compute.binary_length(texts).cast(pa.string()), ":", texts)]
    lines = _compute.binary_join_element_wise(*parts, "")
    digests = b"".join([hashlib.blake2b(line, digest_size=16).digest() for line in lines.cast(pa.binary()).to_pylist()])
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)
