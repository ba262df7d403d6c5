"""The source kind `corpus`: the texts of a knowledge base."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.config import Spec
from benchbuilder.core import (
    Dropped,
    GivenParquet,
    Passage,
    ProducedBy,
    Row,
    Table,
    combined_column,
    constant_column,
    content_digests,
    source_rows,
)
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.columnar.cells import Cells
from benchbuilder.sources.columnar.columns import ColumnBatch, row_columns
from benchbuilder.sources.columnar.duplicates import UnitBatch, id_digests
from benchbuilder.sources.formats.files import SourceFile
from benchbuilder.sources.formats.tables import Column, RawRow, TableFormat, TableSpec, cell_text
from benchbuilder.sources.unit_source import READING_REASONS, RowSource

_compute: Any = pc
_DIGEST_BYTES = 16


class CorpusColumns(Spec):
    """The names of the fields; a plain text has none, its title and document are the file name."""

    text: Column = "text"
    title: Column | None = None
    document: Column | None = None


class CorpusMapping(Spec):
    """How the fields of a record make a passage."""

    columns: CorpusColumns = CorpusColumns()


class CorpusSpec(CorpusMapping, TableSpec):
    """Plain text by line, block or file, or records with one text each."""


class Corpus(RowSource[CorpusSpec]):
    """Passages (pages or paragraphs) of one knowledge base, named after the source.

    A record without a document is its own document, named by file and number.
    """

    kind: ClassVar[str] = "corpus"
    spec_class: ClassVar[type[SourceSpec]] = CorpusSpec
    output: ClassVar[type[Row]] = Passage
    reasons: ClassVar[Mapping[str, str]] = READING_REASONS
    default_format: ClassVar[TableFormat | None] = "text"

    def columns(self) -> Sequence[Column]:
        """Text, and title and document if the recipe names them."""
        c = self.spec.columns
        return [column for column in (c.text, c.title, c.document) if column is not None]

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The units of one file; a text that is a list of texts, such as sentences, is one text."""
        for raw in super().units(source_file):
            parts: Any = raw.values[0] if raw.values else None
            if isinstance(parts, list) and parts and all(isinstance(part, str) for part in cast("list[Any]", parts)):
                yield raw._replace(values=[" ".join(cast("list[str]", parts)), *raw.values[1:]])
            else:
                yield raw

    def column_batches(self, source_file: SourceFile) -> Iterator[ColumnBatch]:
        """The cells of one file by column; lists of texts in Parquet are read row by row."""
        if self.format_of(source_file) == "parquet":
            first, text = next(self.units(source_file), None), self.spec.columns.text
            with GivenParquet(source_file.path) as file:
                types = file.schema
            if first is not None and text in types.names and pa.types.is_list(types.field(str(text)).type):
                return row_columns(self._checked_units(source_file), len(self.columns()))
        return super().column_batches(source_file)

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The passage of one unit."""
        cells: dict[str, str] = {}
        for name, value in zip(self._names(), values, strict=True):
            cell = cell_text(value)
            if cell is None and value is not None:
                return Dropped("malformed", f"{name} is no text")
            cells[name] = cell or ""
        if not cells["text"]:
            return Dropped("missing_field", "text")
        if self._is_text(source_file):
            cells |= {"title": source_file.path.stem, "document": source_file.path.stem}
        document = cells.get("document") or f"{source_file.path.name}:{line}"
        return Passage.build(
            base=self.name, document=document, title=cells.get("title", ""), text=cells["text"],
            **self.row_header(source_file, line),
        )  # fmt: skip

    def duplicate_key(self, row: Row) -> Hashable:
        """The id, or title and text where the record names no document."""
        assert isinstance(row, Passage)
        numbered = row.document == f"{PurePosixPath(row.origin.file).name}:{row.origin.line}"
        return (row.title, row.text) if numbered else row.id

    def unit_batches(self, source_file: SourceFile) -> Iterator[UnitBatch]:
        """The rows and drops of a file, built by column; the same as `make` for each unit."""
        for batch in self.column_batches(source_file):
            yield self._make_batch(batch, source_file)

    def _make_batch(self, batch: ColumnBatch, source_file: SourceFile) -> UnitBatch:
        names, drops = self._names(), dict(batch.problems)
        cells = {name: column.strip() for name, column in zip(names, batch.cells, strict=True)}
        problems = [(mask, "malformed", f"{names[number]} is no text") for number, mask in batch.non_text.items()]
        kept = np.ones(len(batch.valid_places), bool)
        for wrong, reason, detail in (*problems, (cells["text"].is_empty, "missing_field", "text")):
            drops.update((place, (reason, detail)) for place in batch.valid_places[wrong & kept].tolist())
            kept &= ~wrong
        places = batch.valid_places[kept]
        texts = {name: column.take(kept) for name, column in cells.items()}
        rows, digests = self._passages(source_file, batch.lines[places], texts)
        return UnitBatch(batch.lines, drops, places, rows, digests)

    def _passages(
        self, source_file: SourceFile, lines: NDArray[np.int64], cells: Mapping[str, Cells]
    ) -> tuple[Table[Any], NDArray[np.uint8]]:
        """The passages of units with a text, and the digest of their duplicate keys."""
        count, numbers = len(lines), pa.array(lines)
        stem = constant_column(source_file.path.stem if self._is_text(source_file) else "", count)
        texts = {name: cells[name].to_arrow() if name in cells else stem for name in ("text", "title", "document")}
        if self._is_text(source_file):
            texts |= {"title": stem, "document": stem}
        own = _numbered_documents(source_file.path.name, numbers)
        texts["document"] = _compute.if_else(_compute.equal(texts["document"], ""), own, texts["document"])
        produced_by = ProducedBy(rule=self.kind, version=str(self.version))
        fields = {"base": constant_column(self.name, count), **texts}
        rows = source_rows(Passage, source_file.name, numbers, produced_by, self.language, self.name, fields)
        digests = np.zeros((count, _DIGEST_BYTES), np.uint8)
        ids = id_digests(combined_column(rows.arrow, "id"))
        digests[:, : ids.shape[1]] = ids
        alone = _compute.equal(texts["document"], _numbered_documents(PurePosixPath(source_file.name).name, numbers))
        if _compute.any(alone, min_count=0).as_py():
            mask = alone.to_numpy(zero_copy_only=False)
            digests[mask] = content_digests([texts["title"].filter(alone), texts["text"].filter(alone)], _DIGEST_BYTES)
        return rows, digests

    def _names(self) -> list[str]:
        return ["text", *(name for name in ("title", "document") if getattr(self.spec.columns, name) is not None)]

    def _is_text(self, source_file: SourceFile) -> bool:
        return self.format_of(source_file) == "text"


def _numbered_documents(name: str, lines: pa.Array[Any]) -> pa.Array[Any]:
    """The documents of records without one."""
    return _compute.binary_join_element_wise(f"{name}:", lines.cast(pa.string()), "")
