"""What a spreadsheet shows of the value of a cell."""

from __future__ import annotations

import re
from typing import Any

from benchbuilder.core import imports_of

with imports_of("xlsx", "the format XLSX", instead="use CSV"):
    from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE


def cell_value_text(value: object) -> str:
    """A value of a cell as text, whatever its format."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class UnclearCell(str):
    """The value of a cell that looks otherwise in a spreadsheet; `why` says what it is."""

    __slots__ = ("why",)

    def __new__(cls, value: str, why: str) -> UnclearCell:
        """The text `value`, with the reason."""
        cell = super().__new__(cls, value)
        cell.why = why
        return cell


_FORMAT = re.compile(r"(#,##)?0(?:\.(0+))?(%)?")


def number_format(book: Any, style: int) -> str:
    """The code of the number format of a style, such as ``0.0%``."""
    place = book._cell_styles[style].numFmtId
    return BUILTIN_FORMATS.get(place) or book._number_formats[place - BUILTIN_FORMATS_MAX_SIZE]


def shown_text(value: object, form: str) -> str:
    """What a spreadsheet shows of a value; an `UnclearCell` where that depends on the program and its language."""
    text = cell_value_text(value)
    if form == "error":
        return UnclearCell(text, f"the error {text} of a formula")
    if isinstance(value, str):
        return text
    if isinstance(value, bool):
        return text.upper()
    if not isinstance(value, int | float):
        return UnclearCell(text, f"a date or a time, {text}: programs make them of texts such as 3-5; store it as text")
    if form in ("General", "@"):
        return f"{value:.15g}" if isinstance(value, float) and not value.is_integer() else text
    if (plain := _FORMAT.fullmatch(form)) is None:
        return UnclearCell(text, f"the number {text} in the format {form!r}: store it as text")
    thousands, decimals, percent = plain.groups()
    return f"{value * (100 if percent else 1):{',' if thousands else ''}.{len(decimals or '')}f}{percent or ''}"
