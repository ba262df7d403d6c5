"""Drops families of candidates whose right answer a linear model guesses from the text alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Candidate,
    Dropped,
    FamilyRows,
    GatherResult,
    Kept,
    LengthUnit,
    Table,
    find_ngrams,
    join_shared_answers,
    predictability,
)
from benchbuilder.steps.base import Gather, Port


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

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Every candidate, kept or dropped."""
        given = list(tables["each"])
        rows = sorted(given, key=lambda row: row.id)
        rows = rows if self.spec.target == "pair" else [row for row in rows if row.type == "tf"]
        scores = self._family_scores(rows)
        limit = int(self.spec.most * len(scores))
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        dropped = {name for name in ranked[:limit] if scores[name] > self.spec.tau}
        used = {row.id for row in rows}
        notes: dict[str, Any] = {"families": len(scores), "dropped": len(dropped)}
        if scores:
            notes["mean"] = round(float(np.mean(list(scores.values()))), 4)

        def outcome(row: Candidate) -> Kept | Dropped:
            family = row.family or row.fact
            if row.id in used and family in dropped:
                return Dropped("predictable", f"{scores[family]:.2f} over {self.spec.splits} splits")
            return Kept(row)

        return GatherResult([(row.id, [outcome(row)]) for row in given], notes=notes)

    def _family_scores(self, rows: Sequence[Candidate]) -> dict[str, float]:
        """The mean probability of the right label, by family; nothing if there is only one label."""
        if not rows or (self.spec.target == "verdict" and len({row.expected for row in rows}) < 2):
            return {}
        names = {name: at for at, name in enumerate(sorted({row.family or row.fact for row in rows}))}
        families = np.array([names[row.family or row.fact] for row in rows], np.int64)
        folds = join_shared_answers([row.family or row.fact for row in rows],
                                    [(row.answer, row.answer_wrong) for row in rows],
                                    [row.wrong_from == "rows" for row in rows])  # fmt: skip
        groups = {name: at for at, name in enumerate(sorted(set(folds)))}
        apart = np.array([groups[name] for name in folds], np.int64)
        table = (self._pair_rows if self.spec.target == "pair" else self._verdict_rows)(rows, apart)
        chances = predictability(table, self.spec.splits, self.spec.held_out, self.context.seed)
        means = np.bincount(families, chances) / np.bincount(families)
        return {name: float(means[at]) for name, at in names.items()}

    def _verdict_rows(self, rows: Sequence[Candidate], families: Any) -> FamilyRows:
        """The n-grams of each question."""
        words = find_ngrams((row.context + row.question for row in rows), self.spec.unit)
        labels = np.array([1 if row.expected == "yes" else -1 for row in rows], np.int64)
        return FamilyRows(words.texts, words.grams, np.ones(len(words.texts)), max(1, words.size), labels, families)

    def _pair_rows(self, rows: Sequence[Candidate], families: Any) -> FamilyRows:
        """The n-grams of each right answer minus those of the wrong one."""
        texts = [*(row.answer for row in rows), *(row.answer_wrong for row in rows)]
        words = find_ngrams(texts, self.spec.unit)
        wrong = words.texts >= len(rows)
        width = max(1, words.size)
        keys, inverse = np.unique((words.texts - len(rows) * wrong) * width + words.grams, return_inverse=True)
        values = np.bincount(inverse, np.where(wrong, -1.0, 1.0), minlength=len(keys)).astype(float)
        owners, grams = np.divmod(keys[values != 0], width)
        labels = np.ones(len(rows), np.int64)
        return FamilyRows(owners, grams, values[values != 0], width, labels, families, signed=True)
