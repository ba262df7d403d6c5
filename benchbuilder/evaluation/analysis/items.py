"""The item table: how hard each item is, whether it separates models, and its flags."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Texts
from benchbuilder.evaluation.analysis.rest_scores import column_correlations, rest_scores, shares_of_best
from benchbuilder.evaluation.analysis.section import (
    LEAST_MODELS,
    AnalysisSection,
    AnalysisSettings,
    too_few_models,
)

FLAGS = ("saturated", "dead", "negative")


@dataclass(frozen=True)
class ItemTable(AnalysisSection):
    """One entry for each item that a model answered, in every column.

    Attributes:
        models: The number of models.
        families: The number of item families.
        ids: Ids.
        n: The number of models that answered.
        difficulty: Their mean score: 1 is an item that all get right.
        low: Lower bound of the interval of `difficulty`, for more models of this kind (Wilson).
        high: Its upper bound.
        item_rest: Correlation of the score with the mean score on all other families; nan below 5 models.
        item_rest_low: Lower bound of its interval.
        item_rest_high: Its upper bound.
        best_miss: How much of the score the best models miss.
        without: The share of answers without a verdict: invalid, refused, empty or filtered.
        flags: ``saturated``, ``dead`` or ``negative``; empty without one.
        least_correlation: The lowest correlation that so many models can tell from none.
        why: Why items are not analysed, if they are not.
    """

    models: int
    families: int
    ids: Texts
    n: Floats
    difficulty: Floats
    low: Floats
    high: Floats
    item_rest: Floats
    item_rest_low: Floats
    item_rest_high: Floats
    best_miss: Floats
    without: Floats
    flags: Texts
    least_correlation: float
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many items were answered, and how many have a flag."""
        if not len(self.ids):
            return [t("analysis.no_models")]
        said = [t("analysis.items_lead", n=len(self.ids), families=self.families, models=self.models,
                  share=t.percent(float(self.difficulty.mean())))]  # fmt: skip
        if self.why is not None:
            return [*said, self.why.text(t)]
        counts = {flag: int((self.flags == flag).sum()) for flag in FLAGS}
        said.append(t("analysis.flags", **counts))
        return [*said, t("analysis.least_correlation", n=self.models, r=f"{self.least_correlation:.2f}")]

    def item_columns(self) -> Mapping[str, Any]:
        """All columns but the ids."""
        names = (
            "n", "difficulty", "low", "high", "item_rest", "item_rest_low", "item_rest_high", "best_miss", "without",
            "flags",
        )  # fmt: skip
        return {name: dict(zip(self.ids, getattr(self, name).tolist(), strict=True)) for name in names}


def item_table(answered: AnsweredItems, settings: AnalysisSettings) -> ItemTable:
    """The table of the items that models answered."""
    models, spec = answered.models_only(), settings.spec
    why, count = too_few_models(len(models.systems)), models.asked.sum(axis=0)
    safe = np.maximum(count, 1)
    difficulty = np.where(models.asked, models.scores, 0.0).sum(axis=0) / safe
    deviations = NormalDist().inv_cdf(0.5 + spec.level / 2)
    low, high = wilson_interval(difficulty, safe, deviations)
    rest = rest_scores(models)
    item_rest = column_correlations(models.scores, rest)
    item_rest = np.where(count >= LEAST_MODELS, item_rest, np.nan)
    if why is not None:
        item_rest = np.full(len(count), np.nan)
    half = deviations / np.sqrt(np.maximum(count - 3, 1))
    middle = np.arctanh(np.clip(item_rest, -0.999999, 0.999999))
    flags = np.full(len(count), "", np.object_)
    flags[item_rest < spec.dead] = "dead"
    flags[item_rest < 0] = "negative"
    flags[(difficulty > spec.saturated) & (why is None)] = "saturated"
    return ItemTable(
        models=len(models.systems), families=models.family_count, ids=models.items.ids, n=count,
        difficulty=difficulty, low=low, high=high, item_rest=item_rest, item_rest_low=np.tanh(middle - half),
        item_rest_high=np.tanh(middle + half), best_miss=shares_of_best(1 - models.scores, rest, spec.best),
        without=models.without.sum(axis=0) / safe, flags=flags,
        least_correlation=math.tanh(deviations / math.sqrt(max(len(models.systems) - 3, 1))), why=why,
    )  # fmt: skip


def wilson_interval(share: Floats, count: Floats, deviations: float) -> tuple[Floats, Floats]:
    """The interval of a mean of `count` scores from 0 to 1, `deviations` standard errors to each side (Wilson)."""
    square = deviations**2 / count
    middle = (share + square / 2) / (1 + square)
    half = deviations / (1 + square) * np.sqrt(share * (1 - share) / count + square / (4 * count))
    return middle - half, middle + half
