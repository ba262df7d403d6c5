"""A check for predictions that hardly depend on their input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchbuilder.core.stats.correlation import pearson
from benchbuilder.core.stats.weighted import OptionalValues, centre_values, complete_pairs

LEAST_SD = 0.02


@dataclass(frozen=True)
class ConstantPredictor:
    """The predictions are (nearly) constant: their standard deviation `sd` over `n` rows, and the reason `why`."""

    sd: float
    n: int
    why: str


def check_constant_predictor(predicted: OptionalValues, targets: OptionalValues) -> ConstantPredictor | None:
    """The finding if predictions vary by less than `LEAST_SD` (divisor n), or cannot be correlated with the targets.

    ``None`` if all is well, or nothing was predicted. Rows where a value is missing are left out.
    """
    one, other, _ = complete_pairs(predicted, targets)
    if not len(one):
        return None
    sd = float(centre_values(one).std())
    if one.min() == one.max():
        return ConstantPredictor(sd, len(one), f"every prediction is {one[0]:.3f}")
    if sd < LEAST_SD:
        return ConstantPredictor(
            sd, len(one), f"the predictions hardly vary: their standard deviation {sd:.4f} is below {LEAST_SD:g}"
        )
    if np.isnan(pearson(one, other)):
        return ConstantPredictor(sd, len(one), "there is no correlation: every target is the same")
    return None
