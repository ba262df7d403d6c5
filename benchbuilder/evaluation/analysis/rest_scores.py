"""How models score on the rest of the benchmark, seen from each item: without the item and its family."""

from __future__ import annotations

import numpy as np

from benchbuilder.core import Floats
from benchbuilder.evaluation.analysis.answered import AnsweredItems

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
