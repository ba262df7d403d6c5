"""Judges that learn nothing on trial: what they scored in an evaluation, on the answers that others are tried on."""

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
    """The trial of a judge that is not trained, by the scores that it has `scores` in an evaluation.

    Only answers count that a trained judge would be held to account on, so that all judges stand beside each other
    (what such a judge would half know is kept apart); answers without a score stand in no figure. ``None`` if there is
    no score to one of them, or the recipe says nothing of training. DataError if nothing is rated.
    """
    training = evaluation.training
    if training is None:
        return None
    examples = make_examples(tables.items, tables.answers, tables.scores, spec.aspect, training)
    parted = split_examples(examples, training, seed)
    texts = {answer.id: answer.text for answer in tables.answers}
    known = {
        (score.item, score.model, texts.get(score.of)): score.value for score in scores if score.aspect == spec.aspect
    }

    def scored(examples: Iterable[Example]) -> list[float]:
        found = (known.get((e.item, e.model, e.case.answer)) for e in examples)
        return [float("nan") if value is None else value for value in found]

    predictions = _has_predictions(held_out_predictions(parted, scored(parted.held_out), {}))
    if not predictions:
        return None
    residuals = [one.predicted - one.example.target for one in predictions]
    card = {
        **card_identity(name, spec, language, seed),
        **card_data(examples, training, parted, evaluation),
        "facts": {"trained": False, "unscored": len(parted.held_out) - len(predictions)},
        "conformal": card_conformal(conformal_half_width(residuals, evaluation.bootstrap.level)),
        "metrics": card_metrics(predictions),
        "alarm": constant_predictor_warning(predictions) or None,
        **card_text(spec, training, parted),
    }
    half_known = _has_predictions(
        partly_seen_predictions(parted, scored(example for example, _ in parted.partly_seen()))
    )
    return ValidationRun(name, card, tuple(predictions), _opened(spec), tuple(half_known))


def _has_predictions(predictions: Iterable[Prediction]) -> list[Prediction]:
    return [one for one in predictions if not np.isnan(one.predicted)]


def _opened(spec: JudgeSpec) -> ScoringJudge | None:
    judge: Judge = create_from_spec("judge", spec)
    if not isinstance(judge, ScoringJudge):
        return None
    judge.ready()
    judge.open(None)
    return judge
