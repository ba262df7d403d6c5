"""Splits the variance of answers by item, wording, both together, and sampling (two-way random effects)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from benchbuilder.core import Floats, safe_ratio
from benchbuilder.evaluation.stats.statistic import Statistic, statistic_of_sums

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
