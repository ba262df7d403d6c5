"""Items, answers and scores of an evaluation as columns: a million items of ten systems fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core import Floats, Item, RowIndex, Table
from benchbuilder.evaluation.stats.statistic import Bools
from benchbuilder.exporters import ReportEntry, entry_of

Places = NDArray[np.int64]
"""Positions of items in the benchmark."""


class TextColumn:
    """A column with few different texts. `names` are these texts, by where they first occur."""

    def __init__(self, codes: NDArray[np.int32], names: Sequence[str]) -> None:
        self.codes: NDArray[np.int32] = codes
        self.names: Sequence[str] = names

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextColumn:
        """The column of these texts."""
        numbers: dict[str, int] = {}
        codes = np.fromiter((numbers.setdefault(text, len(numbers)) for text in texts), np.int32)
        return cls(codes, list(numbers))

    def __getitem__(self, place: int) -> str:
        return self.names[int(self.codes[place])]

    def __iter__(self) -> Iterator[str]:
        codes: list[int] = self.codes.tolist()
        return (self.names[code] for code in codes)

    def among(self, names: Iterable[str]) -> Bools:
        """The rows whose text is one of `names`."""
        wanted = set(names)
        return np.isin(self.codes, [code for code, name in enumerate(self.names) if name in wanted])


@dataclass(frozen=True)
class AskedItems:
    """The items of a benchmark in their order.

    `clusters` is the item family of each, or its id without one; `facts` is its fact, or its id. `made_of` are all
    facts that it is made of, with a space between: of a translated item, also the original.
    """

    ids: Sequence[str]
    sources: TextColumn
    types: TextColumn
    forms: TextColumn
    expected: TextColumn
    wrong_from: TextColumn
    clusters: TextColumn
    facts: TextColumn
    made_of: TextColumn

    @classmethod
    def of(cls, table: Table[Any]) -> AskedItems:
        """The columns of a table of items."""
        numbers: tuple[dict[str, int], ...] = tuple({} for _ in range(8))
        codes: list[NDArray[np.int32]] = []
        ids: list[str] = []
        for _, window in table.windows(_WINDOW):
            texts = [_texts_of(entry_of(row)) for row in window]
            ids += [text[0] for text in texts]
            known = [
                [seen.setdefault(one, len(seen)) for seen, one in zip(numbers, text[1:], strict=True)] for text in texts
            ]
            codes.append(np.array(known, np.int32).reshape(-1, len(numbers)))
        joined = np.concatenate([np.zeros((0, len(numbers)), np.int32), *codes])
        return cls(ids, *(TextColumn(joined[:, at].copy(), list(seen)) for at, seen in enumerate(numbers)))

    def __len__(self) -> int:
        return len(self.ids)

    def index(self) -> RowIndex:
        """Finds the places of ids."""
        return RowIndex(pa.array(self.ids[at : at + _WINDOW], pa.string()) for at in range(0, len(self), _WINDOW))


_WINDOW, _FACT = 8_192, "fact-"


def _texts_of(entry: ReportEntry) -> tuple[str, ...]:
    row: Any = entry.row
    family = row.family_name if isinstance(row, Item) else row.id
    fact, wrong_from = (str(getattr(row, name, "")) for name in ("fact", "wrong_from"))
    made_of = " ".join(one for one in row.parents if one.startswith(_FACT))
    return row.id, entry.source, entry.type, entry.form, entry.expected, wrong_from, family, fact or row.id, made_of


@dataclass(frozen=True, slots=True)
class ItemValues:
    """A number for some of the items."""

    places: Places
    numbers: Floats

    def __len__(self) -> int:
        return len(self.places)

    def where(self, mask: Bools) -> ItemValues:
        """Those of the items that `mask`, with an entry for each item of the benchmark, marks."""
        kept = mask[self.places]
        return ItemValues(self.places[kept], self.numbers[kept])

    def at(self, places: Places) -> Floats:
        """The numbers of these items, which must have one."""
        return self.numbers[np.searchsorted(self.places, places)]

    def shared(self, other: ItemValues) -> Places:
        """The items that both have a number for."""
        return np.intersect1d(self.places, other.places, assume_unique=True)

    def of_all(self, count: int) -> Iterator[float | None]:
        """The number of each of `count` items, ``None`` without one."""
        for start in range(0, count, _WINDOW):
            low, high = np.searchsorted(self.places, (start, start + _WINDOW))
            numbers: list[float | None] = [None] * min(_WINDOW, count - start)
            for place, number in zip(self.places[low:high].tolist(), self.numbers[low:high].tolist(), strict=True):
                numbers[place - start] = number
            yield from numbers


@dataclass(frozen=True)
class ItemAnswers:
    """How a system answered each item: the outcome, empty without an answer, and the length of the text."""

    outcomes: TextColumn
    lengths: NDArray[np.int32]

    @property
    def missing(self) -> Bools:
        """The items whose answer was never given, by the record of it."""
        return self.outcomes.among(("missing",))


@dataclass(frozen=True)
class ItemScores:
    """The scores of a system by one scorer in one aspect, by the order of the items.

    A number is nan where a score has no value. `ratings` are (rater, value), for the scores of people. `counts` has
    three columns, if every score has three counts.
    """

    places: Places
    numbers: Floats
    labels: TextColumn
    ratings: dict[int, tuple[tuple[str, float], ...]]
    counts: Floats | None = None

    @property
    def has_value(self) -> Bools:
        """The scores that have a value."""
        return ~np.isnan(self.numbers)

    def where(self, kept: Bools) -> ItemScores:
        """Some of these scores."""
        labels = TextColumn(self.labels.codes[kept], self.labels.names)
        counts = None if self.counts is None else self.counts[kept]
        return ItemScores(self.places[kept], self.numbers[kept], labels, self.ratings, counts)
