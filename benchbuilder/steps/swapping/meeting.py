"""Which of many sets have members in common, for all pairs of sets at once: tables of bits."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Any

import numpy as np


def meeting(rows: Iterable[Iterable[Hashable]], columns: Collection[Iterable[Hashable]], least: int = 1) -> Any:
    """For each set of `rows` and each of `columns`, whether they have at least `least` common members, as bits.

    There is at least one column. The columns that have a member are the bits of one number, so that a row is made of
    one number for each member.
    """
    having: dict[Hashable, int] = {}
    for number, members in enumerate(columns):
        bit = 1 << number
        for member in members:
            having[member] = having.get(member, 0) | bit
    width, more, packed = -(-len(columns) // 8), range(least - 1, 0, -1), bytearray()
    for members in rows:
        met = [0] * least  # the columns with one common member so far, with two, and so on
        for bits in filter(None, map(having.get, members)):
            for count in more:
                met[count] |= met[count - 1] & bits
            met[0] |= bits
        packed += met[-1].to_bytes(width, "little")
    return np.frombuffer(packed, np.uint8).reshape(-1, width)


def to_bits(table: Any) -> Any:
    """A table of truth values as bits."""
    return np.packbits(table, axis=1, bitorder="little")


def from_bits(bits: Any, count: int) -> Any:
    """The truth values of a table of bits that has `count` columns."""
    return np.unpackbits(bits, axis=1, count=count, bitorder="little").view(bool)


def has_bit(bits: Any, row: int, column: int) -> bool:
    """One value of a table of bits."""
    return bool(bits[row, column // 8] >> column % 8 & 1)
