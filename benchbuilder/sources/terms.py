"""The source kind `terms`: a list of words in a text, a table, records, or a PDF."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config.spec.base import Spec
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.core.records.payloads import Fact, Term
from benchbuilder.core.records.row import Row
from benchbuilder.core.text.normalise import compose, tidy_space
from benchbuilder.core.text.patterns import Regex, find_all, found_groups
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.files import Found, find_files
from benchbuilder.sources.formats.pdf_text import NO_TEXT, pdf_rows
from benchbuilder.sources.formats.tables import SUFFIXES, Column, Format, RawRow, TableSpec
from benchbuilder.sources.row_source import READING_REASONS, RowSource, text_of

_FACT = Fact[Term]
_PDF = ".pdf"


class TermColumns(Spec):
    """Which field is what; the lines of a text or PDF have none of them."""

    term: Column = "term"
    note: Column | None = None


class TermsSpec(TableSpec):
    """A text or PDF with a word a line, or a table or records with a word each.

    In a text, a line that begins with `comment` is none of its units, and what follows a tab is a note.
    """

    columns: TermColumns = TermColumns()
    comment: str = "#"
    pattern: Regex | None = None
    """What cuts a word out of a line or cell: the group ``term`` of its first match, or the whole of that; the group
    ``note`` goes to the note. Lines without a match are dropped."""
    unit: Annotated[Literal["line"], Field(description="A word stands on a line of its own.")] = "line"  # pyright: ignore[reportIncompatibleVariableOverride]


class Terms(RowSource[TermsSpec]):
    """The words of one list, named after the source, composed and with single spaces.

    A word that a list holds twice, whatever its capitals, is dropped as a duplicate the second time.
    """

    kind: ClassVar[str] = "terms"
    spec_class: ClassVar[type[SourceSpec]] = TermsSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "no_term": "The pattern finds no term here.",
        NO_TEXT: "The page of a PDF holds no text: it may be a picture of some.",
    }
    default_format: ClassVar[Format | None] = "text"

    def columns(self) -> Sequence[Column]:
        """The word, and its note where the recipe names one."""
        c = self.spec.columns
        return [c.term] if c.note is None else [c.term, c.note]

    def selected(self) -> tuple[list[Found], list[Found]]:
        """The files that are read; of a folder, PDFs too."""
        if self.spec.format is not None:
            return super().selected()
        return find_files(self.spec.path, self.key("path"), [*SUFFIXES, _PDF], self.spec.files), []

    def small(self, found: Found) -> bool:
        """All but large JSON documents, and PDFs."""
        return not self._is_pdf(found) and super().small(found)

    def units(self, found: Found) -> Iterator[RawRow]:
        """The units of one file, in order; comments of a text are none."""
        if self._is_pdf(found):
            return pdf_rows(found.at, found.name, self.key("path"), len(self.columns()))
        raws = super().units(found)
        mark = self.spec.comment
        if self.form(found) != "text" or not mark:
            return raws
        return (raw for raw in raws if raw.reason or not str(raw.values[0]).startswith(mark))

    def make(self, values: Sequence[Any], found: Found, line: int) -> Row | Dropped:
        """The word of one unit."""
        cells = [text_of(value) for value in values]
        if any(cell is None and value is not None for cell, value in zip(cells, values, strict=True)):
            return Dropped("malformed", "term or note is no text")
        text, note = cells[0] or "", (cells[1] if len(cells) > 1 else None) or ""
        if self.form(found) == "text" and not self._is_pdf(found):
            text, _, gloss = text.partition("\t")
            note = note or gloss
        if text and self.spec.pattern is not None:
            cut = _cut_out(self.spec.pattern, text)
            if cut is None:
                return Dropped("no_term", text[:80])
            text, note = cut[0], note or cut[1]
        if not (text := compose(tidy_space(text))):
            return Dropped("missing_field", "term")
        term = Term(text=text, lists=(self.name,), note=compose(tidy_space(note)))
        return _FACT.build(payload=term, **self.envelope(found, line))

    def content(self, row: Row) -> Hashable:
        """The word without capitals."""
        fact: Any = row
        return str(fact.payload.text).casefold()

    def _is_pdf(self, found: Found) -> bool:
        return self.spec.format is None and found.at.suffix.lower() == _PDF


def _cut_out(pattern: str, text: str) -> tuple[str, str] | None:
    """The term and the note in the first match of `pattern`; ``None`` without one."""
    spans = find_all(pattern, text)
    if not spans:
        return None
    groups = found_groups(f"(?s:.{{{spans[0].start}}})(?:{pattern})(?s:.*)", text) or {}
    term = groups["term"][0] if "term" in groups else spans[0].of(text)
    return term, groups["note"][0] if "note" in groups else ""
