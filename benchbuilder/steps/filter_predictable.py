"""Drops families of candidates whose right answer a linear model guesses from the text alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Candidate,
    FilterResult,
    LazyTexts,
    LengthUnit,
    Matrix,
    Table,
    join_shared_answers,
    kernel_inverse,
    texts_once,
)
from benchbuilder.steps.balance.problem import Floats, Ints
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.ngrams import NgramNumbers

_compute: Any = pc
_TEXTS = 8_192
"""Candidates whose n-grams are looked at together."""


class FilterPredictableSpec(StepSpec):
    """What is guessed, and which families are dropped."""

    target: Literal["verdict", "pair"] = "verdict"
    """``verdict``: the verdict of true/false candidates, from their question; ``pair``: which of the two answers of a
    candidate is right, from the answers alone."""
    unit: LengthUnit = "characters"
    """The unit of n-grams of one to three."""
    splits: Annotated[int, Field(ge=1)] = 64
    held_out: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The proportion of families that is held out in each split."""
    tau: Annotated[float, Field(ge=0.5, le=1)] = 0.75
    """Families with a higher mean probability of the right label are dropped."""
    most: Annotated[float, Field(ge=0, le=1)] = 0.2
    """At most this proportion of the families is dropped, the most predictable first."""


class FilterPredictable(Gather):
    """Drops whole families that a linear model guesses right from the n-grams of other families.

    It needs no design of the questions. But it removes easy knowledge too, and scores of the same n-grams mean nothing
    afterwards: audit with other views. Open-ended candidates have no verdict and are kept, unless pairs are guessed.
    """

    kind = "filter_predictable"
    version = 2
    spec_class = FilterPredictableSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Candidate)}
    reasons: ClassVar[Mapping[str, str]] = {"predictable": "The text of other families gives its verdict away."}

    spec: FilterPredictableSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult:
        """Every candidate, kept or dropped."""
        table = tables["each"]
        order = self._order(table)
        families = texts_once(_family_names(table, order))
        scores = self._family_scores(table, order, families)
        limit = int(self.spec.most * len(scores))
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        dropped = {name for name in ranked[:limit] if scores[name] > self.spec.tau}
        notes: dict[str, Any] = {"families": len(scores), "dropped": len(dropped)}
        if scores:
            notes["mean"] = round(float(np.mean(list(scores.values()))), 4)
        reasons: list[str | None] = [None] * len(table)
        details = [""] * len(table)
        for place, family in zip(order.tolist(), families, strict=True):
            if family in dropped:
                reasons[place] = "predictable"
                details[place] = f"{scores[family]:.2f} over {self.spec.splits} splits"
        return FilterResult(reasons, details, notes=notes)

    def _order(self, table: Table[Any]) -> Any:
        """The positions of the candidates that have the target, in the order of their ids."""
        order = _compute.sort_indices(_column(table, "id")).to_numpy()
        if self.spec.target == "pair":
            return order[_compute.not_equal(_column(table, "answer_wrong"), "").to_numpy()[order]]
        return order[_compute.equal(_column(table, "type"), "tf").to_numpy()[order]]

    def _family_scores(self, table: Table[Any], order: Any, names: Sequence[str]) -> dict[str, float]:
        """The mean probability of the right label, by family; nothing if there is only one label."""
        labels = np.ones(len(order), np.int64)
        if self.spec.target == "verdict":
            expected = _column(table, "expected", order)
            labels[_compute.not_equal(expected, "yes").to_numpy()] = -1
            names = names if len(expected.unique()) > 1 else ()
        if not names:
            return {}
        rows = self._rows(table, order, labels, _numbers(_folds(table, order, names))[1])
        chances = predictability(rows, self.spec.splits, self.spec.held_out, self.context.seed, self.context.cache)
        different, families = _numbers(names)
        means = np.bincount(families, chances) / np.bincount(families)
        return dict(zip(different, means.tolist(), strict=True))

    def _rows(self, table: Table[Any], order: Any, labels: Any, families: Any) -> FamilyRows:
        """The n-grams of each question, or of each right answer minus those of the wrong one."""
        count, signed = len(order), self.spec.target == "pair"
        words = NgramNumbers(self._texts(table, order), self.spec.unit)
        width, parts = max(1, words.size), list[tuple[Any, Any, Any]]()
        for first in range(0, count, _TEXTS):
            stop = min(first + _TEXTS, count)
            owners, grams = words.between(first, stop)
            values = np.ones(len(owners), np.int8)
            if signed:
                others, their = words.between(count + first, count + stop)
                keys = owners * width + grams, (others - count) * width + their
                owners, grams = np.divmod(np.setxor1d(*keys, assume_unique=True), width)
                values = np.where(np.isin(owners * width + grams, keys[0], assume_unique=True), 1, -1).astype(np.int8)
            parts.append((np.bincount(owners - first, minlength=stop - first), grams.astype(np.int32), values))
        del words
        sizes, indices, values = (np.concatenate(held) for held in zip(*parts, strict=True))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return FamilyRows(starts, indices, values, width, labels, families, signed=signed)

    def _texts(self, table: Table[Any], order: Any) -> Iterator[str]:
        """The question of each candidate, or all right answers and then all wrong ones."""
        if self.spec.target == "pair":
            return chain.from_iterable(LazyTexts(_column(table, name, order)) for name in ("answer", "answer_wrong"))
        parts = (LazyTexts(_column(table, name, order)) for name in ("context", "question"))
        return map("".join, zip(*parts, strict=True))


