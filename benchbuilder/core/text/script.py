"""Conversion between Chinese scripts by OpenCC, which is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

Conversion = Literal["t2s", "tw2s", "tw2sp", "hk2s", "s2t", "s2tw", "s2twp", "s2hk", "t2tw", "t2hk", "tw2t", "hk2t"]
"""The configurations of OpenCC that a recipe may name; ``t2s`` is traditional to simplified."""


@cache
def _converter(conversion: str) -> Any:
    from opencc import OpenCC

    return OpenCC(conversion)


def convert_script(text: str, conversion: Conversion) -> str:
    """`text` in the target script of `conversion`.

    >>> ascii(convert_script("\\u6f22", "t2s"))
    "'\\\\u6c49'"
    """
    return _converter(conversion).convert(text)


def script_version() -> str:
    """The version of OpenCC, whose dictionaries shape the result."""
    return version("opencc")


_BETWEEN = "\x1f"
"""Stands between texts that are converted at one go: no entry of OpenCC's dictionaries, which are lines of text, holds
it, no form of Unicode changes it or joins it with a mark."""
_END = "\0"
"""Where OpenCC may take a text to end."""
_AT_ONCE = 1 << 19


def rewrite_texts(texts: Sequence[str], write: Callable[[str], str]) -> list[str]:
    """What `write`, a conversion of script or form, makes of each text: many at a time.

    >>> rewrite_texts(["\\u6f22", "", "a"], lambda text: convert_script(text, "t2s")) == ["\\u6c49", "", "a"]
    True
    """
    written = list(texts)
    together: list[int] = []
    size = 0
    for place, text in enumerate(texts):
        if _BETWEEN in text or _END in text:
            written[place] = write(text)
            continue
        together.append(place)
        size += len(text) + 1
        if size >= _AT_ONCE:
            _rewrite(written, together, write)
            together, size = [], 0
    _rewrite(written, together, write)
    return written


def _rewrite(texts: list[str], places: Sequence[int], write: Callable[[str], str]) -> None:
    if places:
        made = write(_BETWEEN.join([texts[place] for place in places])).split(_BETWEEN)
        for place, text in zip(places, made, strict=True):
            texts[place] = text
