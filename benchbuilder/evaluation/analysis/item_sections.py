"""The sections about items: difficulty and fit with the rest, wrong answers, and what goes back to experts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Codes, Texts
from benchbuilder.evaluation.analysis.section import LEAST_MODELS, AnalysisSection, AnalysisSettings, too_few_models

_LEAST_SPREAD = 1e-12


def rest_scores(answered: AnsweredItems) -> Floats:
    """Systems by items: the mean score on the items of all other families; nan where the system was not asked.

    It is nan as well if a system answered no item of another family.
    """
    asked = answered.asked
    right, count = np.where(asked, answered.scores, 0.0), asked.astype(np.float64)
    families, total = answered.items.families, answered.family_count
    own_right, own_count = _family_sums(right, families, total), _family_sums(count, families, total)
    rest_right = right.sum(1, keepdims=True) - own_right[:, families]
    rest_count = count.sum(1, keepdims=True) - own_count[:, families]
    known = asked & (rest_count > 0)
    return np.where(known, rest_right / np.maximum(rest_count, 1.0), np.nan)


def _family_sums(values: Floats, families: np.ndarray[tuple[int, ...], np.dtype[np.int64]], total: int) -> Floats:
    """Systems by families."""
    order = np.argsort(families, kind="stable")
    starts = np.searchsorted(families[order], np.arange(total))
    return np.add.reduceat(values[:, order], starts, axis=1) if total else np.zeros((len(values), 0))


def column_correlations(first: Floats, second: Floats) -> Floats:
    """The correlation of two arrays, column by column, over the rows that have both; nan without spread."""
    known = ~(np.isnan(first) | np.isnan(second))
    count = np.maximum(known.sum(0), 1)
    centred = [np.where(known, values - np.where(known, values, 0.0).sum(0) / count, 0.0) for values in (first, second)]
    spread = np.sqrt((centred[0] ** 2).sum(0) * (centred[1] ** 2).sum(0))
    defined = spread > _LEAST_SPREAD
    return np.where(defined, (centred[0] * centred[1]).sum(0) / np.where(defined, spread, 1.0), np.nan)


def shares_of_best(values: Floats, rest: Floats, best: float) -> Floats:
    """The mean of each column over the rows with the best rest scores, a proportion `best` of them, at least one.

    Rows that tie at the limit share the places that are left.
    """
    known = ~(np.isnan(values) | np.isnan(rest))
    count = known.sum(0)
    places = np.maximum(1, np.round(best * count)).astype(np.int64)
    ordered = -np.sort(np.where(known, -rest, np.inf), axis=0)
    limit = np.take_along_axis(ordered, np.minimum(places, len(values)).reshape(1, -1) - 1, axis=0)
    above, tied = known & (rest > limit), known & (rest == limit)
    share = (places - above.sum(0)) / np.maximum(tied.sum(0), 1)
    weight = above + tied * share
    return np.where(count > 0, (weight * np.where(known, values, 0.0)).sum(0) / places, np.nan)


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


TO_EXPERTS = "to_experts.jsonl"
"""The file of the items that go back to experts, as rows of a review."""


@dataclass(frozen=True)
class ItemsForExperts(AnalysisSection):
    """The items that go back, the most suspicious first, in every column.

    Attributes:
        ids: Ids.
        suspicion: How much of the score the best models miss, less the item-rest correlation: from -1 to 2.
        best_miss: How much of the score the best models miss.
        item_rest: The correlation; none counts as 0 in `suspicion`.
        difficulty: The mean score of all models.
        n: The number of models that answered.
        of: The number of items among which they were chosen.
        why: Why none goes back, if none does.
    """

    ids: Texts
    suspicion: Floats
    best_miss: Floats
    item_rest: Floats
    difficulty: Floats
    n: Floats
    of: int
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many items go back."""
        if self.why is not None:
            return []
        return [t("analysis.to_experts", n=len(self.ids), of=self.of)]

    def item_columns(self) -> Mapping[str, Any]:
        """The suspicion, and the place in the list from 1."""
        ids = self.ids.tolist()
        places = dict(zip(ids, range(1, len(ids) + 1), strict=True))
        return {"to_experts": places, "suspicion": dict(zip(ids, self.suspicion.tolist(), strict=True))}


