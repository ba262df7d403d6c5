"""Krippendorff's alpha at four levels of measurement, for any number of raters with missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.agreement.coefficients import Counts, krippendorff_alpha
from benchbuilder.core.stats.agreement.margins import has_variation
from benchbuilder.core.stats.weighted import Floats, safe_ratio

MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]


def alpha_coefficient(matrix: Counts, values: Sequence[float], level: MeasurementLevel) -> NDArray[np.float64]:
    """Alpha at `level` of coincidence matrices of shape ``(..., C, C)`` whose C categories stand for `values`.

    `values` ascend, and are not negative where `level` is ratio; nominal looks at none of them, ordinal only at their
    order. ``nan`` where every value is the same and where there are none.
    """
    if level == "nominal":
        return krippendorff_alpha(matrix)
    margins = matrix.sum(-1)
    if level == "ratio":
        distances = _ratio_distances(np.asarray(values, np.float64))
        expected = (margins[..., :, None] * margins[..., None, :] * distances).sum((-1, -2))
        return alpha_of_sums((matrix * distances).sum((-1, -2)), margins, expected)
    positions = mid_ranks(margins) if level == "ordinal" else np.asarray(values, np.float64)
    distances = (positions[..., :, None] - positions[..., None, :]) ** 2
    return alpha_of_sums((matrix * distances).sum((-1, -2)), margins, expected_squares(margins, positions))


def alpha_of_sums(observed: Floats, margins: Floats, expected: Floats) -> Floats:
    """Alpha of the `observed` squared distance over all coincidences and the `expected` one over all pairs of values.

    `margins` of shape ``(..., C)`` hold the number of pairable values by category.
    """
    found = 1 - safe_ratio(observed * (margins.sum(-1) - 1), expected)
    return np.where(has_variation(margins), found, np.nan)


def mid_ranks(margins: Floats) -> Floats:
    """The mean rank of each category, in steps of one value.

    Krippendorff's ordinal distance, the values between two categories plus half of those in them, is the difference
    of their mean ranks.
    """
    return margins.cumsum(-1) - margins / 2


def expected_squares(margins: Floats, positions: Floats) -> Floats:
    """The squared distance summed over all ordered pairs of values whose categories lie at `positions`."""
    total = margins.sum(-1)
    mean = safe_ratio((margins * positions).sum(-1), total)[..., None]
    return 2 * total * (margins * (positions - mean) ** 2).sum(-1)


def _ratio_distances(values: Floats) -> Floats:
    across, down = values[:, None], values[None, :]
    relative = np.divide(across - down, across + down, out=np.zeros((len(values), len(values))), where=across != down)
    return relative**2
