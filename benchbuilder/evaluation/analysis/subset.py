"""A subset of the items that keeps the ranking of models, and how far it does so for models that chose no item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Codes, Texts
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings
from benchbuilder.evaluation.stats.item_response import fit_item_response

FEWEST_MODELS = 20
"""With fewer models, no subset is offered: half of them choose it, half of them test it."""
_SPLITS, _ROUNDS = 20, 15


@dataclass(frozen=True)
class ItemSubset(AnalysisSection):
    """The items that say most about how able models are, and what held-out models say of such a choice.

    Attributes:
        ids: Ids, the most informative first.
        of: The number of items among which they were chosen.
        models: The number of models.
        splits: How often half of the models chose a subset and the other half tested it.
        tau: Kendall's tau between the ranking by the subset and by all items, among held-out models: the median.
        low: Its 5th percentile over the splits.
        high: Its 95th percentile.
        random_tau: The median for as many items drawn at random.
        random_low: Its 5th percentile.
        random_high: Its 95th percentile.
        why: Why there is no subset, if one was asked for.
    """

    ids: Texts
    of: int
    models: int
    splits: int
    tau: float
    low: float
    high: float
    random_tau: float
    random_low: float
    random_high: float
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """What the subset keeps."""
        if self.why is not None:
            return [self.why.text(t)]
        if not len(self.ids):
            return []
        figures = {
            name: f"{getattr(self, name):.2f}"
            for name in ("tau", "low", "high", "random_tau", "random_low", "random_high")
        }
        return [t("analysis.subset", n=len(self.ids), of=self.of, models=self.models, splits=self.splits, **figures)]

    def item_columns(self) -> Mapping[str, Any]:
        """The place in the subset, from 1."""
        return {"subset": {name: place for place, name in enumerate(self.ids, 1)}} if len(self.ids) else {}


def item_subset(answered: AnsweredItems, settings: AnalysisSettings) -> ItemSubset:
    """Choose `subset` items by information, if there are models enough."""
    models, size = answered.models_only(), settings.spec.subset
    count, total = len(models.systems), len(models.items)
    nothing = models.items.ids[:0]
    if not size or count < FEWEST_MODELS or size >= total:
        values = {"least": FEWEST_MODELS, "n": count, "size": size, "of": total}
        few = "analysis.subset_few" if count < FEWEST_MODELS else "analysis.subset_large"
        why = AnalysisNote(few, values) if size else None
        nan = float("nan")
        return ItemSubset(nothing, total, count, 0, nan, nan, nan, nan, nan, nan, why)
    random = np.random.default_rng(settings.seed)
    chosen_tau, random_tau = np.zeros(_SPLITS), np.zeros(_SPLITS)
    for split in range(_SPLITS):
        order = random.permutation(count)
        choosing, held_out = models.scores[order[: count // 2]], models.scores[order[count // 2 :]]
        chosen_tau[split] = _kept_order(held_out, most_informative(choosing, size))
        random_tau[split] = _kept_order(held_out, random.permutation(total)[:size])
    low, tau, high = np.quantile(chosen_tau, (0.05, 0.5, 0.95))
    random_low, random_middle, random_high = np.quantile(random_tau, (0.05, 0.5, 0.95))
    return ItemSubset(
        models.items.ids[most_informative(models.scores, size)], total, count, _SPLITS, float(tau), float(low),
        float(high), float(random_middle), float(random_low), float(random_high),
    )  # fmt: skip


def most_informative(scores: Floats, size: int) -> Codes:
    """The places of the items that say most about the abilities of these models, by the model of two parameters."""
    fit = fit_item_response(scores, 2, rounds=_ROUNDS)
    return np.argsort(-fit.information(fit.ability).mean(0), kind="stable")[:size]


def _kept_order(scores: Floats, places: Codes) -> float:
    """Kendall's tau (b) between the mean scores on some items and on all."""
    return kendall_tau(_means(scores[:, places]), _means(scores))


def _means(scores: Floats) -> Floats:
    asked = ~np.isnan(scores)
    return np.where(asked, scores, 0.0).sum(1) / np.maximum(asked.sum(1), 1)


def kendall_tau(first: Floats, second: Floats) -> float:
    """Kendall's tau (b) of two rankings; nan if one of them ties everything."""
    signs = [np.sign(values[:, None] - values) for values in (first, second)]
    spread = float(np.sqrt((signs[0] ** 2).sum() * (signs[1] ** 2).sum()))
    return float((signs[0] * signs[1]).sum()) / spread if spread else float("nan")
