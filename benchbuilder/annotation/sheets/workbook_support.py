"""Whether this installation reads and writes XLSX, and what can be wrong with such a file."""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from benchbuilder.core import imports_of, is_installed, name_file_in_errors

MAX_UNPACKED_BYTES = 512 * 2**20
"""Bytes that an XLSX file may unpack to."""

_PIECE_BYTES = 2**20
_DOCTYPES = tuple("<!DOCTYPE".encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be"))


class UnreadableWorkbookError(Exception):
    """A file that is not XLSX, is damaged, or is not safe to open."""


class NoSuchWorksheetError(Exception):
    """The worksheets that a file has, where another one was asked for."""


def is_xlsx_supported() -> bool:
    """Whether the extra `xlsx` is installed."""
    return is_installed("openpyxl") and is_installed("lxml")


@contextmanager
def temporary_folder_in_errors() -> Generator[None]:
    """Name the folder of temporary files when writing there fails; lxml has its own class of errors for this."""
    with imports_of("xlsx", "the format XLSX", instead="use CSV"):
        from lxml.etree import SerialisationError

    with name_file_in_errors(Path(tempfile.gettempdir())):
        try:
            yield
        except SerialisationError as error:
            raise OSError(str(error)) from error


def check_archive(file: IO[bytes]) -> None:
    """Refuse archives that unpack to too many bytes, or contain XML with a document type."""
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED_BYTES:
                raise UnreadableWorkbookError(f"it unpacks to more than {MAX_UNPACKED_BYTES // 2**20} MiB")
            for name in archive.namelist():
                if name.endswith((".xml", ".rels")):
                    with archive.open(name) as part:
                        _refuse_doctype(part, name)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError) as error:
        raise UnreadableWorkbookError("it is damaged, protected by a password, or not an XLSX file") from error


def _refuse_doctype(part: IO[bytes], name: str) -> None:
    """UnreadableWorkbookError if the XML of a part declares a document type; reads a piece at a time."""
    end = b""
    while piece := part.read(_PIECE_BYTES):
        end += piece
        if any(mark in end for mark in _DOCTYPES):
            raise UnreadableWorkbookError(f"{name} declares a document type, as no spreadsheet program does")
        end = end[-max(map(len, _DOCTYPES)) :]
