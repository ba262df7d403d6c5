"""Whether this installation reads and writes XLSX, and what can be wrong with such a file."""

from __future__ import annotations

from importlib.util import find_spec

XLSX_ADVICE = "pip install 'benchbuilder[xlsx]'"


class UnreadableWorkbookError(Exception):
    """A file that is not XLSX, is damaged, or is not safe to open."""


class NoSuchWorksheetError(Exception):
    """The worksheets that a file has, where another one was asked for."""


def is_xlsx_supported() -> bool:
    """Whether the extra `xlsx` is installed."""
    return find_spec("openpyxl") is not None
