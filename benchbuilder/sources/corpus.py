"""The source kind `corpus`: the texts of a knowledge base."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar

from benchbuilder.ports.source import SourceSpec
from benchbuilder.records.envelope import Row
from benchbuilder.records.fates import Dropped
from benchbuilder.records.passage import Passage
from benchbuilder.sources.files import Found
from benchbuilder.sources.reading import Column, Format, TableSpec
from benchbuilder.sources.rows import READING_REASONS, RowSource, text_of
from benchbuilder.spec.base import Spec


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
        c = self.spec.columns
        names = ["text", *(name for name in ("title", "document") if getattr(c, name) is not None)]
        cells: dict[str, str] = {}
        for name, value in zip(names, values, strict=True):
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

    def _is_text(self, found: Found) -> bool:
        return self.form(found) == "text"
