"""Fine-tuned judges: from ratings to the files of a job, and from a finished job to a judge with a card."""

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
from benchbuilder.config import EvaluationSpec, TrainingSpec
from benchbuilder.core import DataError, Dropped, Problem, RecipeError, conformal_half_width, count_phrase
from benchbuilder.evaluation.judge_training.examples import EvaluationTables, examples_digest, make_examples
from benchbuilder.evaluation.judge_training.finetune_files import (
    TRAIN,
    VALID,
    TrainingFileCheck,
    check_training_file,
    leaked_examples,
    sample_by_weight,
    write_training_file,
)
from benchbuilder.evaluation.judge_training.finetune_jobs import JobRequest, JobStatus, content_hash
from benchbuilder.evaluation.judge_training.model_card import (
    card_conformal,
    card_data,
    card_identity,
    card_metrics,
    card_text,
    constant_predictor_warning,
    held_out_predictions,
    metrics_line,
    split_warnings,
)
from benchbuilder.evaluation.judge_training.prompted_judge import GatewayJudge
from benchbuilder.evaluation.judge_training.splits import Split, split_examples
from benchbuilder.evaluation.judge_training.storage import (
    replacing_judge,
    write_judge_card,
    write_learned_hashes,
    write_predictions,
)
from benchbuilder.evaluation.judges.base import Example
from benchbuilder.evaluation.judges.card import (
    DIGESTS,
    FINAL,
    HELD_OUT,
    PREDICTIONS,
    folder_digest,
    plain_spec,
    read_trained_judge_card,
)
from benchbuilder.evaluation.judges.openai_finetuned import (
    OpenAIFinetunedJudge,
    OpenAIFinetunedSpec,
    write_finetuned_model,
)
from benchbuilder.models import Gateway, TokenCounter

Note = Callable[[str], None]
HELD_OUT_PART, ALL_PART = "trial", "everything"
"""The job whose model is validated, and the job on all examples."""
_EXPORT = "export.json"


@dataclass(frozen=True)
class FineTuning:
    """A judge to fine-tune, with its training examples and its split."""

    name: str
    spec: OpenAIFinetunedSpec
    judge: OpenAIFinetunedJudge
    evaluation: EvaluationSpec
    training: TrainingSpec
    examples: tuple[Example, ...]
    split: Split
    language: str
    seed: int

    @property
    def data(self) -> dict[str, Any]:
        """The facts by which an export, a job and a judge belong together."""
        return {"data_sha256": examples_digest(self.examples), "spec": plain_spec(self.spec), "seed": self.seed}


def plan_fine_tuning(
    name: str,
    spec: OpenAIFinetunedSpec,
    tables: EvaluationTables,
    evaluation: EvaluationSpec,
    *,
    language: str,
    seed: int,
) -> FineTuning:
    """Collect what judge `name` is fine-tuned on.

    Raises:
        RecipeError: The recipe has no `evaluation.training`.
        DataError: There are too few rated answers.
    """
    if evaluation.training is None:
        raise RecipeError([Problem("the recipe does not say what judges are trained on", key="evaluation.training")])
    judge = OpenAIFinetunedJudge(spec)
    judge.open(None)
    examples = make_examples(tables.items, tables.answers, tables.scores, spec.aspect, evaluation.training)
    split = split_examples(examples, evaluation.training, seed)
    return FineTuning(name, spec, judge, evaluation, evaluation.training, tuple(examples), split, language, seed)


# --- files


def export_training_files(tuning: FineTuning, folder: Path, *, everything: bool, note: Note) -> Path:
    """Write the training files of a job into a folder below `folder`, and return it."""
    place = folder / (ALL_PART if everything else HELD_OUT_PART)
    shutil.rmtree(place, ignore_errors=True)
    sides = {TRAIN: sample_by_weight(tuning.examples if everything else tuning.split.training, tuning.seed)}
    if not everything:
        sides[VALID] = list(tuning.split.held_out)
    for name, examples in sides.items():
        drop = tuning.training.reference_drop if name == TRAIN else 0.0
        long = write_training_file(place / name, tuning.judge, examples, seed=tuning.seed, without_evidence=drop)
        if long:
            note(f"{count_phrase(long, 'example')} left out of {name}: question or answer is too long for a prompt")
    (place / _EXPORT).write_text(json.dumps(tuning.data, ensure_ascii=False, sort_keys=True, indent=1), "utf-8")
    return place


def check_export(place: Path, spec: OpenAIFinetunedSpec) -> tuple[list[TrainingFileCheck], list[str]]:
    """The contents of an export's files, and all their problems."""
    counter = TokenCounter(spec.model)
    names = [TRAIN, VALID] if (place / VALID).exists() else [TRAIN]
    files = [check_training_file(place / name, counter, spec.tuning) for name in names]
    wrong = [f"{file.file.name}: {problem}" for file in files for problem in file.problems]
    return files, wrong + (leaked_examples(files[0], files[1]) if len(files) > 1 else [])


