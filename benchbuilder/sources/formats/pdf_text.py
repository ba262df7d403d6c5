"""Lines of text of PDF files, by the library pypdf."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, InstallationError
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.pdf_pages import PDF_ERRORS, unreadable_encryption
from benchbuilder.sources.formats.tables import RawRow

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
