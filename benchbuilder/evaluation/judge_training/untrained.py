"""Validates untrained judges by their scores in an evaluation, on the answers that trained judges hold out."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchbuilder.config import EvaluationSpec
from benchbuilder.core import Score, conformal_half_width, create_from_spec
from benchbuilder.evaluation.judge_training.examples import EvaluationTables, make_examples
from benchbuilder.evaluation.judge_training.model_card import (
    card_conformal,
    card_data,
    card_identity,
    card_metrics,
    card_text,
    constant_predictor_warning,
    held_out_predictions,
    partly_seen_predictions,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judge_training.splits import split_examples
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
    training = evaluation.training
    if training is None:
        return None
    examples = make_examples(tables.items, tables.answers, tables.scores, spec.aspect, training)
    split = split_examples(examples, training, seed)
    texts = {answer.id: answer.text for answer in tables.answers}
    known = {
        (score.item, score.model, texts.get(score.of)): score.value for score in scores if score.aspect == spec.aspect
    }

    def scored(examples: Iterable[Example]) -> list[float]:
        found = (known.get((e.item, e.model, e.case.answer)) for e in examples)
        return [float("nan") if value is None else value for value in found]

    predictions = _with_predictions(held_out_predictions(split, scored(split.held_out), {}))
    if not predictions:
        return None
    residuals = [one.predicted - one.example.target for one in predictions]
    card = {
        **card_identity(name, spec, language, seed),
        **card_data(examples, training, split, evaluation),
        "facts": {"trained": False, "unscored": len(split.held_out) - len(predictions)},
        "conformal": card_conformal(conformal_half_width(residuals, evaluation.bootstrap.level)),
        "metrics": card_metrics(predictions),
        "constant_predictor": constant_predictor_warning(predictions) or None,
        **card_text(spec, training, split),
    }
    partly_seen = _with_predictions(
        partly_seen_predictions(split, scored(example for example, _ in split.partly_seen()))
    )
    return ValidationRun(name, card, tuple(predictions), _opened(spec), tuple(partly_seen))


def _with_predictions(predictions: Iterable[Prediction]) -> list[Prediction]:
    return [one for one in predictions if not np.isnan(one.predicted)]


def _opened(spec: JudgeSpec) -> ScoringJudge | None:
    judge: Judge = create_from_spec("judge", spec)
    if not isinstance(judge, ScoringJudge):
        return None
    judge.ready()
    judge.open(None)
    return judge
