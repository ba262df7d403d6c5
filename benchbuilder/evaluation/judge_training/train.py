"""Trains a judge: first on one side of a split, to validate it, then on all data, to be used."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.config import EvaluationSpec, TrainingSpec
from benchbuilder.core import DataError, Problem, RecipeError, Score, count_phrase, create_from_spec, find_kind
from benchbuilder.evaluation.judge_training.examples import EvaluationTables, drop_some_evidence, make_examples
from benchbuilder.evaluation.judge_training.model_card import (
    JudgeTraining,
    Note,
    example_targets,
    format_figure,
    held_out_predictions,
    note_figures,
    partly_seen_predictions,
    plan_training,
    split_summary,
    split_warnings,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judge_training.storage import (
    judge_spec,
    load_validation_run,
    replacing_judge,
    write_validated_judge,
)
from benchbuilder.evaluation.judges.base import (
    AskingJudge,
    Case,
    Example,
    Judge,
    JudgeSpec,
    ScoringJudge,
    TrainedJudge,
    case_hash,
)
from benchbuilder.evaluation.judges.card import (
    FINAL,
    HELD_OUT,
    damaged_parts,
    read_judge_card,
    read_learned_hashes,
    verify_judge_part,
)
from benchbuilder.evaluation.stats.agreement import pearson

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
    training, on all data, gives the judge that is used. An old judge stays until the new one is complete. Without
    `retrain`, a judge whose settings and ratings have not changed is not trained again.

    Args:
        tables: Items, answers and scores.
        folder: Where judges are stored.
        language: The language of the benchmark.
        note: Receives a few lines about what is done.

    Returns:
        The validation run, without an open judge.

    Raises:
        RecipeError: The kind is not trained here, or the recipe has no `evaluation.training`.
        DataError: There are too few rated answers.
    """
    _check_kind(name, spec)
    _new(spec).ready()
    plan = plan_training(name, spec, tables, evaluation, language=language, seed=seed)
    settings = plan.settings()
    if not retrain and _is_unchanged(folder / name, settings, note):
        note(f"{name}: already trained, with the same settings and ratings")
        return load_validation_run(folder, name, open_judge=False)
    note(split_summary(plan))
    for line in split_warnings(plan.split):
        note(f"  {line}")
    key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    with replacing_judge(folder, name, key if _new(spec).resumes else "") as draft:
        _train_into(draft, plan, lambda line: note(f"  {line}"))
    return load_validation_run(folder, name, open_judge=False)


def _check_kind(name: str, spec: JudgeSpec) -> None:
    cls, key = find_kind("judge", spec.kind).load(), f"evaluation.judges.{name}.kind"
    if not cls.trains:
        raise RecipeError([Problem(
            f"a judge of kind {spec.kind!r} needs no training", key=key, actual=spec.kind,
            hint="it scores as it is, in `benchbuild evaluate`",
        )])  # fmt: skip
    if issubclass(cls, AskingJudge):
        raise RecipeError([Problem(
            "a service trains this judge", key=key, actual=spec.kind,
            hint=f"benchbuild finetune export {name} writes the files of the job",
        )])  # fmt: skip


def _is_unchanged(folder: Path, settings: Mapping[str, Any], note: Note) -> bool:
    """Whether a judge was trained with these settings, and is as its training left it; a note says what is damaged."""
    try:
        card = read_judge_card(folder)
        damaged = [] if card is None else damaged_parts(folder, card)
    except DataError as error:
        note(f"{folder.name}: {error.what}; it is trained again")
        return False
    if damaged:
        note(f"{folder.name}: {', '.join(damaged)} changed since the training; it is trained again")
    return card is not None and not damaged and all(card.get(name) == value for name, value in settings.items())


def _new(spec: JudgeSpec) -> TrainedJudge:
    return create_from_spec("judge", spec)


