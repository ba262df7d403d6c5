"""Predictors that a judge must beat: the mean, the majority, and the length of the answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import apply_threshold
from benchbuilder.evaluation.judges.base import Example

_PENALTY = 1.0
"""Penalty of the ridge on length, whose columns are standardised; it only matters with very few examples."""


def simple_predictions(training: Sequence[Example], held_out: Sequence[Example]) -> dict[str, list[float]]:
    """Predictions of simple predictors that know only the rated answers of `training`, by predictor.

    ``mean``: their mean rating. ``majority``: 1 if at least half of them are rated 0.5 or more, 0 otherwise.
    ``length_only``: ridge regression on the length of the answer and its logarithm.
    """
    rated = [example for example in training if not example.synthetic]
    targets = np.array([example.target for example in rated])
    majority = 1.0 if apply_threshold(targets).mean() >= 0.5 else 0.0
    return {
        "mean": [float(targets.mean())] * len(held_out),
        "majority": [majority] * len(held_out),
        "length_only": _by_length(_lengths(rated), targets, _lengths(held_out)),
    }


def _lengths(examples: Sequence[Example]) -> NDArray[np.float64]:
    sizes = np.array([len(example.case.answer) for example in examples], dtype=np.float64)
    return np.stack([sizes, np.log1p(sizes)], axis=1)


def _by_length(known: NDArray[np.float64], targets: NDArray[np.float64], new: NDArray[np.float64]) -> list[float]:
    centre, width = known.mean(axis=0), known.std(axis=0)
    width = np.where(width > 0, width, 1.0)
    columns, mean = (known - centre) / width, targets.mean()
    coefficients = np.linalg.solve(
        columns.T @ columns + _PENALTY * np.eye(columns.shape[1]), columns.T @ (targets - mean)
    )
    return [float(value) for value in np.clip((new - centre) / width @ coefficients + mean, 0, 1)]
