"""Scores submissions to the private questions of a release, with the scorers of the recipe."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchbuilder.config import BootstrapSpec, FileRef, LoadedRecipe, display_path, read_kind_spec
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    raise_row_errors,
    read_given_file,
    read_json,
    read_row_file,
    row_name,
    write_atomically,
)
from benchbuilder.evaluation import (
    Estimate,
    Evaluation,
    benchmark_items,
    evaluation_tables,
    mean_estimate,
    plan_evaluation,
)
from benchbuilder.pipeline import Checksums, Store, Watcher, build_benchmark, make_plan
from benchbuilder.publishing.release.private_folder import PRIVATE_FOLDER, make_private
from benchbuilder.publishing.release.record import ReleaseRecord, latest_release, parse_version, read_record

_NEXT = "a row has `id`, `answer` and, if there are several, `model`; see the card of the release"
_SCORED_BY = ("verdict", "similarity", "exact")
"""Kinds of scorers that need neither people, nor a model, nor training."""
DEFAULT_MODEL = "submission"


@dataclass(frozen=True)
class SubmissionScore:
    """What a model reached in one aspect by one scorer, over `estimate.n` private questions of one type.

    The interval draws whole item families. `labels` counts findings, such as right, wrong and invalid.
    """

    task: str
    model: str
    scorer: str
    aspect: str
    type: str
    estimate: Estimate
    labels: Mapping[str, int]


@dataclass(frozen=True)
class ScoredSubmission:
    """The scores of a submission; `unanswered` counts by model the private questions that it left out.

    `folder` has the results in full. It is part of the private folder: scores of single questions tell their labels.
    """

    record: ReleaseRecord
    scores: tuple[SubmissionScore, ...]
    unanswered: Mapping[str, int]
    folder: Path


@dataclass(frozen=True)
class SubmittedAnswer:
    """The answer of a model to a private question."""

    model: str
    question: str
    text: str


def score_submission(
    loaded: LoadedRecipe, file: Path, cwd: Path, watcher: Watcher, *, version: str = ""
) -> ScoredSubmission:
    """Score the answers in `file` to the private questions of a version, by default the last one.

    A question without an answer counts as wrong: leaving questions out is no advantage.

    Raises:
        DataError: There is no such release or private folder, or rows of the file cannot be used; all are listed.
        RecipeError: The recipe has no evaluation.
    """
    recipe = loaded.whole
    releases = cwd / recipe.release.dir / recipe.benchmark_name
    release = releases / str(parse_version(version)) if version else latest_release(releases)
    if release is None:
        raise DataError(
            f"{display_path(releases)} holds no release",
            where=display_path(releases),
            next="give the recipe and the release.dir that the release was made with",
        )
    record = read_record(release)
    private = releases / PRIVATE_FOLDER / release.name
    names = _read_names(private, record)
    answers = read_submission(file, {name for task in names.values() for name in task.values()})
    models = list(dict.fromkeys(answer.model for answer in answers))
    digest = hashlib.blake2b(read_given_file(file), digest_size=4).hexdigest()
    folder = private / "submissions" / f"{re.sub(r'[^A-Za-z0-9_-]+', '_', file.stem)}-{digest}"
    make_private(folder)
    scores: list[SubmissionScore] = []
    for part in loaded.by_task():
        if names.get(part.task):
            scores += _score_task(part, names[part.task], answers, private, folder, record, cwd, watcher)
    total = sum(len(task) for task in names.values())
    given = Counter(answer.model for answer in answers)
    return ScoredSubmission(record, tuple(scores), {model: total - given[model] for model in models}, folder)


def read_submission(file: Path, known: set[str]) -> list[SubmittedAnswer]:
    """The answers of a file (JSON Lines, CSV, TSV or Parquet); DataError lists every row that cannot be used."""
    answers: dict[tuple[str, str], SubmittedAnswer] = {}
    problems: list[str] = []
    for line, row in read_row_file(file):
        name, text, model = (row.get(key) for key in ("id", "answer", "model"))
        key = (str(model or DEFAULT_MODEL).strip(), str(name or "").strip())
        if key[1] not in known:
            what = f"{key[1]!r} is no private question of this version" if key[1] else "there is no `id`"
        elif not isinstance(text, str):
            what = "there is no `answer`" if text is None else f"answer is {type(text).__name__}, not text"
        elif key in answers:
            what = f"{key[0]} answered {key[1]} before"
        else:
            answers[key] = SubmittedAnswer(*key, text)
            continue
        problems.append(f"{file.name}:{line}: {what}")
    raise_row_errors(problems, f"{file.name} has answers that cannot be used", _NEXT)
    if not answers:
        raise DataError(f"{file.name} has no answers", where=str(file), next=_NEXT)
    return list(answers.values())


def _read_names(private: Path, record: ReleaseRecord) -> dict[str, dict[str, str]]:
    """The published names of private items by their ids, by task."""
    if not record.private_items:
        raise DataError(
            f"{record.name} {record.version} has no private questions", where=display_path(private.parent),
            why="release.private was 0", next="score answers to public items with benchbuild evaluate",
        )  # fmt: skip
    try:
        return read_json(private / "names.json")
    except (OSError, ValueError) as error:
        raise DataError(
            f"the private labels of {record.name} {record.version} cannot be read", where=display_path(private),
            why=str(error), next="bring the private folder back from a copy",
        ) from error  # fmt: skip


def _score_task(
    part: LoadedRecipe, names: Mapping[str, str], answers: Sequence[SubmittedAnswer], private: Path, folder: Path,
    record: ReleaseRecord, cwd: Path, watcher: Watcher,
) -> list[SubmissionScore]:  # fmt: skip
    spec = part.recipe.evaluation
    if spec is None:
        raise RecipeError([Problem("this recipe says nothing of evaluating", key=part.file_key("evaluation"),
                                   hint="choose settings, for instance evaluation=[zh_claims]")])  # fmt: skip
    own = folder / (part.task or "items")
    file = _write_answers(own, names, answers)
    items = private / f"{part.task or 'items'}.parquet"
    benchmark = read_kind_spec("source", {
        "kind": "built_items", "parts": [FileRef(path=items.name, resolved_path=str(items.absolute()))],
        "row": _row_of(part, cwd), "title": f"{record.title} {record.version}, private questions",
    })  # fmt: skip
    chosen = spec.model_copy(update={
        "benchmark": benchmark, "answers": FileRef(path=file.name, resolved_path=str(file.absolute())),
        "baselines": {}, "models": {}, "judges": {}, "training": None, "one_of_family": False,
        "scorers": {name: scorer for name, scorer in spec.scorers.items() if scorer.kind in _SCORED_BY},
        "outputs": {name: out for name, out in spec.outputs.items() if out.kind == "results"},
        "published": None, "dir": str(own.absolute()),
    })  # fmt: skip
    scoring = replace(part, recipe=part.recipe.model_copy(update={"evaluation": chosen}))
    evaluation = plan_evaluation(scoring, cwd)
    build_benchmark(evaluation.plan, evaluation.store, part.yaml, watcher, keep_outputs=True)
    return _summarise(evaluation, spec.bootstrap)


def _row_of(part: LoadedRecipe, cwd: Path) -> str:
    store = Store(part.recipe.build_folder(cwd))
    plan = make_plan(part.whole, store, Checksums(store.checksums).sha256_of)
    return row_name(plan.nodes[part.recipe.items].row)


def _write_answers(folder: Path, names: Mapping[str, str], answers: Sequence[SubmittedAnswer]) -> Path:
    """The answers by the ids of the build, with an empty one for each question that was left out."""
    given = {(answer.model, answer.question): answer.text for answer in answers}
    rows = [
        {"id": item, "model": model, "answer": given.get((model, name), "")}
        for model in dict.fromkeys(answer.model for answer in answers)
        for item, name in names.items()
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return write_atomically(folder / "answers.jsonl", text)


def _summarise(evaluation: Evaluation, bootstrap: BootstrapSpec) -> list[SubmissionScore]:
    """The mean of each aspect by model and scorer; an answer without a value counts as 0."""
    items = {item.id: item for item in benchmark_items(evaluation)}
    scores: list[SubmissionScore] = []
    for name, table in evaluation_tables(evaluation, "score").items():
        model = name.partition(".")[2]
        rows: dict[tuple[str, str], list[Any]] = {}
        for row in table:
            rows.setdefault((row.aspect, items[row.item].payload.type), []).append(row)
        for (aspect, kind), found in rows.items():
            values = [0.0 if row.value is None else row.value for row in found]
            estimate = mean_estimate(values, [items[row.item].family_name for row in found], samples=bootstrap.samples,
                                     level=bootstrap.level, seed=bootstrap.seed)  # fmt: skip
            labels = Counter(row.label for row in found if row.label)
            scores.append(SubmissionScore(
                evaluation.task, model, name.partition(".")[0], aspect, kind, estimate, dict(sorted(labels.items()))
            ))  # fmt: skip
    return sorted(scores, key=lambda score: (score.task, score.type != "tf", score.aspect, score.model))
