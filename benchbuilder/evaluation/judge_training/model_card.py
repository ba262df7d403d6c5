"""What a judge is trained and validated on, and the contents of its card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.config import EvaluationSpec, TrainingSpec
from benchbuilder.core import Problem, RecipeError, count_phrase, find_kind
from benchbuilder.evaluation.judge_training.examples import EvaluationTables, examples_digest, make_examples
from benchbuilder.evaluation.judge_training.predictions import Prediction, simple_predictions
from benchbuilder.evaluation.judge_training.splits import Split, split_examples
from benchbuilder.evaluation.judges.base import Example, JudgeSpec
from benchbuilder.evaluation.judges.card import plain_spec, rubric_digest
from benchbuilder.evaluation.stats.accuracy import accuracy_statistic, conformal_half_width
from benchbuilder.evaluation.stats.agreement import check_constant_predictor, mae_statistic, pearson

Note = Callable[[str], None]
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


@dataclass(frozen=True)
class JudgeTraining:
    """A judge with the examples and the split that it is trained and validated on."""

    name: str
    spec: JudgeSpec
    evaluation: EvaluationSpec
    training: TrainingSpec
    examples: tuple[Example, ...]
    split: Split
    language: str
    seed: int

    def settings(self) -> dict[str, Any]:
        """The part of the card that is known before the training: identity, training data and split."""
        described, rubric = self.split.card_data(), self.evaluation.rubric
        return {
            "format": _FORMAT,
            "name": self.name,
            "kind": self.spec.kind,
            "kind_version": find_kind("judge", self.spec.kind).load().version,
            "aspect": self.spec.aspect,
            "evidence": self.spec.evidence,
            "language": self.language,
            "seed": self.seed,
            "spec": plain_spec(self.spec),
            "rubric": rubric.path if rubric is not None else "",
            "rubric_sha256": rubric_digest(rubric),
            "data_sha256": examples_digest(self.examples),
            "training": plain_spec(self.training),
            "level": self.evaluation.bootstrap.level,
            "split": self.training.split,
            "held_out": {key: described[key] for key in ("models", "families", "questions", "shared_paragraphs")},
            "counts": described["counts"],
            "raters": sorted({rater for example in self.examples for rater, _ in example.ratings}),
        }

    def card(self, predictions: Sequence[Prediction], facts: Mapping[str, Any]) -> dict[str, Any]:
        """The card of the judge that made `predictions`, with `facts` about its training."""
        residuals = [prediction.predicted - prediction.example.target for prediction in predictions]
        half_width = conformal_half_width(residuals, self.evaluation.bootstrap.level)
        return {
            **self.settings(),
            "facts": facts,
            "conformal": {
                "half_width": half_width.value, "level": half_width.level, "n": half_width.n, "why": half_width.why,
            },
            "metrics": card_metrics(predictions),
            "constant_predictor": constant_predictor_warning(predictions) or None,
            "intended_use": f"To score the {self.spec.aspect} of answers from 0 to 1, as the raters of this benchmark "
            "would.",
            "limits": _limits(self.spec, self.training, self.split),
        }  # fmt: skip


def plan_training(
    name: str, spec: JudgeSpec, tables: EvaluationTables, evaluation: EvaluationSpec, *, language: str, seed: int
) -> JudgeTraining:
    """Collect what judge `name` is trained and validated on.

    Raises:
        RecipeError: The recipe has no `evaluation.training`.
        DataError: There are too few rated answers.
    """
    training = evaluation.training
    if training is None:
        raise RecipeError([Problem("the recipe does not say what judges are trained on", key="evaluation.training")])
    examples = make_examples(tables.items, tables.answers, tables.scores, spec.aspect, training)
    split = split_examples(examples, training, seed)
    return JudgeTraining(name, spec, evaluation, training, tuple(examples), split, language, seed)


def constant_predictor_warning(predictions: Sequence[Prediction]) -> str:
    """Why scores of held-out answers are meaningless (constant predictor check); empty if they are not."""
    targets = example_targets([prediction.example for prediction in predictions])
    warning = check_constant_predictor([prediction.predicted for prediction in predictions], targets)
    return "" if warning is None else warning.why


def note_figures(predictions: Sequence[Prediction], note: Note) -> None:
    """Note the main figures, and a warning if they are meaningless."""
    metrics = card_metrics(predictions)
    names = ("pearson", "mae", "accuracy", "majority_accuracy")
    correlation, error, right, majority = (format_figure(metrics[name]) for name in names)
    note(f"held out: Pearson {correlation}, mean error {error}, accuracy at 0.5 {right} (majority {majority})")
    if warning := constant_predictor_warning(predictions):
        note(f"WARNING: {warning}: its figures are meaningless")


def card_metrics(predictions: Sequence[Prediction]) -> dict[str, float | None]:
    """The main figures of a judge and of the predictors that it must beat; the report has all figures."""
    targets = example_targets([prediction.example for prediction in predictions])
    predicted = np.array([prediction.predicted for prediction in predictions])
    majority = np.array([prediction.others["majority"] for prediction in predictions])
    mean = np.array([prediction.others["mean"] for prediction in predictions])
    metrics = {
        "pearson": pearson(predicted, targets),
        "mae": mae_statistic(predicted, targets).value(),
        "accuracy": accuracy_statistic(predicted, targets).value(),
        "majority_accuracy": accuracy_statistic(majority, targets).value(),
        "mean_mae": mae_statistic(mean, targets).value(),
    }
    return {name: None if np.isnan(value) else round(float(value), 6) for name, value in metrics.items()}


def _limits(spec: JudgeSpec, training: TrainingSpec, split: Split) -> list[str]:
    """The limits of a judge, as sentences."""
    limits = [
        "It scores answers to questions like those that it was trained on, in its language and by its rubric.",
        "It imitates its raters and shares their errors; it does not replace people where it matters.",
    ]
    if training.split == "by_model":
        limits.append("Every question is on both sides of its split: on new questions it is worse than its figures.")
    if len(split.held_out) < FEW:
        limits.append(_few_answers_warning(split))
    elif len(split.held_out) < 100:
        limits.append(
            f"Its figures rest on {count_phrase(len(split.held_out), 'held-out answer')}: read the intervals."
        )
    if shared := _shared_paragraphs_warning(split):
        limits.append(f"{shared[0].upper()}{shared[1:]}.")
    limits.append(
        "The width of its intervals comes from the judge that had not seen the held-out answers, and is used for "
        "the one trained on all data. Answers to one question are not independent, so the level is approximate."
    )
    if not spec.evidence:
        limits.append("It receives no paragraphs, so it cannot check facts that are new to it.")
    return limits


def split_summary(plan: JudgeTraining) -> str:
    """A line about the training data and the held-out side."""
    spec, split, counts = plan.spec, plan.split, plan.split.card_data()["counts"]
    learned, held = counts["training"], counts["held_out"]
    who = f" by {', '.join(split.models)}" if split.models else ""
    left = counts["left_out"]["rated"]
    aside = f"; {count_phrase(left, 'rated answer')} left out, as partly seen" if left else ""
    return (
        f"{plan.name} ({spec.kind}, {spec.aspect}): trained on {count_phrase(learned['rated'], 'rated answer')} and "
        f"{count_phrase(learned['synthetic'], 'statement')}; split {split.name}: validated on "
        f"{count_phrase(held['rated'], 'answer')}{who} to {count_phrase(held['questions'], 'question')}{aside}"
    )


def split_warnings(split: Split) -> list[str]:
    """Warnings about a split, before anything is measured, one per line."""
    few = [f"warning: {_few_answers_warning(split)}"] if len(split.held_out) < FEW else []
    shared = _shared_paragraphs_warning(split)
    return [*few, *([f"note: {shared}"] if shared else [])]


def _few_answers_warning(split: Split) -> str:
    """A warning that few answers are held out."""
    return (
        f"Only {count_phrase(len(split.held_out), 'rated answer')} are held out. Below {FEW}, no figure is "
        "reliable: have more answers rated, or hold out more."
    )


def _shared_paragraphs_warning(split: Split) -> str:
    """A warning about held-out answers that share paragraphs with the training data; empty if none does."""
    counts = split.shared_paragraphs()
    if not counts["some"]:
        return ""
    return (
        f"of {count_phrase(counts['answers'], 'held-out answer')} with paragraphs, {counts['some']} share at least one "
        f"with the training data and {counts['all']} share all: where the paragraphs are new too, it may do worse"
    )


def format_figure(value: float | None) -> str:
    """A figure as text, or ``undefined``."""
    return "undefined" if value is None or np.isnan(value) else f"{value:.3f}"


def example_targets(examples: Sequence[Example]) -> NDArray[np.float64]:
    """The target scores of the examples."""
    return np.array([example.target for example in examples])
