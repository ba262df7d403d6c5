"""How far scores hang on the wording: the same questions, asked in several wordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts, safe_ratio
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Bools, Codes, WordedAnswers
from benchbuilder.evaluation.analysis.scoreboard import RIGHT
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings
from benchbuilder.evaluation.stats.intervals import Estimate, bootstrap_estimates
from benchbuilder.evaluation.stats.statistic import Statistic, statistic_of_sums

_CELLS = 1 << 21
"""Numbers that are held at once."""
_DRAWS = 999
_NOTHING = "no question has answers in all wordings"
_NO_ESTIMATE = Estimate(None, None, None, 0, 0, _NOTHING)


@dataclass(frozen=True)
class ModelWordings:
    """One model in several wordings, on the items that it answered in all of them.

    Attributes:
        model: Its name.
        items: The number of these items.
        families: The number of their families.
        means: Its mean score in each wording.
        without: How many of its answers in each wording have no verdict.
        spread: The highest of these means less the lowest. It is never negative, so see `chance` and `p`.
        chance: The mean spread if wordings change places at random within each family.
        p: How often such a spread is as large.
        sd: The standard deviation of the means.
        flips: The proportion of items that are right in one wording and wrong in another.
        repeat_flips: The proportion of questions whose repeats in one wording are not all right or all wrong.
        of_item: The proportion of the variance of a single answer that comes with the item.
        of_wording: The proportion that comes with the wording, in all items alike.
        of_both: What comes with item and wording together; with the noise of sampling, if nothing was repeated.
        of_sampling: What differs between repeats.
        ranks: Its rank in each wording, among the models with ranks; empty if there is one model alone.
    """

    model: str
    items: int
    families: int
    means: tuple[Estimate, ...]
    without: tuple[int, ...]
    spread: Estimate
    chance: float
    p: float
    sd: Estimate
    flips: Estimate
    repeat_flips: Estimate
    of_item: Estimate
    of_wording: Estimate
    of_both: Estimate
    of_sampling: Estimate
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True)
class WordingEffects(AnalysisSection):
    """What the wording does to scores and ranks.

    Attributes:
        wordings: The names of the wordings; the first is the question as it was built.
        examples: The first question in each wording.
        repeats: How often a question was asked in one wording, at the most.
        models: What it does to each model.
        ranked_items: The items that all models answered in all wordings: ranks are over these.
        ranked_families: The number of their families.
        tau: Kendall's tau of the order of models in two wordings, its mean over pairs of wordings.
        changed_pairs: The pairs of models whose order is not the same in all wordings.
        pairs: All pairs of models.
        why: Why there is nothing, if there is nothing.
    """

    wordings: tuple[str, ...]
    examples: tuple[str, ...]
    repeats: int
    models: tuple[ModelWordings, ...]
    ranked_items: int
    ranked_families: int
    tau: Estimate
    changed_pairs: int
    pairs: int
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """The spread of each model, and how many models change places."""
        if self.why is not None:
            return [self.why.text(t)]
        names, count = ", ".join(self.wordings), len(self.wordings)
        lines = [t("analysis.wordings_lead", models=len(self.models), n=count, names=names)]
        for one in self.models:
            means = [mean.value for mean in one.means if mean.value is not None]
            lines.append(t(
                "analysis.wordings_model", model=one.model, items=one.items, families=one.families,
                low=_figure(min(means)), high=_figure(max(means)), spread=_figure(one.spread.value),
                spread_low=_figure(one.spread.low), spread_high=_figure(one.spread.high),
                chance=_figure(one.chance), p=f"{one.p:.3f}", flips=f"{one.flips.value or 0:.0%}",
            ))  # fmt: skip
        if self.pairs:
            lines.append(t("analysis.wordings_ranks", models=len(self.models), tau=_figure(self.tau.value),
                           low=_figure(self.tau.low), high=_figure(self.tau.high), n=self.changed_pairs,
                           pairs=self.pairs))  # fmt: skip
        return lines if self.repeats > 1 else [*lines, t("analysis.wordings_no_repeats")]

    def model_columns(self) -> Mapping[str, Any]:
        """Spread with p, standard deviation, flips, and the best and the worst rank in a wording."""
        return {name: {one.model: figure(one) for one in self.models} for name, figure in _COLUMNS.items()}


_COLUMNS: Mapping[str, Callable[[ModelWordings], float | None]] = {
    "wording_items": lambda one: one.items, "wording_spread": lambda one: one.spread.value,
    "wording_p": lambda one: one.p, "wording_sd": lambda one: one.sd.value,
    "wording_flips": lambda one: one.flips.value,
    "wording_best_rank": lambda one: min(one.ranks, default=None),
    "wording_worst_rank": lambda one: max(one.ranks, default=None),
}  # fmt: skip


def wording_effects(answered: AnsweredItems, settings: AnalysisSettings) -> WordingEffects:
    """What the wording does to the scores of each model, and to their order."""
    worded = answered.worded
    if worded is None:
        return _no_effects("analysis.no_wordings")
    whole: Bools = np.logical_and.reduce((~np.isnan(worded.scores)).any(axis=2), axis=1)
    if not whole.any():
        return _no_effects("analysis.no_worded_items")
    kept = [place for place, items in enumerate(whole) if items.any()]
    common = np.logical_and.reduce(whole[kept])
    means = np.array([_cell_means(worded.scores[place])[:, common] for place in kept])
    ranks = _ranks(means.mean(axis=2)) if common.any() and len(kept) > 1 else np.zeros((len(kept), 0), np.int64)
    models = tuple(
        _model(worded, place, whole[place], tuple(own.tolist()), settings)
        for place, own in zip(kept, ranks, strict=True)
    )
    tau, changed = _NO_ESTIMATE, 0
    if ranks.size:
        tau, changed = _order(means, worded.families[common], settings)
    pairs = len(kept) * (len(kept) - 1) // 2 if ranks.size else 0
    return WordingEffects(
        worded.wordings, worded.examples, int((~np.isnan(worded.scores)).sum(axis=2).max()), models,
        int(common.sum()), len(np.unique(worded.families[common])), tau, changed, pairs,
    )  # fmt: skip


def _no_effects(why: str) -> WordingEffects:
    return WordingEffects((), (), 0, (), 0, 0, _NO_ESTIMATE, 0, 0, AnalysisNote(why))


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _cell_means(scores: Floats) -> Floats:
    """The mean over repeats, by wording and item; nan without an answer."""
    return safe_ratio(np.nansum(scores, axis=1), (~np.isnan(scores)).sum(axis=1).astype(np.float64))


def _model(
    worded: WordedAnswers, place: int, whole: Bools, ranks: tuple[int, ...], settings: AnalysisSettings
) -> ModelWordings:
    answers, families = worded.scores[place][:, :, whole], worded.families[whole]
    cells = _cell_means(answers)
    right = np.asarray(cells >= RIGHT, np.float64)
    flips = np.asarray(right.max(axis=0) > right.min(axis=0), np.float64)
    statistics = {**_mean_statistics(cells, flips), **split_statistics(answers, _NOTHING)}
    found = bootstrap_estimates(
        statistics, [str(family) for family in families], samples=settings.spec.samples, level=settings.spec.level,
        seed=settings.seed,
    )  # fmt: skip
    chance, p = _chance_spread(cells, families, settings)
    return ModelWordings(
        model=worded.models[place], items=int(whole.sum()), families=len(np.unique(families)),
        means=tuple(found[f"mean {number}"] for number in range(len(cells))),
        without=tuple(worded.without[place][:, :, whole].sum(axis=(1, 2)).tolist()), spread=found["spread"],
        chance=chance, p=p, sd=found["sd"], flips=found["flips"], repeat_flips=found["repeat_flips"],
        of_item=found["item"], of_wording=found["wording"], of_both=found["both"], of_sampling=found["sampling"],
        ranks=ranks,
    )  # fmt: skip


def _mean_statistics(cells: Floats, flips: Floats) -> Mapping[str, Statistic]:
    present = np.ones(cells.shape[1], np.bool_)

    def of(columns: Sequence[Floats], function: Callable[[Floats], Floats]) -> Statistic:
        return statistic_of_sums([np.ones(len(present)), *columns], function, present, _NOTHING)

    def means(sums: Floats) -> Floats:
        return sums[:, 1:] / sums[:, :1]

    return {
        **{f"mean {number}": of([row], lambda sums: means(sums)[:, 0]) for number, row in enumerate(cells)},
        "spread": of(list(cells), lambda sums: np.ptp(means(sums), axis=1)),
        "sd": of(list(cells), lambda sums: means(sums).std(axis=1, ddof=1)),
        "flips": of([flips], lambda sums: means(sums)[:, 0]),
    }


def _chance_spread(cells: Floats, families: Codes, settings: AnalysisSettings) -> tuple[float, float]:
    """The mean spread if wordings change places at random within each family, and how often it is as large."""
    codes = np.unique(families, return_inverse=True)[1].reshape(-1)
    sums = np.array([np.bincount(codes, row) for row in cells]).T
    observed = np.ptp(sums.sum(axis=0))
    random = np.random.default_rng([settings.seed, 11])
    batch = max(1, _CELLS // sums.size)
    spreads = np.concatenate([
        np.ptp(random.permuted(np.broadcast_to(sums, (min(batch, _DRAWS - start), *sums.shape)), axis=2).sum(axis=1),
               axis=1)
        for start in range(0, _DRAWS, batch)
    ])  # fmt: skip
    as_large = int((spreads >= observed - 1e-9).sum())
    return float(spreads.mean() / cells.shape[1]), (1 + as_large) / (1 + _DRAWS)


def _ranks(means: Floats) -> Codes:
    """The rank of each model in each wording, from 1; models that tie share the better one."""
    rounded = np.round(means, 12)
    return 1 + (rounded[:, None, :] < rounded[None, :, :]).sum(axis=1)


def _order(means: Floats, families: Codes, settings: AnalysisSettings) -> tuple[Estimate, int]:
    """The tau of two wordings, and how many pairs of models change their order; `means` by model, wording and item."""
    models, wordings, items = means.shape
    columns = [np.ones(items), *means.reshape(models * wordings, items)]

    def tau(sums: Floats) -> Floats:
        batch = max(1, _CELLS // (wordings * models * models))
        parts = [sums[start : start + batch] for start in range(0, len(sums), batch)]
        return np.concatenate([_mean_tau((part[:, 1:] / part[:, :1]).reshape(-1, models, wordings)) for part in parts])

    statistic = statistic_of_sums(columns, tau, np.ones(items, np.bool_), _NOTHING)
    found = bootstrap_estimates(
        {"tau": statistic}, [str(family) for family in families], samples=settings.spec.samples,
        level=settings.spec.level, seed=settings.seed,
    )  # fmt: skip
    signs = _signs(means.mean(axis=2)[None])[0]
    differ = (signs != signs[:, :, :1]).any(axis=2)
    return found["tau"], int(np.triu(differ, 1).sum())


def _signs(means: Floats) -> Floats:
    """Who of two models is better in each wording: by draw, model, model and wording."""
    rounded = np.round(means, 12)
    return np.sign(rounded[:, :, None, :] - rounded[:, None, :, :])


def _mean_tau(means: Floats) -> Floats:
    upper = np.triu_indices(means.shape[1], 1)
    signs = _signs(means)[:, upper[0], upper[1], :]
    agreements = [
        (signs[:, :, one] * signs[:, :, other]).mean(axis=1) for one, other in combinations(range(means.shape[2]), 2)
    ]
    return np.mean(agreements, axis=0)


_NO_REPEATS = "no question was asked twice in one wording"


def split_statistics(answers: Floats, why: str) -> Mapping[str, Statistic]:
    """The proportions of the variance of a single answer, and how often repeats differ.

    Components are estimated by moments; a negative one counts as none. `item`, `wording`, `both` and `sampling` sum to
    1. Without repeats, `both` holds what repeats would tell from it, and `sampling` has no value.

    Args:
        answers: Scores by wording, repeat and item; nan where an answer is missing. No cell is empty.
        why: Why there is no value, if there are no items.
    """
    wordings, _, items = answers.shape
    asked = ~np.isnan(answers)
    repeats = asked.sum(axis=1).astype(np.float64)
    cells = safe_ratio(np.nansum(answers, axis=1), repeats)
    within = np.where(asked, (np.nan_to_num(answers) - cells[:, None, :]) ** 2, 0.0).sum(axis=1)
    repeated = (repeats > 1).astype(np.float64)
    differ = ((within > 0) & (repeats > 1)).astype(np.float64)
    columns = [
        np.ones(items), cells.mean(axis=0) ** 2, (cells**2).sum(axis=0), within.sum(axis=0),
        (repeats - 1).sum(axis=0), (1 / repeats).mean(axis=0), repeated.sum(axis=0), differ.sum(axis=0), *cells,
    ]  # fmt: skip

    def part(place: int) -> Callable[[Floats], Floats]:
        return lambda sums: _proportions(sums, wordings)[place]

    def statistic(of: Callable[[Floats], Floats], reason: str = why) -> Statistic:
        return statistic_of_sums(columns, of, np.ones(items, np.bool_), reason)

    return {
        "item": statistic(part(0)), "wording": statistic(part(1)), "both": statistic(part(2)),
        "sampling": statistic(part(3), _NO_REPEATS),
        "repeat_flips": statistic(lambda sums: safe_ratio(sums[:, 7], sums[:, 6]), _NO_REPEATS),
    }  # fmt: skip


def _proportions(sums: Floats, wordings: int) -> tuple[Floats, Floats, Floats, Floats]:
    """The proportions of item, wording, both together and sampling, from sums over items."""
    n, rows, squares, within, freedom, inverse = sums[:, :6].T
    totals = sums[:, 8:]
    grand = totals.sum(axis=1) / (n * wordings)
    of_items = wordings * (rows - n * grand**2)
    of_wordings = n * ((totals / n[:, None] - grand[:, None]) ** 2).sum(axis=1)
    rest = squares - n * wordings * grand**2 - of_items - of_wordings
    mean_rest = safe_ratio(rest, (n - 1) * (wordings - 1))
    item = np.maximum((safe_ratio(of_items, n - 1) - mean_rest) / wordings, 0)
    wording = np.maximum((of_wordings / (wordings - 1) - mean_rest) / n, 0)
    noise = safe_ratio(within, freedom)
    both = np.maximum(mean_rest - np.nan_to_num(noise) * inverse / n, 0)
    whole = item + wording + both + np.nan_to_num(noise)
    return safe_ratio(item, whole), safe_ratio(wording, whole), safe_ratio(both, whole), safe_ratio(noise, whole)
