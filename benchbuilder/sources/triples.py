"""The source kind `triples`: a table of (head, relation, tail)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import (
    Dropped,
    Fact,
    ProducedBy,
    Row,
    Table,
    Triple,
    combined_column,
    constant_column,
    source_rows,
)
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.columnar.cells import Cells, Mask, Places
from benchbuilder.sources.columnar.columns import ColumnBatch, row_columns
from benchbuilder.sources.columnar.duplicates import Drops, UnitBatch, id_digests
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.tables import NO_VALUES, Column, RawRow, TableFormat, TableSpec, cell_text
from benchbuilder.sources.unit_source import READING_REASONS, RowSource

_FACT = Fact[Triple]
_TEXTS = ("head", "relation", "tail", "head_type", "tail_type")
_NEEDED = ("head", "relation", "tail")
NO_NAMES = (*sorted(NO_VALUES), "N/A", "n/a", "n.a.", "NULL", "null", "-", "--", "–", "—", "?")
"""What stands in a cell for no name."""


class TripleColumns(Spec):
    """The names of the columns."""

    head: Column
    relation: Column
    tail: Column
    head_type: Column | None = None
    tail_type: Column | None = None


class TripleMapping(Spec):
    """How the columns of a row become a triple."""

    columns: TripleColumns
    type_separator: str = ""
    """Separator of an entity and its type in head and tail, for instance ``@@`` (the last one counts)."""


class TriplesSpec(TripleMapping, TableSpec):
    """Delimited text, XLSX, Parquet or JSON with one triple per row, or with an entity per row (``as: table``)."""

    either: ClassVar[tuple[tuple[str, ...], ...]] = (("columns", "head"),)
    """As in `TripleColumns`: one of these is required; forms show the first."""

    as_: Annotated[Literal["rows", "table"], Field(alias="as")] = "rows"
    """Whether a row is a triple (``rows``, with `columns`), or an entity with a column for each relation (``table``,
    with `head` and `relations`). In a table, every cell is a unit; a cell with a list has a triple for each part."""
    columns: TripleColumns | None = None  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    head: Column | None = None
    """In a table, the column of the entities."""
    relations: dict[str, Annotated[str, Field(min_length=1)]] = {}
    """In a table, the name of the relation that each column states. The cells of the column are tails."""

    @model_validator(mode="after")
    def _one_layout(self) -> TriplesSpec:
        if self.as_ == "table":
            if self.columns is not None:
                raise ValueError("columns: only with `as: rows`; a table has head and relations")
            if self.head is None or not self.relations:
                raise ValueError("`as: table` needs head, the column of the entities, and relations, column: relation")
        elif self.columns is None:
            raise ValueError("name the columns head, relation and tail, or set `as: table` with head and relations")
        elif self.head is not None or self.relations:
            raise ValueError("head and relations: only with `as: table`")
        return self


class Triples(RowSource[TriplesSpec]):
    """Edges of a knowledge graph from a table. Head and tail have one term each."""

    kind: ClassVar[str] = "triples"
    spec_class: ClassVar[type[SourceSpec]] = TriplesSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "head_equals_tail": "Head and tail are the same entity.",
        "empty_cell": "The cell of a table is empty: the table states nothing of this relation.",
    }
    default_format: ClassVar[TableFormat | None] = "delimited"

    def columns(self) -> Sequence[Column]:
        """Head, relation and tail, and the types if the recipe names them; head and relations of a table."""
        if self._is_table():
            head: Any = self.spec.head
            return [head, *self.spec.relations]
        c: Any = self.spec.columns
        return [column for column in (c.head, c.relation, c.tail, c.head_type, c.tail_type) if column is not None]

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The triples of one file, in order; those of a table are numbered from 1."""
        rows = super().units(source_file)
        return _table_triples(rows, [*self.spec.relations.items()]) if self._is_table() else rows

    def column_batches(self, source_file: SourceFile) -> Iterator[ColumnBatch]:
        """The triples of one file by column, after a check of its head."""
        if not self._is_table():
            return super().column_batches(source_file)
        return row_columns(self._checked_units(source_file), len(_NEEDED))

    def _named_columns(self) -> dict[str, list[Column]]:
        if not self._is_table():
            return super()._named_columns()
        head, *columns = self.columns()
        return {"head": [head], **{str(column): [column] for column in columns}}

    def _is_table(self) -> bool:
        """Whether rows are entities. (The mapping of records of other kinds has no such key.)"""
        return getattr(self.spec, "as_", "") == "table"

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact of one row."""
        names = self._names()
        cells = dict.fromkeys(names, "")
        for name, value in zip(names, values, strict=True):
            cell = cell_text(value)
            if cell is None and value is not None:
                return Dropped("malformed", f"{name} is no text")
            if name in _NEEDED and (not cell or cell in NO_NAMES):
                return Dropped("missing_field", f"{name}: {cell}" if cell else name)
            cells[name] = cell or ""
        if self.spec.type_separator:
            for end in ("head", "tail"):
                name, mark, kind = cells[end].rpartition(self.spec.type_separator)
                if not mark:
                    return Dropped("malformed", f"no {self.spec.type_separator} in the {end} {cells[end][:80]!r}")
                if not (name := name.strip()):
                    return Dropped("missing_field", end)
                cells[end], cells[f"{end}_type"] = name, kind.strip()
        if cells["head"] == cells["tail"]:
            return Dropped("head_equals_tail", cells["head"])
        triple = Triple(**cells, head_terms=(cells["head"],), tail_terms=(cells["tail"],))
        return _FACT.build(payload=triple, **self.row_header(source_file, line))

    def unit_batches(self, source_file: SourceFile) -> Iterator[UnitBatch]:
        """The rows and drops of a file, built by column; the same as `make` for each unit."""
        for batch in self.column_batches(source_file):
            drops, places, cells = screen_triples(batch, self._names(), self.spec.type_separator)
            rows = self._make_rows(source_file, batch.lines[places], cells)
            yield UnitBatch(batch.lines, drops, places, rows, id_digests(combined_column(rows.arrow, "id")))

    def _make_rows(self, source_file: SourceFile, lines: Places, cells: Mapping[str, Cells]) -> Table[Any]:
        count = len(lines)
        texts = {name: cells[name].to_arrow() if name in cells else constant_column("", count) for name in _TEXTS}
        produced_by = ProducedBy(rule=self.kind, version=str(self.version))
        alone: Any = pa.array(np.arange(count + 1, dtype=np.int32))
        for end in ("head", "tail"):
            texts[f"{end}_terms"] = pa.ListArray.from_arrays(alone, texts[end])
        fields = {
            "payload": pa.StructArray.from_arrays([*texts.values()], [*texts]),
            "original": constant_column("", count),
        }
        return source_rows(_FACT, source_file.name, pa.array(lines), produced_by, self.language, self.name, fields)

    def _names(self) -> list[str]:
        if self._is_table():
            return list(_NEEDED)
        c: Any = self.spec.columns
        typed = [name for name in ("head_type", "tail_type") if getattr(c, name) is not None]
        return ["head", "relation", "tail", *typed]


def _table_triples(rows: Iterator[RawRow], relations: Sequence[tuple[str, str]]) -> Iterator[RawRow]:
    """The triples of the rows of a table (head, then a cell for each relation), numbered from 1."""
    number = itertools.count(1)
    for row in rows:
        if row.reason:
            yield RawRow(next(number), (), row.reason, row.detail)
            continue
        head, *cells = row.values
        for (column, relation), cell in zip(relations, cells, strict=True):
            for tail in cell if isinstance(cell, list) and cell else [cell]:
                if tail is None or tail == [] or (isinstance(tail, str) and not tail.strip()):
                    yield RawRow(next(number), (), "empty_cell", f"{column} of {str(head)[:80]!r}")
                else:
                    yield RawRow(next(number), [head, relation, tail])


def screen_triples(batch: ColumnBatch, names: Sequence[str], separator: str) -> tuple[Drops, Places, dict[str, Cells]]:
    """Split the units of a table into drops and valid triples (their positions and cells by name)."""
    drops, places = dict(batch.problems), batch.valid_places
    cells = {name: column.strip() for name, column in zip(names, batch.cells, strict=True)}

    def leave(wrong: Mask, reason: str, detail: Callable[[int], str]) -> None:
        nonlocal places, cells, odd
        if wrong.any():
            drops.update({int(places[row]): (reason, detail(row)) for row in np.flatnonzero(wrong).tolist()})
            places, cells = places[~wrong], {name: column.take(~wrong) for name, column in cells.items()}
            odd = {name: column[~wrong] for name, column in odd.items()}

    odd = {names[number]: column for number, column in batch.non_text.items()}
    for name in names:
        if name in odd:
            leave(odd[name], "malformed", lambda _, name=name: f"{name} is no text")
        if name in _NEEDED:
            leave(cells[name].is_empty, "missing_field", lambda _, name=name: name)
            said = cells[name]
            leave(
                said.is_one_of(map(str.encode, NO_NAMES)), "missing_field",
                lambda row, name=name, said=said: f"{name}: {said.text(row)}",
            )  # fmt: skip
    for end in ("head", "tail") if separator else ():
        marked, before, after = cells[end].rpartition(separator)
        whole, cells = cells[end], {**cells, end: before.strip(), f"{end}_type": after.strip()}
        leave(~marked, "malformed", lambda row, end=end, w=whole: f"no {separator} in the {end} {w.text(row)[:80]!r}")
        leave(cells[end].is_empty, "missing_field", lambda _, end=end: end)
    leave(cells["head"].equal(cells["tail"]), "head_equals_tail", cells["head"].text)
    return drops, places, cells
