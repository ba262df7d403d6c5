"""Pages of a book in PDF, with the chapters that its outline names."""

from __future__ import annotations

import logging
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, InstallationError
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.tables import RawRow

_DEEPEST = 20
PDF_ERRORS = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError, EOFError, RuntimeError,
    struct.error, zlib.error,
)  # fmt: skip
"""What pypdf raises, besides its own errors, for files that are damaged or use what it does not know."""


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """A page: its lines, the chapter that it belongs to ("" if none is known), and what hides its text."""

    lines: list[str]
    chapter: str = ""
    problem: str = ""


class LockedBookError(Exception):
    """The book cannot be read without a password."""


def printed_pages(path: Path, name: str, key: str, max_pages: int | None = None) -> Iterator[PrintedPage]:
    """The pages of a PDF, the first `max_pages` of them.

    InstallationError without the library; `LockedBookError` for a book with a password; DataError for a file that is no
    PDF.
    """
    try:
        import pypdf
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as error:
        raise InstallationError(
            "reading PDF files needs the library pypdf", where=name, why=str(error),
            next="pip install 'benchbuilder[pdf]'",
        ) from error  # fmt: skip
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it tells of every oddity of a file that it can read
    broken = (PyPdfError, *PDF_ERRORS)
    try:
        with path.open("rb") as handle:
            reader: Any = pypdf.PdfReader(handle)
            if reader.is_encrypted and not reader.decrypt(""):
                raise LockedBookError
            count = len(reader.pages)
            chapters = _chapters(reader, count, broken)
            for number in range(count if max_pages is None else min(max_pages, count)):
                yield _page(reader, number, chapters[number], broken)
    except DependencyError as error:
        raise unreadable_encryption(name, error) from error
    except broken as error:
        raise wrong_shape(key, name, expected="a PDF", found=str(error)[:200] or type(error).__name__,
                          next="open it and save it again, or give its text as a text file") from error  # fmt: skip


def unreadable_encryption(name: str, error: Exception) -> InstallationError:
    """What to say of a PDF for whose encryption pypdf lacks a library."""
    return InstallationError(
        "this PDF is encrypted in a way that needs another library", where=name, why=str(error),
        next="pip install 'pypdf[crypto]'",
    )  # fmt: skip


def _page(reader: Any, number: int, chapter: str, broken: tuple[type[Exception], ...]) -> PrintedPage:
    try:
        return PrintedPage(str(reader.pages[number].extract_text()).splitlines(), chapter)
    except broken as error:
        return PrintedPage([], chapter, f"{type(error).__name__}: {str(error)[:100]}")


def _chapters(reader: Any, count: int, broken: tuple[type[Exception], ...]) -> list[str]:
    """The last title of the outline that begins on each page or before it."""
    starts = [""] * count

    def walk(items: Any, deep: int) -> None:
        for item in items:
            if isinstance(item, list):
                if deep < _DEEPEST:
                    walk(item, deep + 1)
                continue
            at = reader.get_destination_page_number(item)
            if at is not None and 0 <= at < count:
                starts[at] = starts[at] or " ".join(str(item.title or "").split())

    try:
        walk(reader.outline, 0)
    except broken:
        return [""] * count  # an outline that cannot be read is as good as none
    return list(accumulate(starts, lambda before, own: own or before))


NO_TEXT = "no_text"
"""The reason of a page without text."""


def pdf_rows(path: Path, name: str, key: str, columns: int) -> Iterator[RawRow]:
    """The lines of a PDF, numbered through all pages; each is the first of `columns` values.

    A page without any text, such as a scanned one, is one unit, dropped for `NO_TEXT`. InstallationError without the
    library; DataError for a file that it cannot open, is locked by a password, or holds no text at all.
    """
    number, found = 0, False
    empty = [None] * (columns - 1)
    for page, text in enumerate(_pages(path, name, key), start=1):
        lines = [line.strip() for line in text.splitlines()]
        if not any(lines):
            number += 1
            yield RawRow(number, (), NO_TEXT, f"page {page}")
        for line in lines:
            number += 1
            if line:
                found = True
                yield RawRow(number, [line, *empty])
    if not found:
        raise wrong_shape(key, name, expected="a PDF with text", found=f"{number} pages without any",
                          next="make its pages text first (OCR), and give the text file")  # fmt: skip


def _pages(path: Path, name: str, key: str) -> Iterator[str]:
    try:
        import pypdf
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as error:
        raise InstallationError(
            "reading PDF files needs the library pypdf", where=name, why=str(error),
            next="pip install 'benchbuilder[pdf]'",
        ) from error  # fmt: skip
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it tells of every oddity of a file that it can read
    try:
        reader: Any = pypdf.PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise DataError(f"{key}: {name} is locked by a password", where=name, next="save it without one")
        for page in reader.pages:
            yield str(page.extract_text())
    except DependencyError as error:
        raise unreadable_encryption(name, error) from error
    except (PyPdfError, *PDF_ERRORS) as error:
        raise wrong_shape(key, name, expected="a PDF", found=str(error)[:200] or type(error).__name__,
                          next="open it and save it again, or give its text as a text file") from error  # fmt: skip
