"""The inverse of I + K, K the Gram matrix of sparse rows: exact for few rows, approximate for many."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.stored_matrix import StoredMatrix

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Matrix = NDArray[np.float32]

EXACT_ROWS = 1500
"""Up to so many rows the Gram matrix is inverted; above, the ridge is solved in the space of features."""
WIDTH = 1024
"""How many features the ridge in the space of features has; the others count as if each row had its own.

On 3,000 questions whose true answers are Zipf and false ones uniform, 1,024 of up to 27,000 features scored within 2
points of all of them (57.0 and 56.6, 75.1 and 73.0, 76.4 and 77.6), 256 up to 7 points less.
"""
_DENSE = 48
_FEW = 4
_STEPS = 100
_PRECISE = 1e-6
_LEAF = 64
_TILES = 1152
"""A product by so many rows at a time has the bits of the whole one: a multiple of the tiles of BLAS (8, 12, 16)."""
_READ = 8192
"""Rows whose entries are read at once."""
_CHUNK = 1024
"""Sums over more rows than this are in double precision; a matrix of similar rows is nearly singular without the I."""


class SparseRows(Protocol):
    """Rows of features with values."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def width(self) -> int:
        """The number of features."""
        ...

    def entries(self, first: int, stop: int) -> tuple[Integers, Integers, Reals]:
        """The row (these rise), the feature and the value of each entry of the rows from `first` to before `stop`."""
        ...


class KernelInverse(Protocol):
    """(I + K)^-1."""

    def times(self, columns: Matrix) -> Matrix:
        """Its product with columns."""
        ...

    def solved(self, rows: Integers, columns: Matrix) -> Matrix:
        """The columns times the inverse of its square block of these rows."""
        ...


def kernel_inverse(rows: SparseRows, scratch: Path | None = None) -> KernelInverse:
    """The inverse for rows that are scaled already; a large table lies in a file in the folder `scratch`, if given."""
    return ExactInverse(rows) if rows.rows <= EXACT_ROWS else FeatureSpaceInverse(rows, scratch)


class ExactInverse:
    """The inverse itself."""

    def __init__(self, rows: SparseRows) -> None:
        kernel = gram(rows).astype(np.float64)
        kernel[np.diag_indices(rows.rows)] += 1
        root = _triangle_inverted(np.asarray(np.linalg.cholesky(kernel), np.float64)).astype(np.float32)
        self._inverse = root.T @ root

    def times(self, columns: Matrix) -> Matrix:
        """Its product with columns."""
        return np.asarray(self._inverse @ columns, np.float32)

    def solved(self, rows: Integers, columns: Matrix) -> Matrix:
        """The columns times the inverse of its square block of these rows."""
        return np.asarray(_inverted(self._inverse[np.ix_(rows, rows)]) @ columns, np.float32)


class FeatureSpaceInverse:
    """The inverse by Woodbury's identity, with the features that make most of the similarity of different rows.

    The similarity that a feature contributes over all pairs of rows is the square of its sum minus the sum of its
    squares. The rule sees no label, so it favours none. A feature that is left out keeps its part of the row's length.
    """

    def __init__(self, rows: SparseRows, scratch: Path | None = None) -> None:
        chosen = _similar_features(rows)
        place = np.full(rows.width, -1, np.int32)
        place[chosen] = np.arange(len(chosen))
        self._scale = np.ones(rows.rows, np.float32)
        inner = np.eye(len(chosen))
        for start in range(0, rows.rows, _CHUNK):
            part = self._dense(rows, place, start, min(start + _CHUNK, rows.rows), len(chosen))
            inner += part.T @ part
        whitening = _triangle_inverted(np.asarray(np.linalg.cholesky(inner), np.float64)).T.astype(np.float32)
        starts = range(0, max(rows.rows - 1, 1), _TILES)  # a row alone would be multiplied in another way
        pieces = (self._dense(rows, place, *ends, len(chosen)) @ whitening for ends in pairwise([*starts, rows.rows]))
        self._whitened = StoredMatrix(pieces, rows.rows, len(chosen), scratch)

    def _dense(self, rows: SparseRows, place: NDArray[np.int32], first: int, stop: int, width: int) -> Matrix:
        """The chosen features of some rows, scaled by what the other features of each row leave."""
        owner, indices, values = rows.entries(first, stop)
        owner = owner - first
        inside = place[indices] >= 0
        rest = np.bincount(owner[~inside], values[~inside] ** 2, minlength=stop - first)
        self._scale[first:stop] = (1 / np.sqrt(1 + rest)).astype(np.float32)
        table = np.zeros((stop - first, width), np.float32)
        table[owner[inside], place[indices[inside]]] = values[inside]
        table *= self._scale[first:stop, None]
        return table

    def times(self, columns: Matrix) -> Matrix:
        """Its product with columns."""
        scaled = columns * self._scale[:, None]
        inner = self._whitened.transposed_times(scaled)
        for first, part in self._whitened.windows():
            for start in range(0, len(part), _CHUNK):  # the product as a whole would need as much memory again
                some = part[start : start + _CHUNK]
                scaled[first + start : first + start + len(some)] -= some @ inner
        scaled *= self._scale[:, None]
        return scaled

    def solved(self, rows: Integers, columns: Matrix) -> Matrix:
        """The columns times the inverse of its square block of these rows, which rise."""
        part, scale = self._whitened.take(rows), self._scale[rows][:, None]
        if not part.shape[1]:
            return columns / scale**2
        if columns.shape[1] <= _FEW:
            return _conjugate_gradients(part, columns / scale) / scale
        if part.shape[1] < len(rows):
            return _solved_by_features(part, columns / scale) / scale
        block = np.asarray(np.eye(len(rows)) - part @ part.T, np.float32)
        return np.asarray((_inverted(block) @ (columns / scale)) / scale, np.float32)


