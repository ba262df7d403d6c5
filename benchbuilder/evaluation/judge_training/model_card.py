"""The contents of a trained judge's card, and the predictions that it is validated by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.config import EvaluationSpec, TrainingSpec
from benchbuilder.core import (
    HalfWidth,
    accuracy_statistic,
    check_constant_predictor,
    count_phrase,
    find_kind,
    mae_statistic,
    pearson,
)
from benchbuilder.evaluation.judge_training.examples import examples_digest
from benchbuilder.evaluation.judge_training.predictions import Prediction, simple_predictions
from benchbuilder.evaluation.judge_training.splits import Split
from benchbuilder.evaluation.judges.base import Example, JudgeSpec
from benchbuilder.evaluation.judges.card import plain_spec, rubric_digest

_FORMAT = 1
FEW = 30
"""With fewer held-out answers than this, there is a warning."""


def held_out_predictions(split: Split, predicted: Sequence[float], ablated: dict[str, list[float]]) -> list[Prediction]:
    """The scores of held-out answers by a judge, its ablations, and simpler predictors."""
    without = ablated.pop("without_evidence", None)
    others = {**simple_predictions(split.training, split.held_out), **ablated}
    return [
        Prediction(
            example, predicted[place], None if without is None else without[place],
            {name: scores[place] for name, scores in others.items()},
        )
        for place, example in enumerate(split.held_out)
    ]  # fmt: skip


def partly_seen_predictions(split: Split, predicted: Sequence[float]) -> list[Prediction]:
    """A judge's scores of the partly seen answers, in the order of the split."""
    pairs = zip(split.partly_seen(), predicted, strict=True)
    return [Prediction(example, score, side=side) for (example, side), score in pairs]


def constant_predictor_warning(predictions: Sequence[Prediction]) -> str:
    """Why scores of held-out answers are meaningless (constant predictor check); empty if they are not."""
    found = check_constant_predictor(
        [one.predicted for one in predictions], [one.example.target for one in predictions]
    )
    return "" if found is None else found.why


def card_identity(name: str, spec: JudgeSpec, language: str, seed: int) -> dict[str, Any]:
    """The identity of a judge, for its card."""
    return {
        "format": _FORMAT,
        "name": name,
        "kind": spec.kind,
        "kind_version": find_kind("judge", spec.kind).load().version,
        "aspect": spec.aspect,
        "evidence": spec.evidence,
        "language": language,
        "seed": seed,
        "spec": plain_spec(spec),
    }


def card_data(
    examples: Sequence[Example], training: TrainingSpec, split: Split, evaluation: EvaluationSpec
) -> dict[str, Any]:
    """The training data and the split of a judge, for its card."""
    described = split.card_data()
    return {
        "rubric": evaluation.rubric.path if evaluation.rubric is not None else "",
        "rubric_sha256": rubric_digest(evaluation.rubric),
        "data_sha256": examples_digest(examples),
        "training": plain_spec(training),
        "level": evaluation.bootstrap.level,
        "split": training.split,
        "held_out": {key: described[key] for key in ("models", "families", "questions", "shared_paragraphs")},
        "counts": described["counts"],
        "raters": sorted({rater for example in examples for rater, _ in example.ratings}),
    }


def card_conformal(half_width: HalfWidth) -> dict[str, Any]:
    """The conformal interval of a judge's scores, for its card."""
    return {"half_width": half_width.value, "level": half_width.level, "n": half_width.n, "why": half_width.why}


def card_metrics(predictions: Sequence[Prediction]) -> dict[str, float | None]:
    """The main figures of a judge and of the predictors that it must beat; the report has all figures."""
    targets = example_targets([prediction.example for prediction in predictions])
    predicted = np.array([prediction.predicted for prediction in predictions])
    majority = np.array([prediction.others["majority"] for prediction in predictions])
    mean = np.array([prediction.others["mean"] for prediction in predictions])
    found = {
        "pearson": pearson(predicted, targets),
        "mae": mae_statistic(predicted, targets).value(),
        "accuracy": accuracy_statistic(predicted, targets).value(),
        "majority_accuracy": accuracy_statistic(majority, targets).value(),
        "mean_mae": mae_statistic(mean, targets).value(),
    }
    return {name: None if np.isnan(value) else round(float(value), 6) for name, value in found.items()}


