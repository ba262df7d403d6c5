"""Fine-tuned judges: from ratings to the files of a job, and from a job that is through to a judge with a card."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder import __version__
from benchbuilder.config.spec.evaluation import EvaluationSpec, TrainingSpec
from benchbuilder.core.display import counted
from benchbuilder.core.errors import DataError, Problem, RecipeError
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.core.stats.conformal import half_width
from benchbuilder.evaluation.judge_training.examples import Rated, digest_of_examples, examples_of
from benchbuilder.evaluation.judge_training.finetune_files import (
    TRAIN,
    VALID,
    Checked,
    check_file,
    leaks,
    weighed,
    write_file,
)
from benchbuilder.evaluation.judge_training.finetune_jobs import Standing, Wanted, content_of
from benchbuilder.evaluation.judge_training.model_card import (
    alarm_of,
    conformal_of,
    data_of,
    identity_of,
    line_of,
    metrics_of,
    predictions_of,
    warnings_of,
)
from benchbuilder.evaluation.judge_training.model_card import words_of as words_of_card
from benchbuilder.evaluation.judge_training.prompted_judge import AskedJudge
from benchbuilder.evaluation.judge_training.splits import Split, split
from benchbuilder.evaluation.judge_training.storage import write_card, write_learned, write_predictions, writing
from benchbuilder.evaluation.judges.base import Example
from benchbuilder.evaluation.judges.card import DIGESTS, FINAL, HELD_OUT, PREDICTIONS, digest_of, plain_spec, trained
from benchbuilder.evaluation.judges.openai_finetuned import OpenAIFinetuned, OpenAIFinetunedSpec, write_model
from benchbuilder.models.gateway.gateway import Gateway
from benchbuilder.models.gateway.token_count import Counter

Note = Callable[[str], None]
TRIAL, EVERYTHING = "trial", "everything"
"""The job whose model is held to account, and one on all examples."""
_EXPORT = "export.json"


@dataclass(frozen=True)
class Tuning:
    """A judge that is to be fine-tuned: what it learns from, and what it is held to account on."""

    name: str
    spec: OpenAIFinetunedSpec
    judge: OpenAIFinetuned
    evaluation: EvaluationSpec
    training: TrainingSpec
    examples: tuple[Example, ...]
    parted: Split
    language: str
    seed: int

    @property
    def data(self) -> dict[str, Any]:
        """What makes an export, a job and a judge belong together."""
        return {"data_sha256": digest_of_examples(self.examples), "spec": plain_spec(self.spec), "seed": self.seed}


def tuning_of(
    name: str, spec: OpenAIFinetunedSpec, rated: Rated, evaluation: EvaluationSpec, *, language: str, seed: int
) -> Tuning:
    """What judge `name` is fine-tuned on. RecipeError if the recipe says nothing of training, DataError if there is
    too little to learn from."""
    if evaluation.training is None:
        raise RecipeError([Problem("the recipe does not say what judges are trained on", key="evaluation.training")])
    judge = OpenAIFinetuned(spec)
    judge.open(None)
    examples = examples_of(rated.items, rated.answers, rated.scores, spec.aspect, evaluation.training)
    parted = split(examples, evaluation.training, seed)
    return Tuning(name, spec, judge, evaluation, evaluation.training, tuple(examples), parted, language, seed)


# --- files


def export(tuning: Tuning, folder: Path, *, everything: bool, note: Note) -> Path:
    """Write the training files of a job into a folder below `folder`; where."""
    place = folder / (EVERYTHING if everything else TRIAL)
    shutil.rmtree(place, ignore_errors=True)
    sides = {TRAIN: weighed(tuning.examples if everything else tuning.parted.training, tuning.seed)}
    if not everything:
        sides[VALID] = list(tuning.parted.held_out)
    for name, examples in sides.items():
        drop = tuning.training.reference_drop if name == TRAIN else 0.0
        long = write_file(place / name, tuning.judge, examples, seed=tuning.seed, without_evidence=drop)
        if long:
            note(f"{counted(long, 'example')} left out of {name}: question or answer is too long for a prompt")
    (place / _EXPORT).write_text(json.dumps(tuning.data, ensure_ascii=False, sort_keys=True, indent=1), "utf-8")
    return place


def checked(place: Path, spec: OpenAIFinetunedSpec) -> tuple[list[Checked], list[str]]:
    """What is in the files of an export, and everything that is wrong with them."""
    counter = Counter(spec.model)
    names = [TRAIN, VALID] if (place / VALID).exists() else [TRAIN]
    files = [check_file(place / name, counter, spec.tuning) for name in names]
    wrong = [f"{file.file.name}: {problem}" for file in files for problem in file.problems]
    return files, wrong + (leaks(files[0], files[1]) if len(files) > 1 else [])


def wanted_job(tuning: Tuning, place: Path, files: Sequence[Checked], model: str) -> Wanted:
    """The job for an export. DataError if it was made of other ratings, or by other settings, than there are now."""
    try:
        exported: Any = json.loads((place / _EXPORT).read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(
            "there is no whole export", where=str(place), why=str(error), next="benchbuild finetune export writes it"
        ) from error
    if exported != tuning.data:
        raise DataError(
            "the training files were made of other ratings or settings than there are now", where=str(place),
            next="benchbuild finetune export writes them anew",
        )  # fmt: skip
    spec = tuning.spec.tuning
    given = {"n_epochs": spec.epochs, "batch_size": spec.batch_size}
    given["learning_rate_multiplier"] = spec.learning_rate_multiplier  # pyright: ignore[reportArgumentType]
    settings = {name: value for name, value in given.items() if value is not None}
    hashes = [file.sha256 for file in files]
    validation = next((file.file for file in files if file.file.name == VALID), None)
    return Wanted(
        part=place.name, content=content_of([*hashes, model, json.dumps(settings), str(tuning.seed)]),
        suffix=(spec.suffix or tuning.name.replace("_", "-"))[:24].rstrip("-"), model=model,
        training=files[0].file, validation=validation, hyperparameters=settings, seed=tuning.seed,
        metadata=spec.metadata, details={"data": tuning.data, "files": dict(zip((TRAIN, VALID), hashes, strict=False))},
    )  # fmt: skip


# --- the judge


def adopt(tuning: Tuning, last: Standing, folder: Path, gateway: Gateway, note: Note) -> None:
    """Make a judge below `folder` of the model of a job that is through.

    The model of the trial is asked about what is held out: that gives the predictions, the intervals and the card (what
    it half knows is not worth its price).
    One on everything takes its place where scores are given, and the trial stays what it is held to account by.
    DataError if the job was made of other ratings or settings.
    """
    if last.details.get("data") != tuning.data:
        raise DataError(
            f"the job {last.ident} was made of other ratings or settings than there are now",
            next="change them back, or export and submit again",
        )  # fmt: skip
    about = {"job": last.ident, "endpoint": last.endpoint, "trained_tokens": last.trained_tokens}
    if last.details["part"] == EVERYTHING:
        _replace_final(tuning, last, folder, about)
        return
    with writing(folder, tuning.name) as draft:
        for part in (HELD_OUT, FINAL):
            write_model(draft / part, last.model, about)
        judge = OpenAIFinetuned(tuning.spec)
        judge.open(draft / HELD_OUT)
        heard = AskedJudge(judge, gateway, f"judge_{tuning.name}.held_out").heard(
            [example.case for example in tuning.parted.held_out]
        )
        for line in warnings_of(tuning.parted):
            note(line)
        _write_trial(tuning, draft, heard, about, note)


def _write_trial(
    tuning: Tuning, draft: Path, heard: Sequence[float | Dropped], about: Mapping[str, Any], note: Note
) -> None:
    predicted = [float("nan") if isinstance(one, Dropped) else one for one in heard]
    predictions = [one for one in predictions_of(tuning.parted, predicted, {}) if not np.isnan(one.predicted)]
    if not predictions:
        first = next(one for one in heard if isinstance(one, Dropped))
        raise DataError(
            "the trained model gave no score to any held-out answer", why=f"{first.reason}: {first.detail[:200]}",
            next="look at the training file, or take another model",
        )  # fmt: skip
    unscored = len(heard) - len(predictions)
    if unscored:
        note(f"{counted(unscored, 'held-out answer')} got no score that could be read, and stand in no figure")
    metrics = metrics_of(predictions)
    note(f"held out: {line_of(metrics)}")
    if alarm := alarm_of(predictions):
        note(f"ALARM: {alarm}: its figures mean nothing")
    targets = np.array([one.example.target for one in predictions])
    half = half_width(
        np.abs(targets - np.array([one.predicted for one in predictions])), tuning.evaluation.bootstrap.level
    )
    write_predictions(draft / PREDICTIONS, predictions)
    write_learned(draft, tuning.parted.training)
    write_card(draft, {
        **identity_of(tuning.name, tuning.spec, tuning.language, tuning.seed),
        **data_of(tuning.examples, tuning.training, tuning.parted, tuning.evaluation),
        "facts": {"held_out": {**about, "unscored": unscored}, "final": {**about, "learned_from": TRIAL}},
        "conformal": conformal_of(half),
        "metrics": metrics,
        "alarm": alarm or None,
        **{key: digest_of(draft / part) for part, key in DIGESTS.items()},
        "versions": {"benchbuilder": __version__, "python": platform.python_version(), "numpy": np.__version__},
        **words_of_card(tuning.spec, tuning.training, tuning.parted),
    })  # fmt: skip


def _replace_final(tuning: Tuning, last: Standing, folder: Path, about: Mapping[str, Any]) -> None:
    card = trained(folder, tuning.name)
    with writing(folder, tuning.name) as draft:
        shutil.copytree(folder / tuning.name, draft, dirs_exist_ok=True)
        write_model(draft / FINAL, last.model, about)
        write_learned(draft, tuning.examples)
        facts = {**card["facts"], "final": {**about, "learned_from": EVERYTHING}}
        write_card(draft, {**card, "facts": facts, "artefact_sha256": digest_of(draft / FINAL)})
