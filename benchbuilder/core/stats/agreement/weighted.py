"""Cohen's weighted kappa of two raters, whose differences count by how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.agreement.coefficients import Counts
from benchbuilder.core.stats.agreement.margins import has_variation
from benchbuilder.core.stats.weighted import Floats, safe_ratio

Weighting = Literal["linear", "quadratic"]


def weighted_kappa(table: Counts, values: Sequence[float], weighting: Weighting) -> NDArray[np.float64]:
    """Weighted kappa (Cohen 1968) of tables of shape ``(..., C, C)`` whose C categories stand for ascending `values`.

    A difference counts by its size or by the square of it. ``nan`` where every judgement is the same.
    """
    places = np.asarray(values, np.float64)
    distances = np.abs(places[:, None] - places[None, :]) ** (2 if weighting == "quadratic" else 1)
    observed = (table * distances).sum((-1, -2))
    return weighted_kappa_of_margins(observed, table.sum(-1), table.sum(-2), places, weighting)


def weighted_kappa_of_margins(
    observed: Floats, rows: Floats, columns: Floats, values: Floats, weighting: Weighting
) -> Floats:
    """Weighted kappa of the `observed` distance summed over units, and of how often each rater gave each value."""
    total = rows.sum(-1)
    expected = _squares(rows, columns, values) if weighting == "quadratic" else _steps(rows, columns, values)
    return np.where(has_variation(rows + columns), 1 - safe_ratio(observed * total, expected), np.nan)


def _squares(rows: Floats, columns: Floats, values: Floats) -> Floats:
    """The squared distance summed over every value of the one rater with every value of the other."""
    total = rows.sum(-1)
    centre = safe_ratio(((rows + columns) * values).sum(-1), 2 * total)[..., None]
    away = values - centre
    squares = ((rows + columns) * away**2).sum(-1)
    return total * squares - 2 * (rows * away).sum(-1) * (columns * away).sum(-1)


def _steps(rows: Floats, columns: Floats, values: Floats) -> Floats:
    """The same for plain distance: the steps between neighbouring values times the pairs that they lie between."""
    total = rows.sum(-1)[..., None]
    below, under = rows.cumsum(-1)[..., :-1], columns.cumsum(-1)[..., :-1]
    return (np.diff(values) * (below * (total - under) + under * (total - below))).sum(-1)
