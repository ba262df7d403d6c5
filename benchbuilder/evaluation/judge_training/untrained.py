"""Validates untrained judges by their scores in an evaluation, on the answers that trained judges hold out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchbuilder.config import EvaluationSpec
from benchbuilder.core import Score, create_from_spec
from benchbuilder.evaluation.judge_training.examples import EvaluationTables
from benchbuilder.evaluation.judge_training.model_card import (
    held_out_predictions,
    partly_seen_predictions,
    plan_training,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judges.base import Example, Judge, JudgeSpec, ScoringJudge


def validation_run_from_scores(
    name: str, spec: JudgeSpec, tables: EvaluationTables, scores: Iterable[Score], evaluation: EvaluationSpec,
    *, language: str, seed: int,
) -> ValidationRun | None:  # fmt: skip
    """Validate an untrained judge by its `scores` in an evaluation.

    Only the answers that a trained judge would hold out count, so that all judges can be compared; partly seen answers
    are kept apart, and answers without a score are ignored.

    Returns:
        The validation run; ``None`` if no held-out answer has a score, or the recipe has no `evaluation.training`.

    Raises:
        DataError: No answer is rated.
    """
    if evaluation.training is None:
        return None
    plan = plan_training(name, spec, tables, evaluation, language=language, seed=seed)
    texts = {answer.id: answer.text for answer in tables.answers}
    known = {
        (score.item, score.model, texts.get(score.of)): score.value for score in scores if score.aspect == spec.aspect
    }

    def scored(examples: Iterable[Example]) -> list[float]:
        values = (known.get((e.item, e.model, e.case.answer)) for e in examples)
        return [float("nan") if value is None else value for value in values]

    split = plan.split
    predictions = _with_predictions(held_out_predictions(split, scored(split.held_out), {}))
    if not predictions:
        return None
    partly_seen = partly_seen_predictions(split, scored(example for example, _ in split.partly_seen()))
    card = plan.card(predictions, {"trained": False, "unscored": len(split.held_out) - len(predictions)})
    return ValidationRun(name, card, tuple(predictions), _opened(spec), tuple(_with_predictions(partly_seen)))


def _with_predictions(predictions: Iterable[Prediction]) -> list[Prediction]:
    return [prediction for prediction in predictions if not np.isnan(prediction.predicted)]


def _opened(spec: JudgeSpec) -> ScoringJudge | None:
    judge: Judge = create_from_spec("judge", spec)
    if not isinstance(judge, ScoringJudge):
        return None
    judge.ready()
    judge.open(None)
    return judge
