"""Difficulty by item response theory, as far as there are models for it, and a subset that keeps the ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Bools, Codes, Texts
from benchbuilder.evaluation.analysis.section import LEAST_MODELS, AnalysisSection, AnalysisSettings, too_few_models
from benchbuilder.evaluation.stats.item_response import ItemResponse, fit_item_response
from benchbuilder.evaluation.stats.stratified import benjamini_hochberg, quantile_strata

FEWEST_FOR_FLAG = 20
"""With fewer models nothing can be said of how steeply an item separates them."""
FEWEST_FOR_FIT = 50
"""From here on, steepness, test information and fit are shown."""
_FLAT = 0.65
_ABILITIES: Floats = np.array([half / 2 for half in range(-6, 7)], np.float64)
_PER_GROUP, _MOST_GROUPS = 10, 10


@dataclass(frozen=True)
class DifficultyScale(AnalysisSection):
    """Items and models on one scale.

    Attributes:
        models: The number of models.
        ids: Ids of the items that 5 models or more answered.
        b: The difficulty of each by the model of one parameter, in logits: higher is harder.
        low: Lower bound of its interval.
        high: Its upper bound.
        spread: The standard deviation of abilities between models, in logits.
        names: The models.
        ability: The ability of each, in logits; 0 is the mean of models.
        ability_error: Its standard error.
        flat: Whether an item has less than 65 % of the steepness of the median item; from 20 models on.
        a: The steepness by the model of two parameters; from 50 models on.
        misfit: p of a test that answers go with the model of two parameters, adjusted for the number of items.
        abilities: Abilities, in standard deviations between models, for `information`.
        information: What all items together say about such an ability; its root is 1 by the standard error.
        converged: Whether the estimates came to rest.
        why: Why there is no difficulty of this kind, or why there is no more than difficulty.
    """

    models: int
    ids: Texts
    b: Floats
    low: Floats
    high: Floats
    spread: float
    names: tuple[str, ...]
    ability: Floats
    ability_error: Floats
    flat: Bools
    a: Floats
    misfit: Floats
    abilities: Floats
    information: Floats
    converged: bool
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """What is shown, and by which rule."""
        if not len(self.ids):
            return []
        said = [t("analysis.difficulty", n=len(self.ids), models=self.models, low=f"{self.b.min():.1f}",
                  high=f"{self.b.max():.1f}", spread=f"{self.spread:.2f}")]  # fmt: skip
        if self.why is not None:
            said.append(self.why.text(t))
        if len(self.flat):
            said.append(t("analysis.flat", n=int(self.flat.sum())))
        if len(self.misfit):
            said.append(t("analysis.misfit", n=int((self.misfit < 0.05).sum()), of=int((~np.isnan(self.misfit)).sum())))
        return said if self.converged else [*said, t("analysis.not_converged")]

    def item_columns(self) -> Mapping[str, Any]:
        """Difficulty, and what else there are models enough for."""
        columns = {"b": self.b, "b_low": self.low, "b_high": self.high}
        further = {"flat": self.flat, "a": self.a, "misfit": self.misfit}
        columns |= {name: values for name, values in further.items() if len(values)}
        return {name: dict(zip(self.ids, values.tolist(), strict=True)) for name, values in columns.items()}

    def model_columns(self) -> Mapping[str, Any]:
        """Abilities."""
        columns = {"ability": self.ability, "ability_error": self.ability_error}
        return {name: dict(zip(self.names, values.tolist(), strict=True)) for name, values in columns.items()}


def item_difficulty(answered: AnsweredItems, settings: AnalysisSettings) -> DifficultyScale:
    """Fit one parameter from 5 models on, two from 20 on."""
    models = answered.models_only()
    count = len(models.systems)
    why = too_few_models(count)
    models = models.of_items((models.asked.sum(0) >= LEAST_MODELS) & (why is None))
    none = np.zeros(0)
    if not len(models.items):
        return DifficultyScale(
            count, models.items.ids, none, none, none, np.nan, (), none, none, none > 0, none, none, none, none, True,
            why or AnalysisNote("analysis.too_few", {"least": LEAST_MODELS, "n": int(answered.asked.sum(0).max())}),
        )  # fmt: skip
    fit = fit_item_response(models.scores, 1)
    half = NormalDist().inv_cdf(0.5 + settings.spec.level / 2) * fit.b_error
    flat, a, misfit, abilities, information = none > 0, none, none, none, none
    why = AnalysisNote("analysis.difficulty_alone", {"least": FEWEST_FOR_FLAG, "n": count})
    converged = fit.converged
    if count >= FEWEST_FOR_FLAG:
        two = fit_item_response(models.scores, 2)
        flat, converged = two.a < _FLAT * np.median(two.a), converged and two.converged
        why = AnalysisNote("analysis.flags_alone", {"least": FEWEST_FOR_FIT, "n": count})
        if count >= FEWEST_FOR_FIT:
            a, misfit, why = two.a, item_misfit(models.scores, two), None
            abilities, information = _ABILITIES, two.information(_ABILITIES).sum(1)
    return DifficultyScale(
        models=count, ids=models.items.ids, b=fit.b, low=fit.b - half, high=fit.b + half, spread=fit.spread,
        names=tuple(system.name for system in models.systems), ability=fit.ability, ability_error=fit.ability_error,
        flat=flat, a=a, misfit=misfit, abilities=abilities, information=information, converged=converged, why=why,
    )  # fmt: skip


def item_misfit(scores: Floats, fit: ItemResponse) -> Floats:
    """p for each item: do groups of models of like ability score as the fitted curve says? Adjusted for the number.

    Models are cut into groups of ten or more. Of an item, the squared standardised residuals of the groups are added.
    """
    groups = quantile_strata(fit.ability, max(2, min(_MOST_GROUPS, len(scores) // _PER_GROUP)))
    expected, asked = fit.expected(fit.ability), ~np.isnan(scores)
    residual = np.where(asked, scores - expected, 0.0)
    variance = np.where(asked, expected * (1 - expected), 0.0)
    squares, free = np.zeros(scores.shape[1]), np.full(scores.shape[1], -2)
    for group in range(int(groups.max()) + 1):
        here = groups == group
        total = variance[here].sum(0)
        squares += np.where(total > 0, residual[here].sum(0) ** 2 / np.where(total > 0, total, 1.0), 0.0)
        free += total > 0
    return benjamini_hochberg(np.where(free > 0, _chi_square_tail(squares, np.maximum(free, 1)), np.nan))


def _chi_square_tail(values: Floats, free: Floats) -> Floats:
    """The probability of a higher chi-square, by the cube root (Wilson and Hilferty)."""
    spread = 2 / (9 * free)
    z = ((values / free) ** (1 / 3) - (1 - spread)) / np.sqrt(spread)
    normal = NormalDist()
    return np.array([1 - normal.cdf(one) for one in z.tolist()])


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
