"""What training a judge leaves behind, for reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from benchbuilder.evaluation.judges.base import Example, ScoringJudge

Side = Literal["held_out", "known_model", "known_question"]
"""On which side of the split an answer stands that the judge has not learned from: ``held_out`` (question and model are
new to it as the split wants it), or left out as half known: a held-out question answered by a model that was learned
from, or a question that was learned from, answered by a held-out model."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """An example with what the judge that had not seen it scored.

    `without_evidence` is the score of the same kind of judge, trained and asked without paragraphs; ``None`` if that
    was not tried. `others` holds what simpler predictors scored: ``mean`` and ``majority`` (of the ratings that were
    learned from), ``length_only`` (ridge on the length of the answer), and the same kind of judge that was given the
    answer alone (``answer_only``) or everything but the answer (``question_only``), where that was tried.
    """

    example: Example
    predicted: float
    without_evidence: float | None = None
    others: Mapping[str, float] = field(default_factory=dict[str, float])
    side: Side = "held_out"


@dataclass(frozen=True)
class ValidationRun:
    """A judge on trial: its name in the recipe, its card, and its predictions of what it was held to account on.

    `left_out` are its predictions of rated answers that are half known, which serve to compare models; no other figure.
    `judge` is open, and the one that made the predictions (not the final one, which was trained on everything);
    ``None`` where the report is made without it: then there are no bias probes. `card` is plain data: ``kind``,
    ``aspect``, ``language``, ``split``, ``spec`` and more.
    """

    name: str
    card: Mapping[str, Any]
    predictions: tuple[Prediction, ...]
    judge: ScoringJudge | None
    left_out: tuple[Prediction, ...] = ()
