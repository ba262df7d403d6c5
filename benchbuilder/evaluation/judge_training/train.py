"""Training a judge: on one side of a split to hold it to account, then on everything, to be used."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder import __version__
from benchbuilder.config.spec.evaluation import EvaluationSpec, TrainingSpec
from benchbuilder.core.display import counted
from benchbuilder.core.errors import DataError, Problem, RecipeError
from benchbuilder.core.registry import create, find
from benchbuilder.core.stats.conformal import half_width
from benchbuilder.core.stats.correlation import pearson
from benchbuilder.evaluation.judge_training.examples import Rated, examples_of, some_without_evidence
from benchbuilder.evaluation.judge_training.model_card import (
    alarm_of,
    conformal_of,
    data_of,
    figure,
    half_known_of,
    identity_of,
    line_of,
    metrics_of,
    predictions_of,
    targets_of,
    told_of,
    warnings_of,
    words_of,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction, Trial
from benchbuilder.evaluation.judge_training.splits import Split, split
from benchbuilder.evaluation.judge_training.storage import (
    load_trial,
    write_card,
    write_learned,
    write_predictions,
    writing,
)
from benchbuilder.evaluation.judges.base import AskingJudge, Case, Example, JudgeSpec, TrainedJudge
from benchbuilder.evaluation.judges.card import DIGESTS, FINAL, HELD_OUT, PREDICTIONS, digest_of, read_card

Note = Callable[[str], None]
_ABLATED: Mapping[str, Callable[[Case], Case]] = {
    "without_evidence": Case.without_evidence,
    "answer_only": lambda case: replace(case, question="", evidence=(), right="", wrong=""),
    "question_only": lambda case: replace(case, answer="", right="", wrong=""),
}
"""What is left of a case for a judge that is trained once more on less."""


def train_judge(
    name: str, spec: JudgeSpec, rated: Rated, evaluation: EvaluationSpec, folder: Path,
    *, language: str, seed: int, note: Note, again: bool = True,
) -> Trial:  # fmt: skip
    """Train judge `name` below `folder` and say in a few lines by `note` what was done.

    First on the training side of the split, which gives the predictions, the interval and the ablations; then on
    everything, which gives the judge that is used. A judge that was there stays until the new one is whole; unless
    `again`, one that was trained by the same settings on the same ratings is left as it is. The same arguments give
    the same files; the trial that is given back is not opened. RecipeError if the kind does not learn or the recipe
    says nothing of training, DataError if there is too little to learn from.
    """
    training = _training(name, spec, evaluation)
    _new(spec).ready()
    examples = examples_of(rated.items, rated.answers, rated.scores, spec.aspect, training)
    parted = split(examples, training, seed)
    asked = {**identity_of(name, spec, language, seed), **data_of(examples, training, parted, evaluation)}
    if not again and _as_before(folder / name, asked):
        note(f"{name}: trained before, by the same settings on the same ratings")
        return load_trial(folder, name, opened=False)
    note(told_of(name, spec, parted))
    for line in warnings_of(parted):
        note(f"  {line}")
    work = _Work(spec, training, parted, seed, lambda line: note(f"  {line}"))
    with writing(folder, name) as draft:
        judge, facts = work.judge(parted.training, parted.held_out, draft / HELD_OUT)
        predicted = judge.score([example.case for example in parted.held_out])
        half_known = half_known_of(parted, judge.score([example.case for example, _ in parted.half_known()]))
        del judge
        half = half_width(np.abs(targets_of(parted.held_out) - np.array(predicted)), evaluation.bootstrap.level)
        predictions = predictions_of(parted, predicted, {})
        figures = work.figures(predictions)
        predictions = predictions_of(parted, predicted, dict(work.ablations(draft)))
        final, last = work.judge(examples, (), draft / FINAL, settled=facts)
        note(f"  final: trained on all {counted(len(examples), 'example')}")
        write_predictions(draft / PREDICTIONS, [*predictions, *half_known])
        write_learned(draft, examples)
        write_card(draft, {
            **asked,
            "facts": {"held_out": dict(facts), "final": dict(last)},
            "conformal": conformal_of(half),
            **figures,
            **{key: digest_of(draft / part) for part, key in DIGESTS.items()},
            "versions": {"benchbuilder": __version__, "python": platform.python_version(), "numpy": np.__version__,
                         **final.fingerprint()},
            **words_of(spec, training, parted),
        })  # fmt: skip
    return load_trial(folder, name, opened=False)


def _training(name: str, spec: JudgeSpec, evaluation: EvaluationSpec) -> TrainingSpec:
    if not find("judge", spec.kind).load().trains:
        raise RecipeError([Problem(
            f"a judge of kind {spec.kind!r} needs no training", key=f"evaluation.judges.{name}.kind", found=spec.kind,
            hint="it scores as it is, in `benchbuild evaluate`",
        )])  # fmt: skip
    if issubclass(find("judge", spec.kind).load(), AskingJudge):
        raise RecipeError([Problem(
            "a service trains this judge", key=f"evaluation.judges.{name}.kind", found=spec.kind,
            hint=f"benchbuild finetune export {name} writes the files of the job",
        )])  # fmt: skip
    if evaluation.training is None:
        raise RecipeError([Problem("the recipe does not say what judges are trained on", key="evaluation.training")])
    return evaluation.training


def _as_before(folder: Path, asked: Mapping[str, Any]) -> bool:
    try:
        card = read_card(folder)
    except DataError:  # training again is what mends it
        return False
    return card is not None and all(card.get(name) == value for name, value in asked.items())


def _new(spec: JudgeSpec) -> TrainedJudge:
    return create("judge", spec)


@dataclass(frozen=True)
class _Work:
    """The trainings of one judge."""

    spec: JudgeSpec
    training: TrainingSpec
    parted: Split
    seed: int
    note: Note

    def judge(
        self, examples: Sequence[Example], held_out: Sequence[Example], folder: Path, note: Note | None = None,
        settled: Mapping[str, Any] | None = None,
    ) -> tuple[TrainedJudge, Mapping[str, Any]]:  # fmt: skip
        """A new judge that learned from `examples`, of which some lose their paragraphs, by what is `settled`."""
        judge = _new(self.spec)
        if settled is not None:
            judge.settle(settled)
        folder.mkdir(parents=True, exist_ok=True)
        learned = some_without_evidence(examples, self.training.reference_drop, self.seed)
        return judge, judge.train(learned, held_out, folder, self.seed, note or self.note)

    def figures(self, predictions: Sequence[Prediction]) -> dict[str, Any]:
        """What the card says of the `predictions` at first sight, which is told as well."""
        metrics, alarm = metrics_of(predictions), alarm_of(predictions)
        self.note(f"held out: {line_of(metrics)}")
        if alarm:
            self.note(f"ALARM: {alarm}: its figures mean nothing")
        return {"metrics": metrics, "alarm": alarm or None}

    def ablations(self, draft: Path) -> Iterator[tuple[str, list[float]]]:
        """What the same kind of judge scores that was trained on less, and is given less."""
        for name in self.training.ablations:
            if name == "without_evidence" and not self.spec.evidence:
                continue
            less, folder = _ABLATED[name], draft / name
            held_out = [replace(example, case=less(example.case)) for example in self.parted.held_out]
            learned = [replace(example, case=less(example.case)) for example in self.parted.training]
            judge, _ = self.judge(learned, held_out, folder, lambda _: None)
            scores = judge.score([example.case for example in held_out])
            shutil.rmtree(folder)
            correlation = pearson(scores, targets_of(held_out))
            self.note(f"{name.replace('_', ' ')}: Pearson {figure(correlation)}")
            yield name, scores
