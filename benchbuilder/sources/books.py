"""The source kind `books`: textbooks as text, PDF or EPUB, one passage per page or chapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from benchbuilder.config import FileRef
from benchbuilder.core import DataError, Dropped, EndOfFile, Passage, Row, SourceUnit
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.epub import Epub
from benchbuilder.sources.formats.files import SourceFile, find_files
from benchbuilder.sources.formats.pdf import NO_TEXT, LockedBookError, paragraphs, printed_pages, without_running_lines
from benchbuilder.sources.formats.tables import Column, Encoding, RawRow, text_rows
from benchbuilder.sources.unit_source import READING_REASONS, UnitSource

_PDF, _EPUB, _TEXT = ".pdf", ".epub", ".txt"
_HEAD_PAGES = 5


class BooksSpec(SourceSpec):
    """Books in PDF, EPUB (2 or 3) and plain text, by the suffixes .pdf, .epub and .txt."""

    path: FileRef
    """A file, a folder or a glob."""
    files: str = ""
    """Which files of a folder: a name with ``*``."""
    encoding: Encoding = "utf-8"
    """The encoding of text files."""
    unit: Literal["line", "block", "file"] = "line"
    """What a unit of a plain text is: a line, a block between blank lines, or the whole file."""
    running_lines: Literal["drop", "keep"]
    """How to treat running heads and feet of PDF pages, and page numbers."""
    join_hyphens: bool
    """Whether words that are hyphenated at the end of a line of a PDF are joined."""


class Books(UnitSource[BooksSpec]):
    """Passages of textbooks: pages of a PDF, chapters of an EPUB, lines of a text, with one paragraph per line.

    The document is the title of the book: an EPUB contains it, for other files it is the file name. The title is the
    chapter by the table of contents or the first heading, or else the title of the book. Units are numbered from 1: the
    page of a PDF, the document in the order of an EPUB, the first line of a text unit. Removed running heads and page
    numbers of a PDF are counted at its end, as ``FILE (running lines)``.
    """

    kind: ClassVar[str] = "books"
    spec_class: ClassVar[type[SourceSpec]] = BooksSpec
    output: ClassVar[type[Row]] = Passage
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        NO_TEXT: "The page or chapter has no text: it may be a scanned image.",
        "locked": "The book or chapter cannot be read without a password or a licence.",
        "no_chapter": "The document is a table of contents, or holds no text by its type.",
    }
    shape_reasons: ClassVar[frozenset[str]] = frozenset({"malformed", "undecodable"})
    shape_hint: ClassVar[str] = "check the file, and give it the suffix of what it is"

    def __init__(self, spec: Any, name: str, language: str) -> None:
        super().__init__(spec, name, language)
        self._left_out: dict[str, int] = {}

    def columns(self) -> Sequence[Column]:
        """The fields of a unit."""
        return ("document", "title", "text")

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The books, by their suffixes."""
        return find_files(self.spec.path, self.key("path"), (_PDF, _EPUB, _TEXT), self.spec.files), []

    def can_read_head(self, source_file: SourceFile) -> bool:
        """Only text files: `check` looks at the others itself."""
        return self._suffix(source_file) == _TEXT

    def check(self) -> None:
        """Check the head of each text, the first pages of each PDF, and the package of each EPUB."""
        super().check()
        for file in self.select_files()[0]:
            if self._suffix(file) == _EPUB:
                Epub(file.path, file.name, self.key("path")).close()
            elif self._suffix(file) == _PDF:
                for _ in self._printed_pages(file, _HEAD_PAGES):
                    pass

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The units of all books, and after each PDF the number of its running lines."""
        for unit in super().read():
            yield unit
            if isinstance(unit, EndOfFile) and (count := self._left_out.pop(unit.file, 0)):
                yield EndOfFile(f"{unit.file} (running lines)", count, {"left out": count})

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The pages, chapters or lines of one book."""
        suffix = self._suffix(source_file)
        if suffix == _PDF:
            return self._pages(source_file)
        if suffix == _EPUB:
            return self._chapters(source_file)
        return self._texts(source_file)

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The passage of one unit."""
        document, title, text = (_replace_surrogates(value) for value in values)
        if not text:
            return Dropped("missing_field", "text")
        header = self.row_header(source_file, line)
        return Passage.build(base=self.name, document=document, title=title, text=text, **header)

    def _suffix(self, source_file: SourceFile) -> str:
        suffix = source_file.path.suffix.lower()
        if suffix not in (_PDF, _EPUB, _TEXT):
            raise DataError(
                f"{self.key('path')}: the format of {source_file.name} is not known",
                where=source_file.name,
                why=f"the suffix {source_file.path.suffix!r} is none of {_PDF}, {_EPUB}, {_TEXT}",
                next="give the file the suffix of what it is, or leave it out by `files`",
            )
        return suffix

    def _printed_pages(self, source_file: SourceFile, max_pages: int | None = None) -> Iterator[Any]:
        try:
            yield from printed_pages(source_file.path, source_file.name, self.key("path"), max_pages)
        except LockedBookError:
            yield None

    def _pages(self, source_file: SourceFile) -> Iterator[RawRow]:
        pages = list(self._printed_pages(source_file))
        if None in pages:
            yield RawRow(1, (), "locked", f"{source_file.path.name}: a password is needed")
            return
        lines = [page.lines for page in pages]
        if self.spec.running_lines == "drop":
            lines, self._left_out[source_file.name] = without_running_lines(lines)
        book = source_file.path.stem
        for number, (page, left) in enumerate(zip(pages, lines, strict=True), 1):
            text = paragraphs([line.strip() for line in left if line.strip()], self.spec.join_hyphens)
            if page.problem:
                yield RawRow(number, (), "malformed", f"page {number}: {page.problem}")
            elif not text:
                yield RawRow(number, (), NO_TEXT, f"page {number}")
            else:
                yield RawRow(number, (book, page.chapter or book, text))

    def _chapters(self, source_file: SourceFile) -> Iterator[RawRow]:
        epub = Epub(source_file.path, source_file.name, self.key("path"))
        book = epub.title or source_file.path.stem
        for number, chapter in enumerate(epub.chapters(), 1):
            if chapter.reason:
                yield RawRow(number, (), chapter.reason, chapter.detail)
            else:
                yield RawRow(number, (book, chapter.title or book, chapter.text))

    def _texts(self, source_file: SourceFile) -> Iterator[RawRow]:
        book = source_file.path.stem
        for raw in text_rows(source_file.path, self.spec.encoding, self.spec.unit, 1):
            yield raw if raw.reason else RawRow(raw.line, (book, book, raw.values[0]))


def _replace_surrogates(text: str) -> str:
    """Replace surrogates, which PDFs may contain."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
