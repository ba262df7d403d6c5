"""What a step did to a text: the parts that it took out and put in, by signs where a script has no blanks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import regex
from rapidfuzz.distance import Indel

_TOKENS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|[\p{L}\p{M}\p{N}]+|\s+|.", regex.DOTALL)
_MOST_TOKENS = 4_000
_ISLAND = 2
"""A kept part of fewer signs between two changes joins them."""


class DiffPiece(NamedTuple):
    """A part of two texts: in both (``same``), only in the first (``del``) or only in the second (``ins``)."""

    sort: Literal["same", "del", "ins"]
    text: str


def diff_texts(before: str, after: str) -> list[DiffPiece]:
    """The pieces of two texts in order; two long texts count as one change.

    >>> [tuple(piece) for piece in diff_texts("病变部位在（）", "病变部位在黑质。")]
    [('same', '病变部位在'), ('del', '（）'), ('ins', '黑质。')]
    """
    if before == after:
        return [DiffPiece("same", after)] if after else []
    old, new = _TOKENS.findall(before), _TOKENS.findall(after)
    if len(old) > _MOST_TOKENS or len(new) > _MOST_TOKENS:
        return [DiffPiece("del", before), DiffPiece("ins", after)]
    parts: list[tuple[bool, str, str]] = []
    for code in Indel.opcodes(old, new):
        one, other = "".join(old[code.src_start : code.src_end]), "".join(new[code.dest_start : code.dest_end])
        _add(parts, code.tag == "equal", one, other)
    return [piece for part in _without_islands(parts) for piece in _pieces(*part)]


def _add(parts: list[tuple[bool, str, str]], same: bool, one: str, other: str) -> None:
    if parts and parts[-1][0] == same:
        _, first, second = parts.pop()
        one, other = first + one, second + other
    parts.append((same, one, other))


def _without_islands(parts: Sequence[tuple[bool, str, str]]) -> list[tuple[bool, str, str]]:
    joined: list[tuple[bool, str, str]] = []
    for place, (same, one, other) in enumerate(parts):
        is_island = same and 0 < place < len(parts) - 1 and len(one) < _ISLAND
        _add(joined, same and not is_island, one, other)
    return joined


def _pieces(same: bool, one: str, other: str) -> list[DiffPiece]:
    if same:
        return [DiffPiece("same", one)]
    first = _common_signs(one, other)
    last = _common_signs(one[first:][::-1], other[first:][::-1])
    pieces = (
        DiffPiece("same", one[:first]), DiffPiece("del", one[first : len(one) - last]),
        DiffPiece("ins", other[first : len(other) - last]), DiffPiece("same", one[len(one) - last :]),
    )  # fmt: skip
    return [piece for piece in pieces if piece.text]


def _common_signs(one: str, other: str) -> int:
    """With how many equal signs two texts begin."""
    differing = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))
