"""Drops families of candidates whose right answer a linear model guesses from the text alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import Candidate, FilterResult, LazyTexts, LengthUnit, Table, join_shared_answers, texts_once
from benchbuilder.steps.balance.predictability import FamilyRows, predictability
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
            return order
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
