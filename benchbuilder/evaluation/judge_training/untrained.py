"""Judges that learn nothing on trial: what they scored in an evaluation, on the answers that others are tried on."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchbuilder.config.spec.evaluation import EvaluationSpec
from benchbuilder.core.records.roles import Score
from benchbuilder.core.registry import create
from benchbuilder.core.stats.conformal import half_width
from benchbuilder.evaluation.judge_training.examples import Rated, examples_of
from benchbuilder.evaluation.judge_training.model_card import (
    alarm_of,
    conformal_of,
    data_of,
    half_known_of,
    identity_of,
    metrics_of,
    predictions_of,
    words_of,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction, Trial
from benchbuilder.evaluation.judge_training.splits import split
from benchbuilder.evaluation.judges.base import Example, Judge, JudgeSpec, ScoringJudge


def trial_of_scores(
    name: str, spec: JudgeSpec, rated: Rated, given: Iterable[Score], evaluation: EvaluationSpec,
    *, language: str, seed: int,
) -> Trial | None:  # fmt: skip
    """The trial of a judge that is not trained, by the scores that it has `given` in an evaluation.

    Only answers count that a trained judge would be held to account on, so that all judges stand beside each other
    (what such a judge would half know is kept apart); answers without a score stand in no figure. ``None`` if there is
    no score to one of them, or the recipe says nothing of training. DataError if nothing is rated.
    """
    training = evaluation.training
    if training is None:
        return None
    examples = examples_of(rated.items, rated.answers, rated.scores, spec.aspect, training)
    parted = split(examples, training, seed)
    texts = {answer.id: answer.text for answer in rated.answers}
    known = {
        (score.item, score.model, texts.get(score.of)): score.value for score in given if score.aspect == spec.aspect
    }

    def scored(examples: Iterable[Example]) -> list[float]:
        found = (known.get((e.item, e.model, e.case.answer)) for e in examples)
        return [float("nan") if value is None else value for value in found]

    predictions = _there(predictions_of(parted, scored(parted.held_out), {}))
    if not predictions:
        return None
    residuals = [one.predicted - one.example.target for one in predictions]
    card = {
        **identity_of(name, spec, language, seed),
        **data_of(examples, training, parted, evaluation),
        "facts": {"trained": False, "unscored": len(parted.held_out) - len(predictions)},
        "conformal": conformal_of(half_width(residuals, evaluation.bootstrap.level)),
        "metrics": metrics_of(predictions),
        "alarm": alarm_of(predictions) or None,
        **words_of(spec, training, parted),
    }
    half_known = _there(half_known_of(parted, scored(example for example, _ in parted.half_known())))
    return Trial(name, card, tuple(predictions), _opened(spec), tuple(half_known))


def _there(predictions: Iterable[Prediction]) -> list[Prediction]:
    return [one for one in predictions if not np.isnan(one.predicted)]


def _opened(spec: JudgeSpec) -> ScoringJudge | None:
    judge: Judge = create("judge", spec)
    if not isinstance(judge, ScoringJudge):
        return None
    judge.ready()
    judge.open(None)
    return judge
