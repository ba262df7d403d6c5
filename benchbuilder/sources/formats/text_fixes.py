"""Named clean-ups of texts: each finds one sort of leftover, and puts what the writer meant."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from typing import Literal

from benchbuilder.core import fold_lookalikes, replace_steering_characters

TextFix = Literal["invisible", "escapes", "tags", "entities", "mojibake", "lookalikes"]

_KEPT = frozenset("\n\t\r")
_ESCAPE = re.compile(r"\\[nrt](?![a-z])|(?:\\u[0-9A-Fa-f]{4})+")
_NAMES = "a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|span|strong|sub|sup|table|td|th|tr|u|ul"
_TAG = re.compile(rf"</?({_NAMES})(?:\s[^<>]{{0,200}})?/?>", re.IGNORECASE)
_POWER = re.compile(r"(?<=\w)<sup>([-+\u2212]?\w+)</sup>", re.IGNORECASE)
_ENDS = frozenset({"br", "div", "li", "p", "td", "th", "tr"})
"""Tags at which a line, a cell or a paragraph ends."""
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{1,6}|#[xX][0-9A-Fa-f]{1,5});")
_HALF = re.compile("[\ud800-\udfff]")
_RUN = re.compile(r"[^\x00-\x7f]{2,}")


def _without_invisible(text: str) -> str:
    return text if text.isprintable() and text.isascii() else replace_steering_characters(text, _KEPT, "")


def _without_escapes(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    if match[0][1] != "u":
        return " "
    decoded: str = json.loads(f'"{match[0]}"')
    return match[0] if _HALF.search(decoded) else decoded


def _without_tags(text: str) -> str:
    if "<" not in text:
        return text
    return _TAG.sub(lambda tag: " " if tag[1].lower() in _ENDS else "", _POWER.sub(r"^\1", text)).strip(" ")


def _without_entities(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text) if "&" in text else text


def _without_mojibake(text: str) -> str:
    """`text` without UTF-8 that was read as Windows-1252: a run of other characters is hardly ever valid UTF-8."""
    return text if text.isascii() else _RUN.sub(_decoded, text)


def _decoded(run: re.Match[str]) -> str:
    try:
        return b"".join(_windows_byte(character) for character in run[0]).decode()
    except UnicodeError:
        return run[0]


def _windows_byte(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:  # the five bytes that Windows-1252 leaves free
        return character.encode("latin-1")


TEXT_FIXES: Mapping[TextFix, Callable[[str], str]] = {
    "invisible": _without_invisible,
    "escapes": _without_escapes,
    "tags": _without_tags,
    "entities": _without_entities,
    "mojibake": _without_mojibake,
    "lookalikes": fold_lookalikes,
}
"""What each clean-up makes of a text; a text without the leftover stays as it is."""
