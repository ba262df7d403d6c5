"""Trains a judge: first on one side of a split, to validate it, then on all data, to be used."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder import __version__
from benchbuilder.config import EvaluationSpec, TrainingSpec
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    conformal_half_width,
    count_phrase,
    create_from_spec,
    find_kind,
    pearson,
)
from benchbuilder.evaluation.judge_training.examples import EvaluationTables, drop_some_evidence, make_examples
from benchbuilder.evaluation.judge_training.model_card import (
    card_conformal,
    card_data,
    card_identity,
    card_metrics,
    card_text,
    constant_predictor_warning,
    example_targets,
    format_figure,
    held_out_predictions,
    metrics_line,
    partly_seen_predictions,
    split_summary,
    split_warnings,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judge_training.splits import Split, split_examples
from benchbuilder.evaluation.judge_training.storage import (
    load_validation_run,
    replacing_judge,
    write_judge_card,
    write_learned_hashes,
    write_predictions,
)
from benchbuilder.evaluation.judges.base import AskingJudge, Case, Example, JudgeSpec, TrainedJudge
from benchbuilder.evaluation.judges.card import DIGESTS, FINAL, HELD_OUT, PREDICTIONS, folder_digest, read_judge_card

Note = Callable[[str], None]
_ABLATED: Mapping[str, Callable[[Case], Case]] = {
    "without_evidence": Case.without_evidence,
    "answer_only": lambda case: replace(case, question="", evidence=(), right="", wrong=""),
    "question_only": lambda case: replace(case, answer="", right="", wrong=""),
}
"""The part of a case that remains for a judge of an ablation."""


def train_judge(
    name: str, spec: JudgeSpec, tables: EvaluationTables, evaluation: EvaluationSpec, folder: Path,
    *, language: str, seed: int, note: Note, retrain: bool = True,
) -> ValidationRun:  # fmt: skip
    """Train judge `name` below `folder`. The same arguments give the same files.

    The first training, on the training side of the split, gives predictions, interval and ablations. The second
    training, on all data, gives the judge that is used. An old judge stays until the new one is complete.

    Args:
        name: The judge's name in the recipe.
        spec: Its spec.
        tables: Items, answers and scores.
        evaluation: The evaluation settings of the recipe.
        folder: Where judges are stored.
        language: The language of the benchmark.
        seed: The seed of the recipe.
        note: Receives a few lines about what is done.
        retrain: Whether to train again if settings and ratings have not changed.

    Returns:
        The validation run, without an open judge.

    Raises:
        RecipeError: The kind is not trained here, or the recipe has no `evaluation.training`.
        DataError: There are too few rated answers.
    """
    training = _training(name, spec, evaluation)
    _new(spec).ready()
    examples = make_examples(tables.items, tables.answers, tables.scores, spec.aspect, training)
    split = split_examples(examples, training, seed)
    asked = {**card_identity(name, spec, language, seed), **card_data(examples, training, split, evaluation)}
    if not retrain and _is_unchanged(folder / name, asked):
        note(f"{name}: already trained, with the same settings and ratings")
        return load_validation_run(folder, name, open_judge=False)
    note(split_summary(name, spec, split))
    for line in split_warnings(split):
        note(f"  {line}")
    work = _TrainingWork(spec, training, split, seed, lambda line: note(f"  {line}"))
    key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    with replacing_judge(folder, name, key if _new(spec).resumes else "") as draft:
        judge, facts = work.train_judge(split.training, split.held_out, draft / HELD_OUT)
        predicted = judge.score([example.case for example in split.held_out])
        partly_seen = partly_seen_predictions(split, judge.score([example.case for example, _ in split.partly_seen()]))
        del judge
        half = conformal_half_width(
            np.abs(example_targets(split.held_out) - np.array(predicted)), evaluation.bootstrap.level
        )
        predictions = held_out_predictions(split, predicted, {})
        figures = work.note_metrics(predictions)
        predictions = held_out_predictions(split, predicted, dict(work.ablated_predictions(draft)))
        final, last = work.train_judge(examples, (), draft / FINAL, choices=facts)
        note(f"  final: trained on all {count_phrase(len(examples), 'example')}")
        for ablation in training.ablations:
            shutil.rmtree(draft / ablation, ignore_errors=True)
        write_predictions(draft / PREDICTIONS, [*predictions, *partly_seen])
        write_learned_hashes(draft, examples)
        write_judge_card(draft, {
            **asked,
            "facts": {"held_out": dict(facts), "final": dict(last)},
            "conformal": card_conformal(half),
            **figures,
            **{key: folder_digest(draft / part) for part, key in DIGESTS.items()},
            "versions": {"benchbuilder": __version__, "python": platform.python_version(), "numpy": np.__version__,
                         **final.fingerprint()},
            **card_text(spec, training, split),
        })  # fmt: skip
    return load_validation_run(folder, name, open_judge=False)


def _training(name: str, spec: JudgeSpec, evaluation: EvaluationSpec) -> TrainingSpec:
    if not find_kind("judge", spec.kind).load().trains:
        raise RecipeError([Problem(
            f"a judge of kind {spec.kind!r} needs no training", key=f"evaluation.judges.{name}.kind", actual=spec.kind,
            hint="it scores as it is, in `benchbuild evaluate`",
        )])  # fmt: skip
    if issubclass(find_kind("judge", spec.kind).load(), AskingJudge):
        raise RecipeError([Problem(
            "a service trains this judge", key=f"evaluation.judges.{name}.kind", actual=spec.kind,
            hint=f"benchbuild finetune export {name} writes the files of the job",
        )])  # fmt: skip
    if evaluation.training is None:
        raise RecipeError([Problem("the recipe does not say what judges are trained on", key="evaluation.training")])
    return evaluation.training


def _is_unchanged(folder: Path, settings: Mapping[str, Any]) -> bool:
    try:
        card = read_judge_card(folder)
    except DataError:  # training again repairs it
        return False
    return card is not None and all(card.get(name) == value for name, value in settings.items())


def _new(spec: JudgeSpec) -> TrainedJudge:
    return create_from_spec("judge", spec)


@dataclass(frozen=True)
class _TrainingWork:
    """The trainings of one judge."""

    spec: JudgeSpec
    training: TrainingSpec
    split: Split
    seed: int
    note: Note

    def train_judge(
        self, examples: Sequence[Example], held_out: Sequence[Example], folder: Path, note: Note | None = None,
        choices: Mapping[str, Any] | None = None,
    ) -> tuple[TrainedJudge, Mapping[str, Any]]:  # fmt: skip
        """Train a new judge on `examples`, some without their paragraphs, with the `choices` of an earlier training."""
        judge = _new(self.spec)
        if choices is not None:
            judge.apply_choices(choices)
        folder.mkdir(parents=True, exist_ok=True)
        learned = drop_some_evidence(examples, self.training.reference_drop, self.seed)
        return judge, judge.train(learned, held_out, folder, self.seed, note or self.note)

    def note_metrics(self, predictions: Sequence[Prediction]) -> dict[str, Any]:
        """The main figures for the card, which are also noted."""
        metrics, warning = card_metrics(predictions), constant_predictor_warning(predictions)
        self.note(f"held out: {metrics_line(metrics)}")
        if warning:
            self.note(f"WARNING: {warning}: its figures are meaningless")
        return {"metrics": metrics, "constant_predictor": warning or None}

    def ablated_predictions(self, draft: Path) -> Iterator[tuple[str, list[float]]]:
        """The scores of judges of the same kind that are trained and used on parts of each case."""
        for name in self.training.ablations:
            if name == "without_evidence" and not self.spec.evidence:
                continue
            less, folder = _ABLATED[name], draft / name
            held_out = [replace(example, case=less(example.case)) for example in self.split.held_out]
            learned = [replace(example, case=less(example.case)) for example in self.split.training]
            judge, _ = self.train_judge(learned, held_out, folder, lambda _: None)
            scores = judge.score([example.case for example in held_out])
            correlation = pearson(scores, example_targets(held_out))
            self.note(f"{name.replace('_', ' ')}: Pearson {format_figure(correlation)}")
            yield name, scores
