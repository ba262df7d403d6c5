"""Ranks of models with intervals: whole item families are drawn, and models that cannot be told apart share a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Codes
from benchbuilder.evaluation.analysis.family_draws import drawn_means
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings

_FEWEST = 2


@dataclass(frozen=True)
class ModelRanks(AnalysisSection):
    """The models by mean score over the items that all of them answered, the best first; one entry each.

    Attributes:
        names: Models.
        means: Mean scores.
        low: The best rank in the interval, from 1.
        high: The worst rank in the interval.
        place: 1 and the number of models that are surely better: their interval ends above this one's.
        best: How often the model is the best; models that tie share it.
        tau: Kendall's tau of the order in a draw with the order of all items: the median, and the interval.
        items: The number of items that all models answered.
        families: The number of their families.
        why: Why there are no ranks, if there are none.
    """

    names: tuple[str, ...]
    means: Floats
    low: Codes
    high: Codes
    place: Codes
    best: Floats
    tau: tuple[float, float, float]
    items: int
    families: int
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many models may be the best, and how firm the order is."""
        if self.why is not None:
            return [self.why.text(t)]
        first = [name for name, place in zip(self.names, self.place, strict=True) if place == 1]
        tau, low, high = (f"{value:.2f}" for value in self.tau)
        return [t("analysis.ranks", n=len(first), names=", ".join(first), items=self.items, families=self.families,
                  tau=tau, low=low, high=high)]  # fmt: skip

    def model_columns(self) -> Mapping[str, Any]:
        """Place, interval of the rank, and how often a model is the best."""
        columns = {"place": self.place, "rank_low": self.low, "rank_high": self.high, "best": self.best}
        return {name: dict(zip(self.names, values.tolist(), strict=True)) for name, values in columns.items()}


def model_ranks(answered: AnsweredItems, settings: AnalysisSettings) -> ModelRanks:
    """The ranks of the models, by a bootstrap over families."""
    answered = answered.models_only()
    common = answered.of_items(np.logical_and.reduce(answered.asked, axis=0))
    models, families = len(common.systems), common.family_count
    if models < _FEWEST or families < _FEWEST:
        return _no_ranks(AnalysisNote("analysis.ranks_few", {"n": models, "families": families}))
    means = common.scores.mean(axis=1)
    ranks, best, taus = _drawn(common, means, settings)
    edges = [(1 - settings.spec.level) / 2, (1 + settings.spec.level) / 2]
    low, high = np.quantile(ranks, edges, axis=0, method="closest_observation")
    order = np.argsort(-means, kind="stable")
    place = 1 + (high[None, :] < low[:, None]).sum(axis=1)
    tau_low, middle, tau_high = (float(value) for value in np.quantile(taus, [edges[0], 0.5, edges[1]]))
    return ModelRanks(
        tuple(common.systems[number].name for number in order), means[order], low[order].astype(np.int64),
        high[order].astype(np.int64), place[order], best[order], (middle, tau_low, tau_high),
        len(common.items), families,
    )  # fmt: skip


def _no_ranks(why: AnalysisNote) -> ModelRanks:
    whole = np.zeros(0, np.int64)
    nothing = np.zeros(0)
    return ModelRanks((), nothing, whole, whole, whole, nothing, (np.nan, np.nan, np.nan), 0, 0, why)


def _drawn(answered: AnsweredItems, means: Floats, settings: AnalysisSettings) -> tuple[Codes, Floats, Floats]:
    """The ranks of the models in each draw, how often each is the best, and tau of each draw with the whole order."""
    ranks: list[Codes] = []
    shares: list[Floats] = []
    taus: list[Floats] = []
    whole = np.sign(means[:, None] - means[None, :])
    upper = np.triu_indices(len(means), 1)
    for drawn in drawn_means(answered, settings.spec.samples, [settings.seed, 7]):
        signs = np.sign(drawn[:, :, None] - drawn[:, None, :])
        ranks.append(1 + (signs < 0).sum(axis=2))
        first = drawn >= drawn.max(axis=1, keepdims=True)
        shares.append(first / first.sum(axis=1, keepdims=True))
        pairs = (signs * whole)[:, upper[0], upper[1]]
        taus.append(pairs.mean(axis=1))
    return np.concatenate(ranks), np.concatenate(shares).mean(axis=0), np.concatenate(taus)
