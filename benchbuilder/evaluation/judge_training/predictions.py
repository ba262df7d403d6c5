"""The predictions of a validated judge, and those of simple predictors that it must beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.evaluation.judges.base import Example, ScoringJudge
from benchbuilder.evaluation.stats.accuracy import apply_threshold

Side = Literal["held_out", "known_model", "known_question", "elsewhere"]
"""The side of an answer that the judge was not trained on.

``held_out``: question and model are new, as the split requires. The others are partly seen and left out:
``known_model`` is a held-out question answered by a training model, ``known_question`` a training question answered by
a held-out model. ``elsewhere`` is an answer to another benchmark, held out when the judge was trained there."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """An example with the score of a judge that had not seen it.

    `without_evidence` is the score of the same kind of judge, trained and used without paragraphs; ``None`` if that was
    not tried. `others` holds the scores of simpler predictors: ``mean`` and ``majority`` (of the training ratings),
    ``length_only`` (ridge regression on the length of the answer), and, if tried, the same kind of judge with the
    answer alone (``answer_only``) or with everything except the answer (``question_only``).
    """

    example: Example
    predicted: float
    without_evidence: float | None = None
    others: Mapping[str, float] = field(default_factory=dict[str, float])
    side: Side = "held_out"


@dataclass(frozen=True)
class ValidationRun:
    """The validation of a judge: its name in the recipe, its card, and its predictions of held-out answers.

    `left_out` holds its predictions of partly seen answers, which serve only to compare models. `judge` is the open
    judge that made the predictions, not the final one; if it is ``None``, the report has no robustness card. `card` is
    plain data: ``kind``, ``aspect``, ``language``, ``split``, ``spec`` and more.
    """

    name: str
    card: Mapping[str, Any]
    predictions: tuple[Prediction, ...]
    judge: ScoringJudge | None
    left_out: tuple[Prediction, ...] = ()


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