def _column(table: Table[Any], name: str, order: Any = None) -> pa.ChunkedArray[Any]:
    """A column of texts, in this order."""
    chunks = [chunk for piece in table.batches([name]) for chunk in piece.column(name).chunks]
    column = pa.chunked_array(chunks, pa.string())
    return column if order is None else column.take(pa.array(order))


def _family_names(table: Table[Any], order: Any) -> Any:
    family, fact = (_column(table, name, order).combine_chunks() for name in ("family", "fact"))
    return _compute.if_else(_compute.equal(family, ""), fact, family)


def _folds(table: Table[Any], order: Any, names: Sequence[str]) -> list[str]:
    """The family of each candidate, joined with those that share an answer that another row lent."""
    lent: Any = _compute.equal(_column(table, "wrong_from", order), "rows")
    answers = (LazyTexts(_column(table, name, order)) for name in ("answer", "answer_wrong"))
    return join_shared_answers(names, zip(*answers, strict=True), lent.to_pylist())


def _numbers(names: Sequence[str]) -> tuple[list[str], Any]:
    """The different names, sorted, and for each name its place among them."""
    different = sorted(set(names))
    number_of = {name: at for at, name in enumerate(different)}
    return different, np.fromiter((number_of[name] for name in names), np.int64, len(names))


_STEEPEST = 20.0
"""The largest slope, in standard deviations of predictions: beyond it, a probability is 0 or 1."""
_ADDED = 8192
"""So many numbers are added up at once, as numpy does in a longer array: sums have the same bits."""
_NONE = np.zeros(0, np.float32)


@dataclass(frozen=True)
class FamilyRows:
    """Sparse rows: row i has the features ``indices[indptr[i]:indptr[i + 1]]``, with `values` at the same places.

    `labels` are 1 and -1; `families` has the number of each row's family. `signed`: a row is the features of a right
    thing minus those of a wrong one, and every label is 1.
    """

    indptr: Ints
    indices: NDArray[np.int32]
    values: NDArray[np.int8]
    width: int
    labels: Ints
    families: Ints
    signed: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.labels)

    def entries(self, first: int, stop: int) -> tuple[Ints, Ints, Floats]:
        """The row, the feature and the value of each entry of some rows; rows have length 1, or are empty."""
        ends = self.indptr[first : stop + 1]
        some, owner = slice(ends[0], ends[-1]), np.repeat(np.arange(stop - first), np.diff(ends))
        values = self.values[some].astype(float)
        lengths = np.sqrt(np.bincount(owner, values**2, minlength=stop - first))
        return owner + first, self.indices[some].astype(np.int64), values / lengths[owner]


def predictability(table: FamilyRows, splits: int, share: float, seed: int, scratch: Path | None = None) -> Floats:
    """For each row, the mean probability of its label when its family is held out.

    In each of `splits`, a random `share` of the families is held out, and a ridge without an intercept is trained on
    the rest. Labels are coded so that no prior is learnt. One slope, fitted to all held-out predictions, turns
    predictions into probabilities. A row that was never held out has one half. A large table lies in a file in the
    folder `scratch`, if there is one.
    """
    weights = _code(table)
    inverse = kernel_inverse(table, scratch)
    solved = inverse.times(weights[:, None])
    count = int(table.families.max()) + 1 if table.rows else 0
    draws = np.random.default_rng(seed)
    drawn = list[tuple[NDArray[np.int32], Matrix]]()
    for _ in range(splits if count else 0):
        out = np.zeros(count, bool)
        out[draws.permutation(count)[: max(1, round(share * count))]] = True
        held = np.flatnonzero(out[table.families])
        predicted = weights[held, None] - inverse.solved(held, solved[held])
        drawn.append((held.astype(np.int32), predicted[:, 0] * table.labels[held].astype(np.float32)))
    slope = _slope(np.concatenate([_NONE, *(margins for _, margins in drawn)]))
    times, sums = np.zeros(table.rows, np.int64), np.zeros(table.rows)
    for held, margins in drawn:
        times[held] += 1
        sums[held] += 1 / (1 + np.exp(-slope * margins.astype(float)))
    return np.where(times > 0, sums / np.maximum(times, 1), 0.5)


def _code(table: FamilyRows) -> Matrix:
    """The target of each row: both labels weigh the same."""
    if table.signed:
        return np.ones(table.rows, np.float32)
    positive = float((table.labels > 0).mean()) if table.rows else 0.5
    if positive in (0.0, 1.0):
        raise ValueError("all rows have the same label")
    return np.where(table.labels > 0, 0.5 / positive, -0.5 / (1 - positive)).astype(np.float32)


def _slope(margins: Matrix) -> float:
    """The slope under which the right labels are most probable; 0 if predictions are no better than chance."""
    spread = float(np.sqrt(_sum(margins, np.square) / max(len(margins), 1)))
    if spread == 0 or _sum(margins, np.positive) <= 0:
        return 0.0
    low, high = 0.0, _STEEPEST / spread
    for _ in range(40):
        middle = (low + high) / 2
        rising = _sum(margins, partial(_gain, middle)) > 0
        low, high = (middle, high) if rising else (low, middle)
    return low


def _gain(slope: float, margins: Floats) -> Floats:
    """How the probability of each right label grows with the slope."""
    return margins / (1 + np.exp(np.minimum(slope * margins, 500)))


def _sum(margins: Matrix, of: Callable[[Floats], Floats]) -> float:
    """The sum of a function of all margins, in double precision."""
    starts = range(0, len(margins), _ADDED)
    return sum((float(of(margins[start : start + _ADDED].astype(float)).sum()) for start in starts), 0.0)