def job_request(tuning: FineTuning, place: Path, files: Sequence[TrainingFileCheck], model: str) -> JobRequest:
    """The request for a job on an export.

    Raises:
        DataError: The export is missing, or ratings or settings have changed since.
    """
    try:
        exported: Any = json.loads((place / _EXPORT).read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(
            "there is no complete export", where=str(place), why=str(error), next="benchbuild finetune export writes it"
        ) from error
    if exported != tuning.data:
        raise DataError(
            "ratings or settings have changed since the training files were written", where=str(place),
            next="write them again: benchbuild finetune export",
        )  # fmt: skip
    spec = tuning.spec.tuning
    given = {"n_epochs": spec.epochs, "batch_size": spec.batch_size}
    given["learning_rate_multiplier"] = spec.learning_rate_multiplier  # pyright: ignore[reportArgumentType]
    settings = {name: value for name, value in given.items() if value is not None}
    hashes = [file.sha256 for file in files]
    validation = next((file.file for file in files if file.file.name == VALID), None)
    return JobRequest(
        part=place.name, content=content_hash([*hashes, model, json.dumps(settings), str(tuning.seed)]),
        suffix=(spec.suffix or tuning.name.replace("_", "-"))[:24].rstrip("-"), model=model,
        training=files[0].file, validation=validation, hyperparameters=settings, seed=tuning.seed,
        metadata=spec.metadata, details={"data": tuning.data, "files": dict(zip((TRAIN, VALID), hashes, strict=False))},
    )  # fmt: skip


# --- the judge


def adopt_finetuned_model(tuning: FineTuning, job: JobStatus, folder: Path, gateway: Gateway, note: Note) -> None:
    """Make a judge below `folder` from the model of a finished job.

    The model of the validation job scores the held-out answers: that gives the predictions, the intervals and the card.
    Partly seen answers are not scored, because they are not worth the price. The model of a job on all examples
    replaces it for scoring; the validation figures stay.

    Raises:
        DataError: Ratings or settings have changed since the job was made.
    """
    if job.details.get("data") != tuning.data:
        raise DataError(
            f"ratings or settings have changed since the job {job.ident} was made",
            next="restore them, or export and submit again",
        )  # fmt: skip
    about = {"job": job.ident, "endpoint": job.endpoint, "trained_tokens": job.trained_tokens}
    if job.details["part"] == ALL_PART:
        _replace_final(tuning, job, folder, about)
        return
    with replacing_judge(folder, tuning.name) as draft:
        for part in (HELD_OUT, FINAL):
            write_finetuned_model(draft / part, job.model, about)
        judge = OpenAIFinetunedJudge(tuning.spec)
        judge.open(draft / HELD_OUT)
        replies = GatewayJudge(judge, gateway, f"judge_{tuning.name}.held_out").scores_or_reasons(
            [example.case for example in tuning.split.held_out]
        )
        for line in split_warnings(tuning.split):
            note(line)
        _write_validation_run(tuning, draft, replies, about, note)


def _write_validation_run(
    tuning: FineTuning, draft: Path, replies: Sequence[float | Dropped], job_facts: Mapping[str, Any], note: Note
) -> None:
    predicted = [float("nan") if isinstance(one, Dropped) else one for one in replies]
    predictions = [one for one in held_out_predictions(tuning.split, predicted, {}) if not np.isnan(one.predicted)]
    if not predictions:
        first = next(one for one in replies if isinstance(one, Dropped))
        raise DataError(
            "the trained model gave no held-out answer a score", why=f"{first.reason}: {first.detail[:200]}",
            next="check the training file, or use another model",
        )  # fmt: skip
    unscored = len(replies) - len(predictions)
    if unscored:
        note(f"{count_phrase(unscored, 'held-out answer')} got no readable score, and do not count in any figure")
    metrics = card_metrics(predictions)
    note(f"held out: {metrics_line(metrics)}")
    if warning := constant_predictor_warning(predictions):
        note(f"WARNING: {warning}: its figures are meaningless")
    targets = np.array([one.example.target for one in predictions])
    half = conformal_half_width(
        np.abs(targets - np.array([one.predicted for one in predictions])), tuning.evaluation.bootstrap.level
    )
    write_predictions(draft / PREDICTIONS, predictions)
    write_learned_hashes(draft, tuning.split.training)
    write_judge_card(
        draft,
        {
            **card_identity(tuning.name, tuning.spec, tuning.language, tuning.seed),
            **card_data(tuning.examples, tuning.training, tuning.split, tuning.evaluation),
            "facts": {
                "held_out": {**job_facts, "unscored": unscored},
                "final": {**job_facts, "learned_from": HELD_OUT_PART},
            },
            "conformal": card_conformal(half),
            "metrics": metrics,
            "constant_predictor": warning or None,
            **{key: folder_digest(draft / part) for part, key in DIGESTS.items()},
            "versions": {"benchbuilder": __version__, "python": platform.python_version(), "numpy": np.__version__},
            **card_text(tuning.spec, tuning.training, tuning.split),
        },
    )


def _replace_final(tuning: FineTuning, job: JobStatus, folder: Path, job_facts: Mapping[str, Any]) -> None:
    card = read_trained_judge_card(folder, tuning.name)
    with replacing_judge(folder, tuning.name) as draft:
        shutil.copytree(folder / tuning.name, draft, dirs_exist_ok=True)
        write_finetuned_model(draft / FINAL, job.model, job_facts)
        write_learned_hashes(draft, tuning.examples)
        facts = {**card["facts"], "final": {**job_facts, "learned_from": ALL_PART}}
        write_judge_card(draft, {**card, "facts": facts, "artefact_sha256": folder_digest(draft / FINAL)})