def _similar_features(rows: SparseRows) -> Integers:
    """The features that make most of the similarity of different rows, in rising order."""
    squares, sums = np.zeros(rows.width), np.zeros(rows.width)
    for start in range(0, rows.rows, _READ):
        _, indices, values = rows.entries(start, min(start + _READ, rows.rows))
        np.add.at(squares, indices, values**2)
        np.add.at(sums, indices, np.abs(values))
    sums *= sums
    sums -= squares
    similar = np.flatnonzero(sums > 0)  # what a single row has makes it similar to no other
    return np.sort(similar[np.argsort(-sums[similar], kind="stable")[:WIDTH]])


def _solved_by_features(part: Matrix, columns: Matrix) -> Matrix:
    """(I - part part^T)^-1 times columns, by the inverse of I - part^T part, which is smaller.

    It is in double precision: where few features tell rows apart, many predictions are exactly 0.
    """
    inner = np.eye(part.shape[1]) - (part.T @ part).astype(np.float64)
    return np.asarray(columns + part @ (np.linalg.inv(inner).astype(np.float32) @ (part.T @ columns)), np.float32)


def _conjugate_gradients(part: Matrix, columns: Matrix) -> Matrix:
    """(I - part part^T)^-1 times columns. The eigenvalues are between 0 and 1, nearly all close to 1."""
    found = np.zeros(columns.shape)
    rest = columns.astype(np.float64)
    direction, size = rest, (rest**2).sum(axis=0)
    enough = _PRECISE**2 * np.maximum(size, 1e-30)
    for _ in range(_STEPS):
        step = direction.astype(np.float32)
        product = direction - part @ (part.T @ step)
        length = size / np.maximum((direction * product).sum(axis=0), 1e-30)
        found += length * direction
        rest = rest - length * product
        size, former = (rest**2).sum(axis=0), size
        if (size <= enough).all():
            break
        direction = rest + size / np.maximum(former, 1e-30) * direction
    return found.astype(np.float32)


def gram(rows: SparseRows) -> Matrix:
    """The Gram matrix: frequent features by a dense product, rare ones pair by pair."""
    owner, indices, values = rows.entries(0, rows.rows)
    often = np.bincount(indices, minlength=rows.width)
    place = np.full(rows.width, -1)
    frequent = np.flatnonzero(often > _DENSE)
    place[frequent] = np.arange(len(frequent))
    inside = place[indices] >= 0
    table = np.zeros((rows.rows, len(frequent)), np.float32)
    table[owner[inside], place[indices[inside]]] = values[inside]
    kernel = table @ table.T
    order = np.argsort(indices[~inside], kind="stable")
    counts = often[indices[~inside][order]]
    kernel += _pairs(owner[~inside][order], values[~inside][order], counts, rows.rows).reshape(kernel.shape)
    return kernel


def _pairs(items: Integers, values: Reals, counts: Integers, size: int) -> Reals:
    """The sum over rare features of all products of two entries, by place in the flat matrix."""
    places: list[Integers] = []
    products: list[Reals] = []
    for count in np.unique(counts):
        chosen = counts == count
        item, value = items[chosen].reshape(-1, count), values[chosen].reshape(-1, count)
        places.append((item[:, :, None] * size + item[:, None, :]).ravel())
        products.append((value[:, :, None] * value[:, None, :]).ravel())
    if not places:
        return np.zeros(size * size)
    return np.asarray(np.bincount(np.concatenate(places), np.concatenate(products), minlength=size * size), np.float64)


def _triangle_inverted(triangle: Reals) -> Reals:
    """The inverse of a lower triangle, by halves: nearly all of it is matrix products."""
    size = len(triangle)
    if size <= _LEAF:
        return np.asarray(np.linalg.inv(triangle), np.float64)
    half = size // 2
    first, second = _triangle_inverted(triangle[:half, :half]), _triangle_inverted(triangle[half:, half:])
    inverse = np.zeros_like(triangle)
    inverse[:half, :half] = first
    inverse[half:, half:] = second
    inverse[half:, :half] = -second @ (triangle[half:, :half] @ first)
    return inverse


def _inverted(block: Matrix) -> Matrix:
    """The inverse of a symmetric positive definite matrix by halves; single precision, so only if well conditioned."""
    size = len(block)
    if size <= _LEAF:
        return np.asarray(np.linalg.inv(block), np.float32)
    half = size // 2
    first = _inverted(block[:half, :half])
    side = block[half:, :half] @ first
    second = _inverted(np.asarray(block[half:, half:] - side @ block[:half, half:], np.float32))
    across = second @ side
    inverse = np.empty_like(block)
    inverse[:half, :half] = first + side.T @ across
    inverse[half:, :half] = -across
    inverse[:half, half:] = -across.T
    inverse[half:, half:] = second
    return inverse
