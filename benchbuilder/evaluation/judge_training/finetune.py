"""Fine-tuned judges: from ratings to the files of a job, and from a finished job to a judge with a card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.config import EvaluationSpec
from benchbuilder.core import DataError, Dropped, count_phrase, read_json, write_atomically
from benchbuilder.evaluation.judge_training.examples import EvaluationTables
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
    JudgeTraining,
    Note,
    held_out_predictions,
    note_figures,
    plan_training,
    split_warnings,
)
from benchbuilder.evaluation.judge_training.storage import (
    replacing_judge,
    write_judge_card,
    write_learned_hashes,
    write_validated_judge,
)
from benchbuilder.evaluation.judges.base import AskingJudge, Case, ScoringJudge
from benchbuilder.evaluation.judges.card import (
    FINAL,
    HELD_OUT,
    LEARNED,
    file_digest,
    folder_digest,
    read_trained_judge_card,
)
from benchbuilder.evaluation.judges.openai_finetuned import (
    OpenAIFinetunedJudge,
    OpenAIFinetunedSpec,
    write_finetuned_model,
)
from benchbuilder.models import Gateway, TokenCounter

HELD_OUT_PART, ALL_PART = "trial", "everything"
"""The job whose model is validated, and the job on all examples."""
_EXPORT = "export.json"


@dataclass(frozen=True)
class FineTuning:
    """A judge to fine-tune, which is open, and what it is trained on."""

    judge: OpenAIFinetunedJudge
    plan: JudgeTraining

    @property
    def data(self) -> dict[str, Any]:
        """The facts by which an export, a job and a judge belong together."""
        settings = self.plan.settings()
        return {name: settings[name] for name in ("data_sha256", "spec", "seed")}


def plan_fine_tuning(
    name: str, spec: OpenAIFinetunedSpec, tables: EvaluationTables, evaluation: EvaluationSpec, *, language: str,
    seed: int,
) -> FineTuning:  # fmt: skip
    """Collect what judge `name` is fine-tuned on.

    Raises:
        RecipeError: The recipe has no `evaluation.training`.
        DataError: There are too few rated answers.
    """
    judge = OpenAIFinetunedJudge(spec)
    judge.open(None)
    return FineTuning(judge, plan_training(name, spec, tables, evaluation, language=language, seed=seed))


def export_training_files(tuning: FineTuning, folder: Path, *, everything: bool, note: Note) -> Path:
    """Write the training files of a job into a folder below `folder`, and return it."""
    plan, place = tuning.plan, folder / (ALL_PART if everything else HELD_OUT_PART)
    shutil.rmtree(place, ignore_errors=True)
    sides = {TRAIN: sample_by_weight(plan.examples if everything else plan.split.training, plan.seed)}
    if not everything:
        sides[VALID] = list(plan.split.held_out)
    for name, examples in sides.items():
        drop = plan.training.reference_drop if name == TRAIN else 0.0
        long = write_training_file(place / name, tuning.judge, examples, seed=plan.seed, without_evidence=drop)
        if long:
            note(f"{count_phrase(long, 'example')} left out of {name}: question or answer is too long for a prompt")
    write_atomically(place / _EXPORT, json.dumps(tuning.data, ensure_ascii=False, sort_keys=True, indent=1))
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
        exported: Any = read_json(place / _EXPORT)
    except (OSError, ValueError) as error:
        raise DataError(
            "there is no complete export", where=str(place), why=str(error), next="benchbuild finetune export writes it"
        ) from error
    if exported != tuning.data:
        raise DataError(
            "ratings or settings have changed since the training files were written",
            where=str(place),
            next="write them again: benchbuild finetune export",
        )
    spec = tuning.judge.spec.tuning
    given = {"n_epochs": spec.epochs, "batch_size": spec.batch_size}
    given["learning_rate_multiplier"] = spec.learning_rate_multiplier  # pyright: ignore[reportArgumentType]
    settings = {name: value for name, value in given.items() if value is not None}
    hashes = [file.sha256 for file in files]
    validation = next((file.file for file in files if file.file.name == VALID), None)
    return JobRequest(
        part=place.name, content=content_hash([*hashes, model, json.dumps(settings), str(tuning.plan.seed)]),
        suffix=(spec.suffix or tuning.plan.name.replace("_", "-"))[:24].rstrip("-"), model=model,
        training=files[0].file, validation=validation, hyperparameters=settings, seed=tuning.plan.seed,
        metadata=spec.metadata, details={"data": tuning.data, "files": dict(zip((TRAIN, VALID), hashes, strict=False))},
    )  # fmt: skip


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
        )
    about = {"job": job.ident, "endpoint": job.endpoint, "trained_tokens": job.trained_tokens}
    if job.details["part"] == ALL_PART:
        _replace_final(tuning, job, folder, about)
        return
    plan = tuning.plan
    with replacing_judge(folder, plan.name) as draft:
        for part in (HELD_OUT, FINAL):
            write_finetuned_model(draft / part, job.model, about)
        judge = OpenAIFinetunedJudge(tuning.judge.spec)
        judge.open(draft / HELD_OUT)
        asking = GatewayJudge(judge, gateway, f"judge_{plan.name}.held_out")
        replies = asking.scores_or_reasons([example.case for example in plan.split.held_out])
        for line in split_warnings(plan.split):
            note(line)
        _write_validation_run(plan, draft, replies, about, note)


def _write_validation_run(
    plan: JudgeTraining, draft: Path, replies: Sequence[float | Dropped], job_facts: Mapping[str, Any], note: Note
) -> None:
    scores = [float("nan") if isinstance(reply, Dropped) else reply for reply in replies]
    every = held_out_predictions(plan.split, scores, {})
    predictions = [prediction for prediction in every if not np.isnan(prediction.predicted)]
    if not predictions:
        first = next(reply for reply in replies if isinstance(reply, Dropped))
        raise DataError(
            "the trained model gave no held-out answer a score",
            why=f"{first.reason}: {first.detail[:200]}",
            next="check the training file, or use another model",
        )
    unscored = len(replies) - len(predictions)
    if unscored:
        note(f"{count_phrase(unscored, 'held-out answer')} got no readable score, and do not count in any figure")
    note_figures(predictions, note)
    facts = {"held_out": {**job_facts, "unscored": unscored}, "final": {**job_facts, "learned_from": HELD_OUT_PART}}
    write_validated_judge(draft, plan.card(predictions, facts), predictions, plan.split.training, {})


def _replace_final(tuning: FineTuning, job: JobStatus, folder: Path, job_facts: Mapping[str, Any]) -> None:
    card = read_trained_judge_card(folder, tuning.plan.name)
    with replacing_judge(folder, tuning.plan.name) as draft:
        shutil.copytree(folder / tuning.plan.name, draft, dirs_exist_ok=True)
        write_finetuned_model(draft / FINAL, job.model, job_facts)
        write_learned_hashes(draft, tuning.plan.examples)
        facts = {**card["facts"], "final": {**job_facts, "learned_from": ALL_PART}}
        digests = {"artefact_sha256": folder_digest(draft / FINAL), "learned_sha256": file_digest(draft / LEARNED)}
        write_judge_card(draft, {**card, "facts": facts, **digests})


class GatewayJudge(ScoringJudge):
    """An open judge that asks a model through `gateway`; `step` is its name in receipts."""

    def __init__(self, judge: AskingJudge, gateway: Gateway, step: str) -> None:
        super().__init__(judge.spec)
        self.kind = judge.kind  # pyright: ignore[reportAttributeAccessIssue] - what it is to the outside
        self.judge, self._gateway, self._step = judge, gateway, step

    def scores_or_reasons(
        self, cases: Sequence[Case], report_progress: Callable[[int], None] | None = None
    ) -> list[float | Dropped]:
        """The score of each case, or why it has none; `report_progress` receives the number of finished cases.

        Errors of the gateway are raised; replies received so far are kept.
        """
        asks = self.judge.model_spec
        if asks is None:
            return [Dropped("needs_model")] * len(cases)
        results: dict[int, float | Dropped] = {}

        def conversation(place: int) -> Any:
            results[place] = yield from self.judge.converse(cases[place])
            return []

        def done(place: int, outcomes: Any) -> None:
            if isinstance(outcomes, str):
                results[place] = Dropped("failed", outcomes)
            if report_progress is not None:
                report_progress(len(results))

        starts = ((place, conversation(place)) for place in range(len(cases)))
        self._gateway.converse(self._step, asks, starts, done)
        return [results[place] for place in range(len(cases))]

    def score(self, cases: Sequence[Case]) -> list[float]:
        """The score of each case; DataError if one has none, because there is no substitute."""
        replies = self.scores_or_reasons(cases)
        scores: list[float] = [reply for reply in replies if not isinstance(reply, Dropped)]
        if len(scores) < len(replies):
            first = next(reply for reply in replies if isinstance(reply, Dropped))
            raise DataError(
                f"{len(replies) - len(scores)} of {len(replies)} cases got no score",
                where=self._step,
                why=": ".join(filter(None, (first.reason, first.detail[:200]))),
                next="see evaluation.judges: more repair_rounds, or another model",
            )
        return scores
