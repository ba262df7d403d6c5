"""Conversion between Chinese scripts by OpenCC, which is loaded when it is first needed."""

from __future__ import annotations

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
