"""The normal form of texts, in columns too."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Literal

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
"""The normal forms of Unicode: letters and marks as one character or apart, compatibility forms kept (C, D) or not."""


def to_normal_form(text: str, form: NormalForm) -> str:
    """`text` in the normal form `form`.

    >>> [len(to_normal_form("e\u0301", form)) for form in ("NFC", "NFD")]
    [1, 2]
    """
    return unicodedata.normalize(form, text)


_BETWEEN = "\x1f"
"""Separates texts that are converted together. It is in no entry of OpenCC's dictionaries, which are lines of text, and
no normal form of Unicode changes it or joins it with a mark."""

_END = "\0"
"""OpenCC may end a text here."""

_AT_ONCE = 1 << 19


def rewrite_texts(texts: Sequence[str], write: Callable[[str], str]) -> list[str]:
    """The result of `write`, a conversion of script or form, for each text; many are converted together.

    >>> from benchbuilder.core import convert_script
    >>> rewrite_texts(["\\u6f22", "", "a"], lambda text: convert_script(text, "t2s")) == ["\\u6c49", "", "a"]
    True
    """
    written: list[str] = []
    ends = list(accumulate(map(len, texts)))
    start = 0
    while start < len(texts):
        before = ends[start - 1] if start else 0
        end = bisect_left(ends, before + _AT_ONCE, start) + 1
        written += _rewrite(texts[start:end], write)
        start = end
    return written


def _rewrite(texts: Sequence[str], write: Callable[[str], str]) -> list[str]:
    joined = _BETWEEN.join(texts)
    if joined.count(_BETWEEN) == len(texts) - 1 and _END not in joined:
        return write(joined).split(_BETWEEN)
    plain = [text for text in texts if _BETWEEN not in text and _END not in text]
    rewritten = iter(_rewrite(plain, write) if plain else ())
    return [write(text) if _BETWEEN in text or _END in text else next(rewritten) for text in texts]
