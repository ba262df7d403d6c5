"""Keeps some rows as they are: a sample, or one of several equal rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from benchbuilder.annotation import proportional_sample
from benchbuilder.config import StepSpec
from benchbuilder.core import (
    DataError,
    FilterResult,
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

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult:
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
        del free, groups
        reasons = [None if name in drawn else "drawn_elsewhere" if name in taken else "not_drawn" for name in ids]
        return FilterResult(reasons, constant_column("", len(ids)))


_compute: Any = pc


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

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult:
        """Every row, kept or dropped, in the order of the input."""
        table = tables["each"]
        stays = self._kept_positions(table)
        mask = stays != np.arange(len(stays))
        lost: Any = pa.array(mask)
        empty = constant_column("", len(stays))
        details = _compute.replace_with_mask(empty, lost, self._details(table, stays[mask]))
        nothing: Any = pa.scalar(None, pa.string())
        return FilterResult(_compute.if_else(lost, "duplicate", nothing), details)

    def _details(self, table: Table[Any], kept: NDArray[np.int64]) -> pa.Array[Any]:
        """What names the rows at the positions `kept`, and what they share with their duplicates."""
        wanted, back = np.unique(kept, return_inverse=True)
        texts, first = [pa.array([], pa.string())], 0
        for batch in table.batches(["id", "origin"]):
            low, high = np.searchsorted(wanted, [first, first + batch.num_rows])
            some: Any = batch.take(pa.array(wanted[low:high] - first, pa.int64()))
            ids, file, line = (combined_column(some, name) for name in ("id", "origin.file", "origin.line"))
            parts = [f"same {', '.join(self.spec.fields)} as ", ids, " (", file, ":", line.cast(pa.string()), ")"]
            texts.append(_compute.binary_join_element_wise(*parts, ""))
            first += batch.num_rows
        order: Any = pa.array(back.reshape(-1), pa.int64())
        return pa.concat_arrays(texts).take(order)

    def _kept_positions(self, table: Table[Any]) -> NDArray[np.int64]:
        """For each row, the position of the kept one among its duplicates."""
        keys, ranks = [np.zeros((0, 2), np.uint64)], [np.zeros(0, np.int64)]
        paths, prefer = tuple(self.spec.fields.values()), pa.array(self.spec.prefer, pa.string())
        _check_columns(table.row, paths)
        for batch in table.batches(["partition", *paths]):
            keys.append(_hash_lines([_comparison_values(batch, path) for path in paths]))
            order: Any = _compute.index_in(combined_column(batch, "partition"), value_set=prefer)
            ranks.append(order.fill_null(len(self.spec.prefer)).to_numpy(zero_copy_only=False))
        return _first_of_equal(np.concatenate(keys), np.concatenate(ranks))


def _first_of_equal(keys: NDArray[np.uint64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each line of `keys`, the position of the equal one with the lowest rank, and of these the first."""
    sorted_by = np.lexsort((ranks, keys[:, 1], keys[:, 0]))
    begins = np.ones(len(keys), bool)
    begins[1:] = (keys[sorted_by][1:] != keys[sorted_by][:-1]).any(axis=1)
    stays = np.empty(len(keys), np.int64)
    stays[sorted_by] = sorted_by[begins][np.cumsum(begins) - 1]
    return stays


def _check_columns(row: type[Row], paths: Iterable[str]) -> None:
    """DataError if rows do not have a column at a dotted path."""
    for path in paths:
        if path not in column_names(row):
            raise DataError(
                f"rows of {row.name!r} have no column {path!r}",
                where=path,
                next="name a column of the rows in the step's `fields`, with dots into structs (payload.question)",
            )


def _comparison_values(table: pa.Table, path: str) -> Any:
    """The values at dotted `path`, prepared for the comparison."""
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
