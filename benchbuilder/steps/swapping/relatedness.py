"""How related concepts are, by the pieces of their names and of those of their known ends."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

FULLY_RELATED = 1_000
"""The relatedness of a concept to itself."""
_COLUMNS = 2_048
"""Columns into which pieces are hashed."""
_COMMON = 16
"""A column that more than one concept in so many has is multiplied as a matrix; of others, only what is there."""


def relatedness(profiles: Sequence[Collection[int]]) -> Any:
    """For each pair of concepts, how related they are, from 0 to `FULLY_RELATED`, by the columns of their pieces.

    It is the cosine of two sets of columns. Columns that few concepts have weigh more. Weights are small whole numbers,
    so that sums are exact on every machine.
    """
    count = len(profiles)
    lengths = np.array([len(profile) for profile in profiles])
    columns = np.array([column for profile in profiles for column in profile], np.int64)
    rows = np.repeat(np.arange(count), lengths)
    sizes = np.bincount(columns, minlength=_COLUMNS)
    rarity = np.log2(count / np.maximum(sizes, 1))
    weights = np.rint(2 + 2 * rarity) ** 2
    norms = np.sqrt(np.maximum(np.bincount(rows, weights[columns], count), 1))
    common = sizes > count // _COMMON
    is_common = common[columns]
    shared = _products(rows[is_common], columns[is_common], np.sqrt(weights), count)
    holders = np.split(rows[np.argsort(columns, kind="stable")], np.cumsum(sizes)[:-1])
    found = np.empty((count, count), np.uint16)
    starts = np.cumsum(lengths) - lengths
    for row, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        own = columns[start : start + length]
        own = own[~common[own]]
        sums = shared[row].astype(np.float64)
        if len(own):
            others = np.concatenate([holders[column] for column in own.tolist()])
            sums += np.bincount(others, np.repeat(weights[own], sizes[own]), count)
        found[row] = np.floor(FULLY_RELATED * sums / (norms[row] * norms))
    return found


def _products(rows: Any, columns: Any, weights: Any, count: int) -> Any:
    """The sums of the squared weights of the columns that two rows share."""
    used, places = np.unique(columns, return_inverse=True)
    table = np.zeros((count, len(used)), np.float32)
    table[rows, places] = weights[columns]
    return table @ table.T


def hash_column(piece: str) -> int:
    """The column of a piece."""
    return zlib.crc32(piece.encode()) % _COLUMNS
