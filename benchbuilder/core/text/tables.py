"""Tables of text as spreadsheet programs save them."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Sequence

_DELIMITERS = (",", ";", "\t")
_LARGEST_FIELD = 2**27


def decode_text(data: bytes) -> str | None:
    """Text in UTF-8 with or without mark, UTF-16 with mark, or GB18030; ``None`` if it is none of these."""
    encodings = ("utf-16",) if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ("utf-8-sig", "gb18030")
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None


def csv_rows(data: bytes, is_header: Callable[[Sequence[str]], bool]) -> list[list[str]] | None:
    """The cells of a CSV whose header `is_header`, whatever its delimiter; else as if it were separated by commas.

    ``None`` if it cannot be read at all.
    """
    text = decode_text(data)
    if text is None:
        return None
    parsed: list[list[list[str]]] = []
    before = csv.field_size_limit(_LARGEST_FIELD)
    try:
        for delimiter in _DELIMITERS:
            try:
                parsed.append(list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)))
            except csv.Error:
                continue
            if parsed[-1] and is_header(parsed[-1][0]):
                return parsed[-1]
    finally:
        csv.field_size_limit(before)
    return parsed[0] if parsed else None
