"""Pages of PDF files, and the paragraphs of printed pages."""

from __future__ import annotations

import logging
import re
import struct
import unicodedata
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, InstallationError, open_given_file
from benchbuilder.sources.formats.files import import_library, wrong_shape
from benchbuilder.sources.formats.tables import RawRow

_DEEPEST = 20
PDF_ERRORS = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, EOFError, RuntimeError,
    struct.error, zlib.error,
)  # fmt: skip
"""Errors of pypdf, besides its own, for files that are damaged or use unknown features."""


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """A page: its lines, its chapter ("" if unknown), and the problem that hides its text."""

    lines: list[str]
    chapter: str = ""
    problem: str = ""


class LockedBookError(Exception):
    """The book cannot be read without a password."""


def printed_pages(path: Path, name: str, key: str, max_pages: int | None = None) -> Iterator[PrintedPage]:
    """The pages of a PDF, the first `max_pages` of them.

    Raises:
        InstallationError: A library is missing.
        LockedBookError: The book needs a password.
        DataError: The file is not a PDF.
    """
    with _open_pdf(path, name, key) as (reader, broken):
        count = len(reader.pages)
        chapters = _chapters(reader, count, broken)
        for number in range(count if max_pages is None else min(max_pages, count)):
            try:
                page = PrintedPage(str(reader.pages[number].extract_text()).splitlines(), chapters[number])
            except broken as error:
                page = PrintedPage([], chapters[number], f"{type(error).__name__}: {str(error)[:100]}")
            yield page


@contextmanager
def _open_pdf(path: Path, name: str, key: str) -> Generator[tuple[Any, tuple[type[Exception], ...]]]:
    """The reader of a PDF, and the errors of a damaged one; it reports errors as `printed_pages` documents them."""
    pypdf = import_library("pypdf", "pdf", name)
    from pypdf.errors import DependencyError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns about every oddity of readable files
    broken = (PyPdfError, *PDF_ERRORS)
    try:
        with open_given_file(path, most_bytes=None) as handle:
            reader: Any = pypdf.PdfReader(handle)
            if reader.is_encrypted and not reader.decrypt(""):
                raise LockedBookError
            yield reader, broken
    except DependencyError as error:
        raise InstallationError(
            "this PDF is encrypted in a way that needs another library", where=name, why=str(error),
            next="pip install 'pypdf[crypto]'",
        ) from error  # fmt: skip
    except broken as error:
        raise wrong_shape(key, name, expected="a PDF", found=str(error)[:200] or type(error).__name__,
                          next="open it and save it again, or give its text as a text file") from error  # fmt: skip


def _chapters(reader: Any, count: int, broken: tuple[type[Exception], ...]) -> list[str]:
    """For each page, the last title of the outline on it or before it."""
    starts = [""] * count

    def walk(items: Any, deep: int) -> None:
        for item in items:
            if isinstance(item, list):
                if deep < _DEEPEST:
                    walk(item, deep + 1)
                continue
            page = reader.get_destination_page_number(item)
            if page is not None and 0 <= page < count:
                starts[page] = starts[page] or " ".join(str(item.title or "").split())

    try:
        walk(reader.outline, 0)
    except broken:
        return [""] * count  # an unreadable outline is ignored
    return list(accumulate(starts, lambda before, own: own or before))


NO_TEXT = "no_text"
"""The reason of a page without text."""


def pdf_rows(path: Path, name: str, key: str, columns: int) -> Iterator[RawRow]:
    """The lines of a PDF, numbered through all pages; each is the first of `columns` values.

    A page without text, such as a scanned one, is one unit with the drop reason `NO_TEXT`.

    Raises:
        InstallationError: A library is missing.
        DataError: The file cannot be opened, needs a password, or has no text at all.
    """
    number, has_text = 0, False
    empty = [None] * (columns - 1)
    try:
        with _open_pdf(path, name, key) as (reader, _):
            for page, content in enumerate(reader.pages, start=1):
                lines = [line.strip() for line in str(content.extract_text()).splitlines()]
                if not any(lines):
                    number += 1
                    yield RawRow(number, (), NO_TEXT, f"page {page}")
                for line in lines:
                    number += 1
                    if line:
                        has_text = True
                        yield RawRow(number, [line, *empty])
    except LockedBookError:
        raise DataError(f"{key}: {name} is locked by a password", where=name, next="save it without one") from None
    if not has_text:
        raise wrong_shape(key, name, expected="a PDF with text", found=f"{number} pages without any",
                          next="make its pages text first (OCR), and give the text file")  # fmt: skip


_NEAR = 6
_ENOUGH = 3
_MAX_RUNNING_LINES = 2
_NUMBER = re.compile(r"\W*\d+\W*|\W*[ivxlc]+\W*$", re.IGNORECASE)
_SHORT = 0.75
_HYPHENS = "-\u2010\u00ad"
_NEW = re.compile(r"\s*(?:[\u2022\u25aa\u25cf\u25a0\u2023\u2013*-]\s|\(?\d+(?:\.\d+)*[.)\u3001]\s?\D)")


def without_running_lines(pages: Sequence[Sequence[str]]) -> tuple[list[list[str]], int]:
    """The lines of each page without running heads, running feet and page numbers, and the number of removed lines.

    A first line is a running head if at least three of the six pages before and the six pages after it begin with the
    same line, apart from a number at its start or end; the same for last lines. Up to two lines are removed per edge.
    """
    rest = [[line.strip() for line in page if line.strip()] for page in pages]
    total = sum(map(len, rest))
    for end in (0, -1):
        numbers = range(len(rest))
        for _ in range(_MAX_RUNNING_LINES):
            edges = [_form(page[end]) if page else "" for page in rest]
            numbers = [number for number in numbers if _repeats(edges, number)]
            for number in numbers:
                del rest[number][end]
    return rest, total - sum(map(len, rest))


def _form(line: str) -> str:
    """A line without a page number at its start or end."""
    if _NUMBER.fullmatch(line):
        return "#"
    return line.strip("0123456789-\u2013\u2014|. \t").casefold()


def _repeats(edges: Sequence[str], page: int) -> bool:
    near = [*edges[max(0, page - _NEAR) : page], *edges[page + 1 : page + 1 + _NEAR]]
    return bool(edges[page]) and near.count(edges[page]) >= _ENOUGH


def paragraphs(lines: Sequence[str], join_hyphens: bool) -> str:
    """The lines of a page as paragraphs, one per line.

    A line continues in the next one unless it is much shorter than the others of the page, or the next one begins like
    an item of a list. With `join_hyphens`, a hyphenated word is joined if it continues with a lower-case letter.
    """
    widths = sorted(_width(line) for line in lines)
    full = widths[int(0.9 * (len(widths) - 1))] if widths else 0
    texts: list[str] = []
    continues = False
    for line in lines:
        if continues and not _NEW.match(line):
            texts[-1] = _join_lines(texts[-1], line, join_hyphens)
        else:
            texts.append(line)
        continues = _width(line) >= _SHORT * full
    return "\n".join(texts).replace("\u00ad", "")


def _width(line: str) -> int:
    """The width of a line; wide characters count twice."""
    return sum(2 if _is_wide(letter) else 1 for letter in line)


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"


def _join_lines(first: str, second: str, join_hyphens: bool) -> str:
    if join_hyphens and len(first) > 1 and first[-1] in _HYPHENS and first[-2].isalpha() and second[:1].islower():
        return first[:-1] + second
    if _is_wide(first[-1]) or _is_wide(second[0]):
        return first + second
    return f"{first} {second}"
