"""The sections about models: ranks, the spread between forms of items, and consistency over families."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Bools, Codes, Texts
from benchbuilder.evaluation.analysis.scoreboard import RIGHT
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings
from benchbuilder.evaluation.stats.intervals import Estimate, bootstrap_estimate
from benchbuilder.evaluation.stats.statistic import statistic_of_sums

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


_CELLS = 1 << 21
"""Draws by families that are held at once."""


def drawn_means(answered: AnsweredItems, samples: int, seed: Sequence[int]) -> Iterator[Floats]:
    """The mean of each model (columns) in draws of as many families as there are (rows), some draws at a time.

    A mean is over the items that the model was asked; nan if a draw holds none of them.
    """
    families, models = answered.family_count, len(answered.systems)
    codes = answered.items.families
    sums, sizes = (
        np.array([np.bincount(codes, row, minlength=families) for row in rows])
        for rows in (np.where(answered.asked, answered.scores, 0.0), answered.asked)
    )
    random = np.random.default_rng(list(seed))
    batch = max(1, _CELLS // max(families, models * models))
    for start in range(0, samples, batch):
        count = min(batch, samples - start)
        weights = random.multinomial(families, np.full(families, 1 / families), size=count).astype(np.float64)
        above: Floats = weights @ sums.T
        below: Floats = weights @ sizes.T
        means: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
        yield np.round(means, 12)


AskedBy = Literal["polarity", "form", "type"]
"""What tells items apart: affirmed and negated questions, the form of the question, or its type."""


@dataclass(frozen=True)
class FormMeans:
    """The mean of each model on the items of each form.

    Attributes:
        by: What tells the items apart.
        values: The forms.
        items: The number of items of each form.
        families: The number of their families.
        family_count: The number of families of all of these items.
        names: The models.
        means: One row for each model, one column for each form; nan without an answer.
        low: Lower bounds of the intervals, over families.
        high: Upper bounds.
        spread: The highest mean of each model less its lowest; nan with fewer than two.
    """

    by: AskedBy
    values: tuple[str, ...]
    items: tuple[int, ...]
    families: tuple[int, ...]
    family_count: int
    names: tuple[str, ...]
    means: Floats
    low: Floats
    high: Floats
    spread: Floats


@dataclass(frozen=True)
class FormSpread(AnalysisSection):
    """The means by form; `why` says why there are none."""

    groups: tuple[FormMeans, ...]
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How far apart the forms are."""
        if self.why is not None:
            return [self.why.text(t)]
        return [self._sentence(group, t) for group in self.groups]

    def _sentence(self, group: FormMeans, t: PageTexts) -> str:
        points = group.spread * 100
        return t(
            "analysis.form_spread", by=t(f"analysis.asked_by_{group.by}"), values=len(group.values),
            middle=t.number(float(np.nanmedian(points))), most=t.number(float(np.nanmax(points))),
            model=group.names[int(np.nanargmax(points))],
        )  # fmt: skip

    def model_columns(self) -> Mapping[str, Any]:
        """The spread of each model."""
        return {
            f"spread_{group.by}": dict(zip(group.names, group.spread.tolist(), strict=True)) for group in self.groups
        }


def form_spread(answered: AnsweredItems, settings: AnalysisSettings) -> FormSpread:
    """The means of the models by polarity, form and type, where there are two or more of these."""
    models = answered.models_only()
    found = [_means(models, by, column, settings) for by, column in _columns(models) if len({*column} - {""}) > 1]
    groups = tuple(group for group in found if not np.isnan(group.spread).all())
    why = "analysis.one_form" if models.systems else "analysis.no_models"
    return FormSpread(groups, None if groups else AnalysisNote(why))


def _columns(models: AnsweredItems) -> Iterator[tuple[AskedBy, Texts]]:
    items = models.items
    polarity = np.where(items.negated, "negated", "affirmed").astype(np.object_)
    yield "polarity", np.where(items.expected != "", polarity, "")
    yield "form", items.forms
    yield "type", items.types


def _means(models: AnsweredItems, by: AskedBy, column: Texts, settings: AnalysisSettings) -> FormMeans:
    values = tuple(str(value) for value in dict.fromkeys(column.tolist()) if value)
    parts = [models.of_items(column == value) for value in values]
    edges = [(1 - settings.spec.level) / 2, (1 + settings.spec.level) / 2]
    shape = (len(models.systems), len(parts))
    means, low, high = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    for place, part in enumerate(parts):
        asked = part.asked
        some = asked.any(axis=1)
        means[some, place] = np.where(asked, part.scores, 0.0).sum(axis=1)[some] / asked.sum(axis=1)[some]
        if part.family_count > 1:
            drawn = np.concatenate(list(drawn_means(part, settings.spec.samples, [settings.seed, 11, place])))
            low[some, place], high[some, place] = np.nanquantile(drawn[:, some], edges, axis=0)
    widest = np.nanmax(means, axis=1, initial=-np.inf) - np.nanmin(means, axis=1, initial=np.inf)
    spread = np.where((~np.isnan(means)).sum(axis=1) > 1, widest, np.nan)
    return FormMeans(
        by, values, tuple(len(part.items) for part in parts), tuple(part.family_count for part in parts),
        len(np.unique(models.items.families[column != ""])), tuple(system.name for system in models.systems), means,
        low, high, spread,
    )  # fmt: skip


_NOBODY = "no family of two or more true/false questions was asked"