def card_text(spec: JudgeSpec, training: TrainingSpec, split: Split) -> dict[str, Any]:
    """The intended use and the limits of a judge, for its card."""
    limits = [
        "It scores answers to questions like those that it was trained on, in its language and by its rubric.",
        "It imitates its raters and shares their errors; it does not replace people where it matters.",
    ]
    if training.split == "by_model":
        limits.append("Every question is on both sides of its split: on new questions it is worse than its figures.")
    if len(split.held_out) < FEW:
        limits.append(few_answers_warning(split))
    elif len(split.held_out) < 100:
        limits.append(
            f"Its figures rest on {count_phrase(len(split.held_out), 'held-out answer')}: read the intervals."
        )
    if shared := shared_paragraphs_warning(split):
        limits.append(f"{shared[0].upper()}{shared[1:]}.")
    limits.append(
        "The width of its intervals comes from the judge that had not seen the held-out answers, and is used for "
        "the one trained on all data. Answers to one question are not independent, so the level is approximate."
    )
    if not spec.evidence:
        limits.append("It receives no paragraphs, so it cannot check facts that are new to it.")
    return {
        "intended_use": f"To score the {spec.aspect} of answers from 0 to 1, as the raters of this benchmark would.",
        "limits": limits,
    }


def split_summary(name: str, spec: JudgeSpec, split: Split) -> str:
    """A line about the training data and the held-out side."""
    counts = split.card_data()["counts"]
    learned, held = counts["training"], counts["held_out"]
    who = f" by {', '.join(split.models)}" if split.models else ""
    left = counts["left_out"]["rated"]
    aside = f"; {count_phrase(left, 'rated answer')} left out, as partly seen" if left else ""
    return (
        f"{name} ({spec.kind}, {spec.aspect}): trained on {count_phrase(learned['rated'], 'rated answer')} and "
        f"{count_phrase(learned['synthetic'], 'statement')}; split {split.name}: validated on "
        f"{count_phrase(held['rated'], 'answer')}{who} to {count_phrase(held['questions'], 'question')}{aside}"
    )


def split_warnings(split: Split) -> list[str]:
    """Warnings about a split, before anything is measured, one per line."""
    few = [f"warning: {few_answers_warning(split)}"] if len(split.held_out) < FEW else []
    shared = shared_paragraphs_warning(split)
    return [*few, *([f"note: {shared}"] if shared else [])]


def few_answers_warning(split: Split) -> str:
    """A warning that few answers are held out."""
    return (
        f"Only {count_phrase(len(split.held_out), 'rated answer')} are held out. Below {FEW}, no figure is "
        "reliable: have more answers rated, or hold out more."
    )


def shared_paragraphs_warning(split: Split) -> str:
    """A warning about held-out answers that share paragraphs with the training data; empty if none does."""
    found = split.shared_paragraphs()
    if not found["some"]:
        return ""
    return (
        f"of {count_phrase(found['answers'], 'held-out answer')} with paragraphs, {found['some']} share at least one "
        f"with the training data and {found['all']} share all: where the paragraphs are new too, it may do worse"
    )


def metrics_line(metrics: Mapping[str, float | None]) -> str:
    """The main figures as text."""
    pairs = (f"{format_figure(metrics[name])}" for name in ("pearson", "mae", "accuracy", "majority_accuracy"))
    correlation, error, right, majority = pairs
    return f"Pearson {correlation}, mean error {error}, accuracy at 0.5 {right} (majority {majority})"


def format_figure(value: float | None) -> str:
    """A figure as text, or ``undefined``."""
    return "undefined" if value is None or np.isnan(value) else f"{value:.3f}"


def example_targets(examples: Sequence[Example]) -> NDArray[np.float64]:
    """The target scores of the examples."""
    return np.array([example.target for example in examples])