def items_for_experts(answered: AnsweredItems, settings: AnalysisSettings) -> ItemsForExperts:
    """The first items by suspicion, as many as the settings say."""
    table = item_table(answered, settings)
    count = 0 if table.why is not None else math.ceil(settings.spec.experts * len(table.ids))
    suspicion = item_suspicion(table)
    order = np.argsort(-suspicion, kind="stable")[:count]
    return ItemsForExperts(
        ids=table.ids[order], suspicion=suspicion[order], best_miss=table.best_miss[order],
        item_rest=table.item_rest[order], difficulty=table.difficulty[order], n=table.n[order], of=len(table.ids),
        why=table.why,
    )  # fmt: skip


def item_suspicion(table: ItemTable) -> Floats:
    """How suspicious each item of a table is; -1 for items that too few models answered."""
    known = table.n >= min(table.models, 5)
    suspicion = np.nan_to_num(table.best_miss) - np.nan_to_num(table.item_rest)
    return np.where(known, suspicion, -1.0)


@dataclass(frozen=True)
class WrongAnswerTable(AnalysisSection):
    """One entry for each wrong answer, in every column: of open questions the one, of multiple choice each option.

    Attributes:
        items: The number of items that have such answers.
        ids: Ids of items.
        options: The key of the option; empty for open questions.
        texts: The wrong answer of an open question; empty for options.
        n: The number of models of which it is known what they said.
        said: The share of them that said it.
        right: The share of them that said the right answer, or the mean score of open questions.
        with_rest: Correlation of saying it with the mean score on all other families; nan below 5 models.
        weak: Whether no model said it.
        attracts: Whether more models said it than the right answer, or better models said it more often.
        why: Why there is nothing to show.
    """

    items: int
    ids: Texts
    options: Texts
    texts: Texts
    n: Codes
    said: Floats
    right: Floats
    with_rest: Floats
    weak: np.ndarray[Any, np.dtype[np.bool_]]
    attracts: np.ndarray[Any, np.dtype[np.bool_]]
    why: AnalysisNote | None = None

    def sentences(self, t: PageTexts) -> Sequence[str]:
        """How many are never said, and how many attract."""
        if self.why is not None:
            return [self.why.text(t)]
        return [t("analysis.wrong_answers", n=len(self.ids), items=self.items, weak=int(self.weak.sum()),
                  attracts=int(self.attracts.sum()))]  # fmt: skip

    def item_columns(self) -> Mapping[str, Any]:
        """The share of models that said the wrong answer; of options, the most frequent one."""
        most: dict[str, float] = {}
        for name, share in zip(self.ids, self.said.tolist(), strict=True):
            most[name] = max(share, most.get(name, 0.0))
        return {"said_wrong": most}


def wrong_answers(answered: AnsweredItems, settings: AnalysisSettings) -> WrongAnswerTable:  # noqa: ARG001
    """How often models say the wrong answers of open questions and of multiple choice."""
    models = answered.models_only()
    rest = rest_scores(models)
    open_question = ~np.isnan(models.said_wrong).all(axis=0)
    places = [np.flatnonzero(open_question)]
    said, right = [models.said_wrong[:, open_question]], [models.scores[:, open_question]]
    options = [""] * int(open_question.sum())
    for place, keys in enumerate(models.items.options):
        wrong = [at for at, key in enumerate(keys) if key != models.items.keys[place]]
        chosen = models.chosen[:, [place]]
        if not wrong or models.items.keys[place] not in keys or (chosen < 0).all():
            continue
        options += [keys[at] for at in wrong]
        places.append(np.full(len(wrong), place))
        said.append(np.where(chosen >= 0, chosen == np.array(wrong), np.nan))
        right.append(np.where(chosen >= 0, models.scores[:, [place]], np.nan).repeat(len(wrong), axis=1))
    return _table(models, np.concatenate(places), np.hstack(said), np.hstack(right), options, rest)


def _table(
    models: AnsweredItems, places: Codes, said: Floats, right: Floats, options: Sequence[str], rest: Floats
) -> WrongAnswerTable:
    keys = np.empty(len(options), np.object_)
    keys[:] = options
    known = ~np.isnan(said)
    n = known.sum(0)
    share, of_right = (
        np.where(known, values, 0.0).sum(0) / np.maximum(n, 1) for values in (said, np.where(known, right, np.nan))
    )
    with_rest = np.where(n >= LEAST_MODELS, column_correlations(said, rest[:, places]), np.nan)
    return WrongAnswerTable(
        items=len(np.unique(places)), ids=models.items.ids[places], options=keys,
        texts=np.where(keys == "", models.items.wrong_answers[places], ""), n=n, said=share, right=of_right,
        with_rest=with_rest, weak=share == 0, attracts=(share > of_right) | (with_rest > 0),
        why=None if len(places) else AnalysisNote("analysis.no_wrong_answers"),
    )  # fmt: skip
