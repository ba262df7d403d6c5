"""The keys under which a text is found: pairs of signs in scripts without spaces, words in others."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import regex

SIGNS = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}"
    r"\p{Script=Khmer}\p{Script=Myanmar}\u30FC"
)
"""Signs of scripts whose words no spaces separate, or whose words change at their ends; the script has the same."""
_RUN = regex.compile(rf"(?P<signs>[{SIGNS}]+)|(?P<word>(?:(?![{SIGNS}])[\p{{L}}\p{{N}}\p{{M}}])+)")
_BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def search_form(text: str) -> str:
    """A text as the search compares it: one width, small letters.

    >>> search_form("ＡＢ１")
    'ab1'
    """
    return unicodedata.normalize("NFKC", text).lower()


def search_keys(text: str) -> set[str]:
    """The keys of a text: each pair of signs, the last sign of a run, and each word.

    >>> sorted(search_keys("B12 糖尿病"))
    ['b12', '尿病', '病', '糖尿']
    """
    keys: set[str] = set()
    for run in _RUN.finditer(search_form(text)):
        word = run["word"]
        if word is not None:
            keys.add(word)
            continue
        signs = run["signs"]
        keys.update(signs[place : place + 2] for place in range(len(signs)))
    return keys


def sign_runs(text: str) -> list[str]:
    """The runs of signs in a text.

    >>> sign_runs("B12 糖尿病")
    ['糖尿病']
    """
    return [run["signs"] for run in _RUN.finditer(text) if run["signs"] is not None]


def shard_key(key: str) -> str:
    """The part of a key that says which shard holds it: all keys that a search reads together have the same.

    >>> shard_key("糖尿"), shard_key("diabetes"), shard_key("k")
    ('糖', 'di', 'k')
    """
    return key[:1] if regex.match(rf"[{SIGNS}]", key) else key[:2]


def shard_of(name: str, shards: int) -> int:
    """The shard of a name by the hash FNV-1a, which the script of the site computes too.

    >>> shard_of("item-1", 64), shard_of("糖", 256)
    (32, 251)
    """
    value = 0x811C9DC5
    for byte in name.encode("utf-8"):
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value % shards


def packed(numbers: Iterable[int]) -> str:
    """Rising numbers as the gaps between them, in base 36.

    >>> packed([0, 3, 40])
    '0 3 11'
    """
    gaps: list[str] = []
    before = 0
    for number in numbers:
        gaps.append(_base_36(number - before))
        before = number
    return " ".join(gaps)


def _base_36(number: int) -> str:
    digits = _BASE_36[number % 36]
    while number := number // 36:
        digits = _BASE_36[number % 36] + digits
    return digits


def search_index(texts: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """The numbers of the items by key, for the searched texts of each item."""
    index: dict[str, list[int]] = {}
    for number, searched in enumerate(texts):
        for key in set().union(*map(search_keys, searched)):
            index.setdefault(key, []).append(number)
    return index
