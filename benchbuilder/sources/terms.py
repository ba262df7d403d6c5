"""The source kind `terms`: a list of words in a text, a table, records, or a PDF."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import (
    Dropped,
    Fact,
    Regex,
    Row,
    Term,
    compose_characters,
    find_all,
    match_group_spans,
    normalise_space,
)
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.files import SourceFile, find_files
from benchbuilder.sources.formats.pdf import NO_TEXT, pdf_rows
from benchbuilder.sources.formats.tables import TABLE_SUFFIXES, Column, RawRow, TableFormat, TableSpec, cell_text
from benchbuilder.sources.unit_source import READING_REASONS, RowSource

_FACT = Fact[Term]
_PDF = ".pdf"


class TermColumns(Spec):
    """The names of the fields; lines of a text or PDF have none."""

    term: Column = "term"
    note: Column | None = None


class TermsSpec(TableSpec):
    """A text or PDF with one word per line, or a table or records with one word each.

    In a text, lines that begin with `comment` are skipped, and text after a tab is a note.
    """

    columns: TermColumns = TermColumns()
    comment: str = "#"
    pattern: Regex | None = None
    """Extracts the word from a line or cell: the group ``term`` of the first match, or the complete match. The group
    ``note`` is the note. Lines without a match are dropped."""
    unit: Annotated[Literal["line"], Field(description="One word per line.")] = "line"  # pyright: ignore[reportIncompatibleVariableOverride]


class Terms(RowSource[TermsSpec]):
    """The words of one list, named after the source, with composed characters and single spaces.

    A repeated word, ignoring case, is dropped as a duplicate.
    """

    kind: ClassVar[str] = "terms"
    spec_class: ClassVar[type[SourceSpec]] = TermsSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "no_term": "The pattern finds no term here.",
        NO_TEXT: "The page of a PDF has no text: it may be a scanned image.",
    }
    default_format: ClassVar[TableFormat | None] = "text"

    def columns(self) -> Sequence[Column]:
        """The word, and its note if the recipe names one."""
        c = self.spec.columns
        return [c.term] if c.note is None else [c.term, c.note]

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files to read; in a folder, also PDFs."""
        if self.spec.format is not None:
            return super().select_files()
        return find_files(self.spec.path, self.key("path"), [*TABLE_SUFFIXES, _PDF], self.spec.files), []

    def can_read_head(self, source_file: SourceFile) -> bool:
        """All but large JSON documents, and PDFs."""
        return not self._is_pdf(source_file) and super().can_read_head(source_file)

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The units of one file, in order, without comments."""
        if self._is_pdf(source_file):
            return pdf_rows(source_file.path, source_file.name, self.key("path"), len(self.columns()))
        raws = super().units(source_file)
        mark = self.spec.comment
        if self.format_of(source_file) != "text" or not mark:
            return raws
        return (raw for raw in raws if raw.reason or not str(raw.values[0]).startswith(mark))

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The word of one unit."""
        cells = [cell_text(value) for value in values]
        if any(cell is None and value is not None for cell, value in zip(cells, values, strict=True)):
            return Dropped("malformed", "term or note is no text")
        text, note = cells[0] or "", (cells[1] if len(cells) > 1 else None) or ""
        if self.format_of(source_file) == "text" and not self._is_pdf(source_file):
            text, _, gloss = text.partition("\t")
            note = note or gloss
        if text and self.spec.pattern is not None:
            cut = _cut_out(self.spec.pattern, text)
            if cut is None:
                return Dropped("no_term", text[:80])
            text, note = cut[0], note or cut[1]
        if not (text := compose_characters(normalise_space(text))):
            return Dropped("missing_field", "term")
        term = Term(text=text, lists=(self.name,), note=compose_characters(normalise_space(note)))
        return _FACT.build(payload=term, **self.row_header(source_file, line))

    def duplicate_key(self, row: Row) -> Hashable:
        """The word in lower case."""
        fact: Any = row
        return str(fact.payload.text).casefold()

    def _is_pdf(self, source_file: SourceFile) -> bool:
        return self.spec.format is None and source_file.path.suffix.lower() == _PDF


def _cut_out(pattern: str, text: str) -> tuple[str, str] | None:
    """The term and the note in the first match of `pattern`; ``None`` without one."""
    spans = find_all(pattern, text)
    if not spans:
        return None
    groups = match_group_spans(f"(?s:.{{{spans[0].start}}})(?:{pattern})(?s:.*)", text) or {}
    term = groups["term"][0] if "term" in groups else spans[0].slice_of(text)
    return term, groups["note"][0] if "note" in groups else ""
