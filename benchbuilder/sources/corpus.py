"""The source kind `corpus`: the texts of a knowledge base."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.config.spec.base import Spec
from benchbuilder.core.records.arrow.build_rows import column, content_digests, same, source_rows
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import MadeBy, Row
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.columnar.cells import Cells, Mask
from benchbuilder.sources.columnar.columns import Columns, delimited_columns, parquet_columns, row_columns
from benchbuilder.sources.columnar.deduplicate import Made, id_digests
from benchbuilder.sources.formats.files import Found
from benchbuilder.sources.formats.tables import Column, Format, TableSpec
from benchbuilder.sources.row_source import DELIMITED, READING_REASONS, RowSource, text_of
from benchbuilder.sources.unit_source import HEAD_ROWS

_compute: Any = pc
_DIGEST_BYTES = 16


class CorpusColumns(Spec):
    """Which field is what; a plain text has none of them, its title and document are the name of its file."""

    text: Column = "text"
    title: Column | None = None
    document: Column | None = None


class CorpusMapping(Spec):
    """How the fields of a record make a passage."""

    columns: CorpusColumns = CorpusColumns()


class CorpusSpec(CorpusMapping, TableSpec):
    """Plain text by line, block or file, or records with a text each."""


class Corpus(RowSource[CorpusSpec]):
    """Passages (pages or paragraphs) of one knowledge base, named after the source.

    A record without a document counts as its own: its document is the file's name and its number.
    """

    kind: ClassVar[str] = "corpus"
    spec_class: ClassVar[type[SourceSpec]] = CorpusSpec
    output: ClassVar[type[Row]] = Passage
    reasons: ClassVar[Mapping[str, str]] = READING_REASONS
    default_format: ClassVar[Format | None] = "text"

    def columns(self) -> Sequence[Column]:
        """Text, title and document where the recipe names them."""
        c = self.spec.columns
        return [column for column in (c.text, c.title, c.document) if column is not None]

    def make(self, values: Sequence[Any], found: Found, line: int) -> Row | Dropped:
        """The passage of one unit."""
        cells: dict[str, str] = {}
        for name, value in zip(self._names(), values, strict=True):
            cell = text_of(value)
            if cell is None and value is not None:
                return Dropped("malformed", f"{name} is no text")
            cells[name] = cell or ""
        if not cells["text"]:
            return Dropped("missing_field", "text")
        if self._is_text(found):
            cells |= {"title": found.at.stem, "document": found.at.stem}
        document = cells.get("document") or f"{found.at.name}:{line}"
        return Passage.build(
            base=self.name, document=document, title=cells.get("title", ""), text=cells["text"],
            **self.envelope(found, line),
        )  # fmt: skip

    def content(self, row: Row) -> Hashable:
        """The id, or title and text where the record names no document."""
        assert isinstance(row, Passage)
        numbered = row.document == f"{PurePosixPath(row.origin.file).name}:{row.origin.line}"
        return (row.title, row.text) if numbered else row.id

    def made(self, found: Found) -> Iterator[Made]:
        """What the units of a file were made, by the column: the same as `make` for each."""
        self._judge(list(islice(self.units(found), HEAD_ROWS)), found)
        for held in self._columns_of(found):
            yield self._made(held, found)

    def _columns_of(self, found: Found) -> Iterator[Columns]:
        form, columns = self.form(found), self.columns()
        if form is not None and form in DELIMITED:
            return delimited_columns(found.at, found.name, self.cut(form), columns)
        if form == "parquet":
            return parquet_columns(found.at, found.name, self.key("path"), columns)
        return row_columns(self.units(found), len(columns))

    def _made(self, held: Columns, found: Found) -> Made:
        names, drops = self._names(), dict(held.bad)
        cells = {name: one.stripped() for name, one in zip(names, held.cells, strict=True)}
        kept = np.ones(len(held.good), bool)

        def leave(wrong: Mask, reason: str, detail: str) -> None:
            nonlocal kept
            drops.update((place, (reason, detail)) for place in held.good[wrong & kept].tolist())
            kept = kept & ~wrong

        for number, name in enumerate(names):
            if number in held.odd:
                leave(held.odd[number], "malformed", f"{name} is no text")
        leave(cells["text"].empty, "missing_field", "text")
        places = held.good[kept]
        rows, digests = self._passages(found, held.lines[places], {name: one.take(kept) for name, one in cells.items()})
        return Made(held.lines, drops, places, rows, digests)

    def _passages(
        self, found: Found, lines: NDArray[np.int64], cells: Mapping[str, Cells]
    ) -> tuple[Table[Any], NDArray[np.uint8]]:
        """The passages of units that have a text, and a hash of what makes two of them duplicates."""
        count, numbers = len(lines), pa.array(lines)
        stem = same(found.at.stem if self._is_text(found) else "", count)
        texts = {name: cells[name].arrow() if name in cells else stem for name in ("text", "title", "document")}
        if self._is_text(found):
            texts |= {"title": stem, "document": stem}
        own = _numbered(found.at.name, numbers)
        texts["document"] = _compute.if_else(_compute.equal(texts["document"], ""), own, texts["document"])
        made_by = MadeBy(rule=self.kind, version=str(self.version))
        fields = {"base": same(self.name, count), **texts}
        rows = source_rows(Passage, found.name, numbers, made_by, self.language, self.name, fields)
        digests = np.zeros((count, _DIGEST_BYTES), np.uint8)
        ids = id_digests(column(rows.arrow, "id"))
        digests[:, : ids.shape[1]] = ids
        alone = _compute.equal(texts["document"], _numbered(PurePosixPath(found.name).name, numbers))
        if _compute.any(alone, min_count=0).as_py():
            mask = alone.to_numpy(zero_copy_only=False)
            digests[mask] = content_digests([texts["title"].filter(alone), texts["text"].filter(alone)], _DIGEST_BYTES)
        return rows, digests

    def _names(self) -> list[str]:
        return ["text", *(name for name in ("title", "document") if getattr(self.spec.columns, name) is not None)]

    def _is_text(self, found: Found) -> bool:
        return self.form(found) == "text"


def _numbered(name: str, lines: pa.Array[Any]) -> pa.Array[Any]:
    """The document that a record without one counts as."""
    return _compute.binary_join_element_wise(f"{name}:", lines.cast(pa.string()), "")