@dataclass(frozen=True)
class ModelConsistency:
    """How one model answered families of two or more questions, all of which it was asked.

    Attributes:
        model: Its name.
        families: The number of these families.
        known: Families whose questions are all answered right.
        half_known: Families of which some questions are answered right.
        unknown: Families of which none is.
        contradictory: Families in which it said yes to a right statement and to a wrong one.
        both_verdicts: The families that ask about a right statement and a wrong one.
        yes_bias: How often it said yes, less how often yes is right, of the true/false questions with a verdict.
        form_bias: Its mean score on affirmed questions less that on negated ones; nan without both.
        knowledge: The proportion k of families that it knows, if the others are guessed with its own proportion of
            yes: P(all right) = k + (1 - k) g, where g is the chance that guesses are all right.
    """

    model: str
    families: int
    known: int
    half_known: int
    unknown: int
    contradictory: int
    both_verdicts: int
    yes_bias: float
    form_bias: float
    knowledge: Estimate


@dataclass(frozen=True)
class Consistency(AnalysisSection):
    """The consistency of each model; `why` says why there is none."""

    models: tuple[ModelConsistency, ...]
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many families models know, and how many they contradict themselves in."""
        if self.why is not None:
            return [self.why.text(t)]
        return [
            t("analysis.consistency", n=one.families, model=one.model, known=one.known, half=one.half_known,
              contradictory=one.contradictory, both=one.both_verdicts)
            for one in self.models
        ]  # fmt: skip

    def model_columns(self) -> Mapping[str, Any]:
        """The counts and biases of each model."""
        names = ("families", "known", "half_known", "unknown", "contradictory", "yes_bias", "form_bias")
        columns = {name: {one.model: getattr(one, name) for one in self.models} for name in names}
        return columns | {"knowledge": {one.model: one.knowledge.value for one in self.models}}


def model_consistency(answered: AnsweredItems, settings: AnalysisSettings) -> Consistency:
    """The consistency of each model over families of two or more questions."""
    answered = answered.models_only()
    found = [_consistency(answered, place, settings) for place in range(len(answered.systems))]
    if not any(one.families for one in found):
        return Consistency((), AnalysisNote("analysis.no_families"))
    return Consistency(tuple(found))


def _consistency(answered: AnsweredItems, place: int, settings: AnalysisSettings) -> ModelConsistency:
    items, scores, codes = answered.items, answered.scores[place], answered.items.families
    count = answered.family_count
    asked, size = np.bincount(codes, ~np.isnan(scores), minlength=count), np.bincount(codes, minlength=count)
    right = np.bincount(codes, scores >= RIGHT, minlength=count)
    whole = (asked == size) & (size > 1)
    yes, wanted = answered.said_yes[place], items.expected == "yes"
    to_right = np.bincount(codes, (yes == 1) & wanted, minlength=count) > 0
    to_wrong = np.bincount(codes, (yes == 1) & (items.expected == "no"), minlength=count) > 0
    both = np.bincount(codes, wanted, minlength=count).astype(bool)
    both &= np.bincount(codes, items.expected == "no", minlength=count).astype(bool)
    verdicts = ~np.isnan(yes)
    bias = float(yes[verdicts].mean() - wanted[verdicts].mean()) if verdicts.any() else np.nan
    known = int((whole & (right == size)).sum())
    unknown = int((whole & (right == 0)).sum())
    return ModelConsistency(
        model=answered.systems[place].name, families=int(whole.sum()), known=known,
        half_known=int(whole.sum()) - known - unknown, unknown=unknown,
        contradictory=int((whole & to_right & to_wrong).sum()), both_verdicts=int((whole & both).sum()), yes_bias=bias,
        form_bias=_form_bias(items.negated, items.expected != "", scores),
        knowledge=_knowledge(answered, place, settings),
    )  # fmt: skip


def _form_bias(negated: Bools, with_verdict: Bools, scores: Floats) -> float:
    parts = [scores[with_verdict & (negated == form) & ~np.isnan(scores)] for form in (False, True)]
    return float(parts[0].mean() - parts[1].mean()) if all(map(len, parts)) else float("nan")


def _knowledge(answered: AnsweredItems, place: int, settings: AnalysisSettings) -> Estimate:
    """Knowledge corrected for guessing, over families of two or more true/false questions that were all asked."""
    items, count = answered.items, answered.family_count
    verdicts = items.expected != ""
    codes, scores, yes = items.families[verdicts], answered.scores[place][verdicts], answered.said_yes[place][verdicts]
    size = np.bincount(codes, minlength=count)
    chosen = (np.bincount(codes, ~np.isnan(scores), minlength=count) == size) & (size > 1)
    if not chosen.any():
        return Estimate(None, None, None, 0, 0, _NOBODY)
    proportion = float(np.nanmean(yes)) if not np.isnan(yes).all() else 0.5
    chance = np.where(items.expected[verdicts] == "yes", proportion, 1 - proportion)
    with np.errstate(divide="ignore"):
        guessed = np.exp(np.bincount(codes, np.log(chance), minlength=count))[chosen]
    right = (np.bincount(codes, scores >= RIGHT, minlength=count) == size)[chosen].astype(np.float64)
    statistic = statistic_of_sums(
        [np.ones(len(right)), right, guessed], _known_share, np.ones(len(right), bool), _NOBODY
    )
    return bootstrap_estimate(
        statistic, [str(number) for number in range(len(right))], samples=settings.spec.samples,
        level=settings.spec.level, seed=settings.seed,
    )  # fmt: skip


def _known_share(sums: Floats) -> Floats:
    """k of P = k + (1 - k) g, for sums of ones, of P and of g."""
    above, below = sums[:, 1] - sums[:, 2], sums[:, 0] - sums[:, 2]
    return np.divide(above, below, out=np.full(len(sums), np.nan), where=below > 0)