def _train_into(draft: Path, plan: JudgeTraining, note: Note) -> None:
    """Train, validate and store the judge in the folder `draft`."""
    split = plan.split
    judge, facts = _train(plan, split.training, split.held_out, draft / HELD_OUT, note)
    predicted = judge.score([example.case for example in split.held_out])
    partly_seen = partly_seen_predictions(split, judge.score([example.case for example, _ in split.partly_seen()]))
    del judge
    note_figures(held_out_predictions(split, predicted, {}), note)
    predictions = held_out_predictions(split, predicted, dict(_ablated_scores(draft, plan, note)))
    final, last = _train(plan, plan.examples, (), draft / FINAL, note, choices=facts)
    note(f"final: trained on all {count_phrase(len(plan.examples), 'example')}")
    for ablation in plan.training.ablations:
        shutil.rmtree(draft / ablation, ignore_errors=True)
    card = plan.card(predictions, {"held_out": dict(facts), "final": dict(last)})
    write_validated_judge(draft, card, [*predictions, *partly_seen], plan.examples, final.fingerprint())


def _train(
    plan: JudgeTraining, examples: Sequence[Example], held_out: Sequence[Example], folder: Path, note: Note,
    choices: Mapping[str, Any] | None = None,
) -> tuple[TrainedJudge, Mapping[str, Any]]:  # fmt: skip
    """Train a new judge on `examples`, some without their paragraphs, with the `choices` of an earlier training."""
    judge = _new(plan.spec)
    if choices is not None:
        judge.apply_choices(choices)
    folder.mkdir(parents=True, exist_ok=True)
    learned = drop_some_evidence(examples, plan.training.reference_drop, plan.seed)
    return judge, judge.train(learned, held_out, folder, plan.seed, note)


def _ablated_scores(draft: Path, plan: JudgeTraining, note: Note) -> Iterator[tuple[str, list[float]]]:
    """The scores of judges of the same kind that are trained and used on parts of each case."""
    for name in plan.training.ablations:
        if name == "without_evidence" and not plan.spec.evidence:
            continue
        held_out, learned = (
            [replace(example, case=_ABLATED[name](example.case)) for example in side]
            for side in (plan.split.held_out, plan.split.training)
        )
        judge, _ = _train(plan, learned, held_out, draft / name, lambda _: None)
        scores = judge.score([example.case for example in held_out])
        note(f"{name.replace('_', ' ')}: Pearson {format_figure(pearson(scores, example_targets(held_out)))}")
        yield name, scores


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


def carried_validation_run(
    name: str, spec: JudgeSpec, folder: Path, tables: EvaluationTables, training: TrainingSpec
) -> ValidationRun:
    """Validate judge `name` below `folder`, which was trained for another benchmark, by the answers rated here.

    All rated answers count that it did not learn from. What it predicted of held-out answers when it was trained stands
    beside them, on the side ``elsewhere``.

    Raises:
        DataError: No answer is rated here, the judge was changed since its training, or it asks a model.
    """
    elsewhere = load_validation_run(folder, name, open_judge=False)
    judge: Judge = create_from_spec("judge", judge_spec(elsewhere.card, spec))
    if not isinstance(judge, ScoringJudge):
        raise DataError(
            f"the judge {name!r} was trained for other items, and asks a model",
            why="its figures are of another benchmark, and new ones would cost requests",
            next="benchbuild evaluate with the rated answers shows its scores beside those of people",
        )
    judge.ready()
    judge.open(verify_judge_part(folder / name, FINAL, elsewhere.card))
    made = make_examples(tables.items, tables.answers, tables.scores, spec.aspect, training)
    learned = read_learned_hashes(folder / name)
    rated = [example for example in made if not example.synthetic and case_hash(example.case) not in learned]
    scores = judge.score([example.case for example in rated])
    return ValidationRun(
        name, {**elsewhere.card, "split": "elsewhere"},
        tuple(Prediction(example, score) for example, score in zip(rated, scores, strict=True)), judge,
        tuple(replace(row, side="elsewhere") for row in elsewhere.predictions if not row.example.synthetic),
    )  # fmt: skip


def _with_predictions(predictions: Iterable[Prediction]) -> list[Prediction]:
    return [prediction for prediction in predictions if not np.isnan(prediction.predicted)]


def _opened(spec: JudgeSpec) -> ScoringJudge | None:
    judge: Judge = create_from_spec("judge", spec)
    if not isinstance(judge, ScoringJudge) or (isinstance(judge, AskingJudge) and judge.model_spec is not None):
        return None
    judge.ready()
    judge.open(None)
    return judge
