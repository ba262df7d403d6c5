"""The predictions of a validated judge, as input for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchbuilder.evaluation.judges.base import Example, ScoringJudge

Side = Literal["held_out", "known_model", "known_question"]
"""The side of an answer that the judge was not trained on.

``held_out``: question and model are new, as the split requires. The others are partly seen and left out:
``known_model`` is a held-out question answered by a training model, ``known_question`` a training question answered by
a held-out model."""


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
