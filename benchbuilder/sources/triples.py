"""The source kind `triples`: a table of (head, relation, tail)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

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
from benchbuilder.sources.columnar.columns import ColumnBatch
from benchbuilder.sources.columnar.duplicates import Drops, UnitBatch, id_digests
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.tables import Column, TableFormat, TableSpec, cell_text
from benchbuilder.sources.unit_source import READING_REASONS, RowSource

_FACT = Fact[Triple]
_TEXTS = ("head", "relation", "tail", "head_type", "tail_type")
_NEEDED = ("head", "relation", "tail")


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
    """Delimited text, Parquet or JSON with one triple per row."""


class Triples(RowSource[TriplesSpec]):
    """Edges of a knowledge graph from a table. Head and tail have one term each."""

    kind: ClassVar[str] = "triples"
    spec_class: ClassVar[type[SourceSpec]] = TriplesSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "head_equals_tail": "Head and tail are the same entity.",
    }
    default_format: ClassVar[TableFormat | None] = "delimited"

    def columns(self) -> Sequence[Column]:
        """Head, relation and tail, and the types if the recipe names them."""
        c = self.spec.columns
        return [column for column in (c.head, c.relation, c.tail, c.head_type, c.tail_type) if column is not None]

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The fact of one row."""
        names = self._names()
        cells = dict.fromkeys(names, "")
        for name, value in zip(names, values, strict=True):
            cell = cell_text(value)
            if cell is None and value is not None:
                return Dropped("malformed", f"{name} is no text")
            if not cell and name in ("head", "relation", "tail"):
                return Dropped("missing_field", name)
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
        c = self.spec.columns
        typed = [name for name in ("head_type", "tail_type") if getattr(c, name) is not None]
        return ["head", "relation", "tail", *typed]


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
    for end in ("head", "tail") if separator else ():
        marked, before, after = cells[end].rpartition(separator)
        whole, cells = cells[end], {**cells, end: before.strip(), f"{end}_type": after.strip()}
        leave(~marked, "malformed", lambda row, end=end, w=whole: f"no {separator} in the {end} {w.text(row)[:80]!r}")
        leave(cells[end].is_empty, "missing_field", lambda _, end=end: end)
    leave(cells["head"].equal(cells["tail"]), "head_equals_tail", cells["head"].text)
    return drops, places, cells
