"""What a view says about items, as sparse rows: one row per item, in compressed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


class CrossedNames(Sequence[str]):
    """The names of features that are crossed with a label: first those of items without it. They are made when read."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def __len__(self) -> int:
        return 2 * len(self._names)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        side, place = divmod(range(len(self))[index], len(self._names))
        return f"{self._names[place]} [{'-+'[side]}]"


@dataclass(frozen=True, eq=False)
class ViewFeatures:
    """The features of each item: row i has the `indices` and `values` from `indptr[i]` to `indptr[i + 1]`.

    The indices of a row ascend. `names` are the features by index, in alphabetical order within a part.
    `one_hot`: every row has exactly one feature of value 1. `signed`: a row is the features of the right answer minus
    those of the wrong one. `groups`: rows of different groups share no feature; they can be solved separately.
    """

    indptr: Integers
    indices: Integers
    values: Reals
    names: Sequence[str]
    one_hot: bool = False
    signed: bool = False
    groups: Integers | None = None

    @property
    def rows(self) -> int:
        """The number of items."""
        return len(self.indptr) - 1

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.names)

    @property
    def row_of_entry(self) -> Integers:
        """The row of each entry of `indices`."""
        return np.repeat(np.arange(self.rows), np.diff(self.indptr))

    def entries(self, first: int, stop: int) -> tuple[Integers, Integers, Reals]:
        """The row, the feature and the value of each entry of some rows."""
        ends = self.indptr[first : stop + 1]
        some = slice(ends[0], ends[-1])
        return np.repeat(np.arange(first, stop), np.diff(ends)), self.indices[some], self.values[some]

    def take(self, rows: Sequence[int] | NDArray[Any]) -> ViewFeatures:
        """These rows, in this order."""
        chosen = np.asarray(rows, np.int64)
        lengths = np.diff(self.indptr)[chosen]
        indptr = _pointers(lengths)
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[chosen] - indptr[:-1], lengths)
        groups = None if self.groups is None else self.groups[chosen]
        return replace(self, indptr=indptr, indices=self.indices[entries], values=self.values[entries], groups=groups)

    def crossed(self, label: Sequence[bool] | NDArray[np.bool_]) -> ViewFeatures:
        """Every feature once for the items with the label and once for the others (``x form``)."""
        side = np.asarray(label, np.int64)
        indices = self.indices + self.width * side[self.row_of_entry]
        groups = side if self.groups is None else self.groups * 2 + side
        return replace(self, indices=indices, names=CrossedNames(self.names), groups=groups)

    def unit_rows(self) -> ViewFeatures:
        """The same with rows of length 1; empty rows stay empty."""
        lengths = np.sqrt(np.bincount(self.row_of_entry, self.values**2, minlength=self.rows))
        lengths[lengths == 0] = 1
        return replace(self, values=self.values / lengths[self.row_of_entry])

    def key(self) -> bytes:
        """Equal for equal rows, whatever the names of their features."""
        digest = blake2b(bytes([self.signed]), digest_size=16)
        for part in (self.indptr, self.indices, self.values):
            digest.update(np.ascontiguousarray(part).data)
        return digest.digest()


def category_rows(categories: Sequence[str]) -> ViewFeatures:
    """One feature per item: its category. "" is a category like any other."""
    names, codes = np.unique(np.asarray(categories, np.str_), return_inverse=True)
    rows = len(categories)
    return ViewFeatures(
        np.arange(rows + 1), codes.astype(np.int64), np.ones(rows), tuple(map(str, names)), one_hot=True
    )


def sparse_rows(rows: Sequence[Mapping[str, float] | Sequence[str]]) -> ViewFeatures:
    """Rows of features with values, or of features alone: then each is present once, however often it is named."""
    tables = [row if isinstance(row, Mapping) else dict.fromkeys(row, 1.0) for row in rows]
    return _from_tables(tables)


def signed_rows(
    right: Sequence[Mapping[str, float] | Sequence[str]], wrong: Sequence[Mapping[str, float] | Sequence[str]]
) -> ViewFeatures:
    """The features of each right answer minus those of its wrong answer; what both have is left out.

    A category of an answer is a row of one feature: ``[category]``.
    """
    if len(right) != len(wrong):
        raise ValueError(f"{len(right)} right answers cannot be paired with {len(wrong)} wrong ones")
    tables: list[dict[str, float]] = []
    for one, other in zip(right, wrong, strict=True):
        table = dict(one) if isinstance(one, Mapping) else dict.fromkeys(one, 1.0)
        for name, value in other.items() if isinstance(other, Mapping) else dict.fromkeys(other, 1.0).items():
            table[name] = table.get(name, 0.0) - value
        tables.append({name: value for name, value in table.items() if value})
    return replace(_from_tables(tables), signed=True)


def joined(parts: Sequence[ViewFeatures]) -> ViewFeatures:
    """All features of several views side by side; each view weighs the same (its rows have length 1)."""
    if len({(part.rows, part.signed) for part in parts}) != 1:
        raise ValueError("views can only be joined if they are of the same items, all signed or all unsigned")
    units = [part.unit_rows() for part in parts]
    offsets = np.cumsum([0, *(part.width for part in units)])
    owner = np.concatenate([part.row_of_entry for part in units])
    indices = np.concatenate([part.indices + offset for part, offset in zip(units, offsets[:-1], strict=True)])
    values = np.concatenate([part.values for part in units])
    order = np.argsort(owner, kind="stable")
    names = tuple(name for part in units for name in part.names)
    indptr = _pointers(np.bincount(owner, minlength=units[0].rows))
    return ViewFeatures(indptr, indices[order], values[order], names, signed=units[0].signed)


def _from_tables(tables: Sequence[Mapping[str, float]]) -> ViewFeatures:
    vocabulary: dict[str, int] = {}
    found = [vocabulary.setdefault(name, len(vocabulary)) for table in tables for name in table]
    values = np.array([value for table in tables for value in table.values()], np.float64)
    names = sorted(vocabulary)
    place = np.empty(len(names), np.int64)
    place[[vocabulary[name] for name in names]] = np.arange(len(names))
    indices = place[np.array(found, np.int64)] if found else np.zeros(0, np.int64)
    lengths = np.array([len(table) for table in tables], np.int64)
    order = np.lexsort((indices, np.repeat(np.arange(len(tables)), lengths)))
    return ViewFeatures(_pointers(lengths), indices[order], values[order], tuple(names))


def _pointers(lengths: NDArray[Any]) -> Integers:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
