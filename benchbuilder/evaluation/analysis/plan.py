"""How many items and families show a difference between models, before answers are bought."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from benchbuilder.core import Floats, Problem, RecipeError
from benchbuilder.evaluation.analysis.answered import AnalysisNote, AnsweredItems, Codes

_ASSUMED_MEAN, _ASSUMED_CORRELATION, _ASSUMED_LIKENESS = 0.8, 0.5, 0.3
_MOST_PAIRS = 200
"""Pairs of models from which the variance of differences is estimated."""
_MOST_MODELS = 1000
_WORDS = "difference=0.02,models=2,power=0.8"


@dataclass(frozen=True)
class PlanRequest:
    """What is to be shown: a `difference` of mean scores between any two of so many `models`, with this `power`."""

    difference: float
    models: int = 2
    power: float = 0.8
    level: float = 0.95


@dataclass(frozen=True)
class ItemPlan:
    """How many items and families are needed, and what the present ones show.

    Attributes:
        request: What is to be shown.
        mean: The mean score of models.
        correlation: Of the scores of two models over items.
        likeness: The intraclass correlation of differences within families.
        family_size: The mean size of the family of an item.
        estimated: Whether these come from earlier scores; otherwise they are assumed.
        items: The items needed.
        families: Their families.
        present: The items there are.
        visible: The smallest difference that the present items show.
        notes: What the earlier scores rest on: answers or ratings that are made up, and what was left out.
    """

    request: PlanRequest
    mean: float
    correlation: float
    likeness: float
    family_size: float
    estimated: bool
    items: int
    families: int
    present: int
    visible: float
    notes: tuple[AnalysisNote, ...] = ()


def read_request(text: str, level: float) -> PlanRequest:
    """The request of ``difference=0.02,models=2,power=0.8``.

    Raises:
        RecipeError: A word is unknown or given twice, or a value is out of range.
    """
    parts = [part.strip().partition("=") for part in text.split(",")]
    given = {name: value for name, _, value in parts}
    try:
        request: PlanRequest | None = PlanRequest(
            float(given.pop("difference")), int(given.pop("models", "2")), float(given.pop("power", "0.8")), level
        )
    except (KeyError, ValueError):
        request = None
    known = request is not None and not given and len({name for name, _, _ in parts}) == len(parts)
    if request is None or not known or not _in_range(request):
        raise RecipeError([Problem("the plan cannot be read", where=f"command line: --plan {text}",
                                   hint=f"for instance --plan {_WORDS}; a difference of 0.0001 to 1, "
                                        f"2 to {_MOST_MODELS} models, a power of 0.5 to 1, each once")])  # fmt: skip
    return request


def _in_range(request: PlanRequest) -> bool:
    """Below a power of one half, the smallest difference that shows would be smaller than its own error."""
    return 0.0001 <= request.difference < 1 and 1 < request.models <= _MOST_MODELS and 0.5 <= request.power < 1


def plan_items(request: PlanRequest, families: Codes, answered: AnsweredItems | None) -> ItemPlan:
    """How many items are needed, by the sample size of a paired comparison with clusters.

    n = (z of level + z of power)^2 * variance of the difference / difference^2 * (1 + (m - 1) * likeness), where m is
    the size of a family. With several models, the level is that of the first step of Holm over all pairs.

    Args:
        request: What is to be shown.
        families: The family of each present item.
        answered: Earlier scores, if there are any.
    """
    sizes = np.bincount(families) if len(families) else np.ones(1)
    size = float((sizes**2).sum() / sizes.sum())
    found = None if answered is None else _estimated(answered)
    mean, correlation, variance, likeness = found or (
        _ASSUMED_MEAN, _ASSUMED_CORRELATION,
        2 * _ASSUMED_MEAN * (1 - _ASSUMED_MEAN) * (1 - _ASSUMED_CORRELATION), _ASSUMED_LIKENESS,
    )  # fmt: skip
    pairs = request.models * (request.models - 1) / 2
    normal = NormalDist()
    reach = normal.inv_cdf(1 - (1 - request.level) / 2 / pairs) + normal.inv_cdf(request.power)
    whole = reach**2 * variance * (1 + (size - 1) * likeness)
    items = math.ceil(whole / request.difference**2)
    present = len(families)
    return ItemPlan(
        request, mean, correlation, likeness, size, found is not None, items, math.ceil(items / sizes.mean()), present,
        math.sqrt(whole / present) if present else math.nan,
        answered.notes if answered is not None and found is not None else (),
    )  # fmt: skip


def _estimated(answered: AnsweredItems) -> tuple[float, float, float, float] | None:
    """Mean, correlation, variance of differences and likeness, from the items that all models answered."""
    common = answered.models_only()
    common = common.of_items(np.logical_and.reduce(common.asked, axis=0)) if len(common.systems) else common
    if len(common.systems) < 2 or common.family_count < 10:
        return None
    pairs = list(combinations(range(len(common.systems)), 2))[:_MOST_PAIRS]
    differences = np.array([common.scores[one] - common.scores[other] for one, other in pairs])
    variance = float(differences.var(axis=1, ddof=1).mean())
    if variance == 0:
        return None
    spread: Mapping[int, float] = dict(enumerate(common.scores.var(axis=1, ddof=1)))
    own = float(np.mean([spread[one] + spread[other] for one, other in pairs]))
    likeness = float(np.mean([_likeness(row, common.items.families) for row in differences]))
    return float(common.scores.mean()), 1 - variance / own, variance, likeness


def _likeness(values: Floats, families: Codes) -> float:
    """The intraclass correlation of `values` within families (one-way analysis of variance), from 0 to 1."""
    sizes = np.bincount(families).astype(np.float64)
    many, n = len(sizes), len(values)
    if n <= many or many < 2:
        return 0.0
    means = np.bincount(families, values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (many - 1)
    within = float(((values - means[families]) ** 2).sum()) / (n - many)
    usual = (n - (sizes**2).sum() / n) / (many - 1)
    below = between + (usual - 1) * within
    return min(max((between - within) / below, 0.0), 1.0) if below > 0 else 0.0
