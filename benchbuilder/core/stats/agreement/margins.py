"""Formulas of agreement on nominal judgements, from how much agrees and how often each category is given.

`agreement_count` has shape ``(...)``; margins have shape ``(..., C)`` for C categories and hold, in the unit of
`agreement_count`, how much fell into each category. A whole bootstrap is one call. Undefined is ``nan``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.weighted import Floats, safe_ratio


def agreement_proportion(agreement_count: Floats, rows: Floats) -> Floats:
    """Share (0 to 1) of what agrees in everything that was judged."""
    return safe_ratio(agreement_count, rows.sum(-1))


def kappa_of_margins(agreed: Floats, rows: Floats, columns: Floats) -> Floats:
    """What is agreed beyond chance: chance draws one judgement from `rows` and the other from `columns`."""
    total = rows.sum(-1)
    expected = safe_ratio((rows * columns).sum(-1), total * total)
    return _corrected(agreement_proportion(agreed, rows), expected)


def ac1_of_margins(agreed: Floats, rows: Floats, columns: Floats) -> Floats:
    """Gwet's AC1: chance agreement from the mean of the margins, over all C categories whether given or not."""
    mean = safe_ratio((rows + columns) / 2, rows.sum(-1)[..., None])
    expected = safe_ratio((mean * (1 - mean)).sum(-1), np.float64(rows.shape[-1] - 1))
    return _corrected(agreement_proportion(agreed, rows), expected)


def nominal_alpha_of_margins(disagreed: Floats, values: Floats) -> Floats:
    """Krippendorff's nominal alpha, from the coincidences that disagree and the pairable `values` by category."""
    total = values.sum(-1)
    expected = safe_ratio(total * total - (values * values).sum(-1), total - 1)
    return 1 - safe_ratio(disagreed, expected)


def has_variation(margins: Floats) -> NDArray[np.bool_]:
    """Whether more than one category was given: exact, where a difference of rounded sums is not."""
    return (margins > 0).sum(-1) > 1


def _corrected(observed: Floats, expected: Floats) -> Floats:
    return safe_ratio(observed - expected, 1 - expected)
