"""Storage of trained judges: written to a draft folder, put in place as a whole, and loaded again."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError

from benchbuilder import __version__
from benchbuilder.config import FileRef, Slot
from benchbuilder.core import (
    BenchbuilderError,
    DataError,
    StoreError,
    create_from_spec,
    find_kind,
    make_folder,
    move_into_place,
    name_file_in_errors,
    parse_json,
    read_given_text,
    seal_json,
    sync_paths,
    sync_tree,
)
from benchbuilder.evaluation.judge_training.predictions import Prediction, ValidationRun
from benchbuilder.evaluation.judges.base import Case, Example, Judge, JudgeSpec, ScoringJudge, case_hash
from benchbuilder.evaluation.judges.card import (
    DIGESTS,
    FILE_DIGESTS,
    HELD_OUT,
    JUDGE_CARD,
    LEARNED,
    PREDICTIONS,
    file_digest,
    folder_digest,
    plain_spec,
    read_trained_judge_card,
    verify_judge_part,
)

_DRAFT, _OLD, _LOCK = ".draft", ".old", ".lock"
_KEY = "training.key"
"""The file in a draft that names the training that writes it."""
_TEXT, _NUMBER = pa.string(), pa.float64()
_EXAMPLE_TEXTS = ("item", "family", "model", "source")
_CASE_TEXTS = ("type", "question", "answer", "right", "wrong")
_PREDICTION = pa.schema(
    [
        *(pa.field(name, _TEXT, nullable=False) for name in (*_EXAMPLE_TEXTS, *_CASE_TEXTS)),
        pa.field("evidence", pa.list_(_TEXT), nullable=False),
        pa.field("target", _NUMBER, nullable=False),
        pa.field("weight", _NUMBER, nullable=False),
        pa.field("ratings", pa.list_(pa.struct([("rater", _TEXT), ("value", _NUMBER)])), nullable=False),
        pa.field("predicted", _NUMBER, nullable=False),
        pa.field("without_evidence", _NUMBER),
        pa.field("others", pa.list_(pa.struct([("name", _TEXT), ("value", _NUMBER)])), nullable=False),
        pa.field("side", _TEXT),
    ]
)


@contextmanager
def replacing_judge(folder: Path, name: str, key: str = "") -> Generator[Path]:
    """Yield a folder to write judge `name` into; it replaces the old judge when the block succeeds.

    `key` names the training. With a key, a block that fails or is killed leaves its folder, and the next block with the
    same key resumes in it. Without one, the folder is always new.

    Raises:
        StoreError: Another process is training a judge of this name.
    """
    make_folder(folder)
    place, draft, old = (folder / f"{name}{suffix}" for suffix in ("", _DRAFT, _OLD))
    lock = FileLock(folder / f"{name}{_LOCK}")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StoreError(
            f"the judge {name!r} is being trained by another process", where=str(place), next="wait for it to end"
        ) from error
    try:
        _recover(place, old)
        if not key or _key_of(draft) != key:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
        (draft / _KEY).write_text(key, encoding="utf-8", newline="\n")
        with name_file_in_errors(draft):
            yield draft
        (draft / _KEY).unlink()
        sync_tree(draft)
        if place.exists():
            move_into_place(place, old)
        move_into_place(draft, place)
        sync_paths([folder])  # before the former judge goes
        shutil.rmtree(old, ignore_errors=True)
    finally:
        if not key:
            shutil.rmtree(draft, ignore_errors=True)
        lock.release()


def _key_of(draft: Path) -> str:
    """The key of the training that wrote a draft; empty if no training can resume in it."""
    return read_given_text(draft / _KEY) if (draft / _KEY).is_file() else ""


def _recover(place: Path, backup: Path) -> None:
    """Restore a judge that a killed training had moved away and not replaced."""
    if not backup.exists():
        return
    if place.exists():
        shutil.rmtree(backup)
    else:
        backup.rename(place)


def write_judge_card(folder: Path, card: Mapping[str, Any]) -> None:
    """Write the card of the judge in `folder`."""
    plain = parse_json(json.dumps(card, sort_keys=True, allow_nan=False))
    (folder / JUDGE_CARD).write_bytes(seal_json(plain, indent=1))


def write_learned_hashes(folder: Path, examples: Iterable[Example]) -> None:
    """Write the hashes of all answers that the final judge in `folder` was trained on, synthetic ones included."""
    marks = sorted({case_hash(example.case) for example in examples})
    (folder / LEARNED).write_text(json.dumps(marks) + "\n", encoding="utf-8", newline="\n")


def write_validated_judge(
    draft: Path, card: Mapping[str, Any], predictions: Iterable[Prediction], learned: Iterable[Example],
    versions: Mapping[str, str],
) -> None:  # fmt: skip
    """Write predictions, hashes and card of a judge whose parts are in `draft`; the card has their digests."""
    write_predictions(draft / PREDICTIONS, predictions)
    write_learned_hashes(draft, learned)
    digests = {key: folder_digest(draft / part) for part, key in DIGESTS.items()}
    digests |= {key: file_digest(draft / part) for part, key in FILE_DIGESTS.items()}
    own = {"benchbuilder": __version__, "python": platform.python_version(), "numpy": np.__version__}
    write_judge_card(draft, {**card, **digests, "versions": {**own, **versions}})


def load_validation_run(
    folder: Path, name: str, *, open_judge: bool = True, spec: JudgeSpec | None = None
) -> ValidationRun:
    """Load the validation run of judge `name` below `folder`; `open_judge` opens the judge that made the predictions.

    `spec` is the recipe's spec of the judge, which has the locations of files and the runtime options.

    Raises:
        DataError: The judge is not trained, was changed since, or cannot be read.
    """
    card = read_trained_judge_card(folder, name)
    file = folder / name / PREDICTIONS
    if card.get(FILE_DIGESTS[PREDICTIONS], digest := file_digest(file)) != digest:
        raise DataError(
            f"the predictions of the judge {name!r} changed since it was trained",
            where=str(file),
            next=f"train it again: benchbuild judge train {name} recipe=...",
        )
    predictions = read_predictions(file)
    held_out = tuple(prediction for prediction in predictions if prediction.side == "held_out")
    left_out = tuple(prediction for prediction in predictions if prediction.side != "held_out")
    judge = _open_judge(card, folder / name, spec) if open_judge else None
    return ValidationRun(name, card, held_out, judge, left_out)


def _open_judge(card: Mapping[str, Any], folder: Path, spec: JudgeSpec | None) -> ScoringJudge | None:
    """The open judge; ``None`` for one that asks a model, because asking costs requests."""
    judge: Judge = create_from_spec("judge", judge_spec(card, spec))
    if not isinstance(judge, ScoringJudge):
        return None
    artefact = verify_judge_part(folder, HELD_OUT, card)
    judge.ready()
    judge.open(artefact)
    return judge


def judge_spec(card: Mapping[str, Any], current_spec: JudgeSpec | None = None) -> JudgeSpec:
    """The spec that a judge was trained with.

    If `current_spec` (the recipe's spec of this judge) has the same settings, it is returned with its runtime options.
    Otherwise, files that both specs name are located by `current_spec`, and runtime options have their defaults.
    """
    if current_spec is not None and plain_spec(current_spec) == card["spec"]:
        return current_spec
    try:
        spec = _create_from_plain("judge", card["spec"], _file_places(current_spec))
    except (ValidationError, KeyError, BenchbuilderError) as error:
        raise DataError(
            f"the judge {card.get('name')!r} was trained by another version of its kind",
            why=str(error),
            next="train it again",
        ) from error
    assert isinstance(spec, JudgeSpec)
    return spec


def _create_from_plain(slot: str, plain: Mapping[str, Any], places: Mapping[str, str]) -> Any:
    cls = find_kind(slot, plain["kind"]).load().spec_class
    data = dict(plain)
    for name, info in cls.model_fields.items():
        for mark in info.metadata:
            if isinstance(mark, Slot) and isinstance(data.get(name), Mapping):
                data[name] = _create_from_plain(mark.slot, data[name], places)
    spec: BaseModel = cls.model_validate(data)
    refs = {name: ref for name in cls.model_fields if isinstance(ref := getattr(spec, name), FileRef)}
    located = {name: ref.model_copy(update={"resolved_path": places.get(ref.path, "")}) for name, ref in refs.items()}
    return spec.model_copy(update=located)


def _file_places(spec: BaseModel | None) -> dict[str, str]:
    """The resolved paths of a spec's files, by their paths as written."""
    if spec is None:
        return {}
    if isinstance(spec, FileRef):
        return {spec.path: spec.resolved_path}
    inner = (getattr(spec, name) for name in type(spec).model_fields)
    return {path: at for value in inner if isinstance(value, BaseModel) for path, at in _file_places(value).items()}


def clean_judge_folders(folder: Path) -> None:
    """Remove what killed trainings left below `folder`, and put back the judges that they had moved.

    Drafts in which a training can resume stay.
    """
    for leftover in sorted([*folder.glob(f"*{_DRAFT}"), *folder.glob(f"*{_OLD}")]):
        lock = FileLock(folder / f"{leftover.stem}{_LOCK}")
        try:
            with lock.acquire(timeout=0):
                _recover(folder / leftover.stem, folder / f"{leftover.stem}{_OLD}")
                if not _key_of(draft := folder / f"{leftover.stem}{_DRAFT}"):
                    shutil.rmtree(draft, ignore_errors=True)
        except Timeout:
            continue


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> None:
    """Write every field of `predictions`."""
    rows = [_row(prediction) for prediction in predictions]
    pq.write_table(pa.Table.from_pylist(rows, schema=_PREDICTION), path, compression="zstd", version="2.6")


def _row(prediction: Prediction) -> dict[str, Any]:
    example, case = prediction.example, prediction.example.case
    return {
        **{name: getattr(example, name) for name in (*_EXAMPLE_TEXTS, "target", "weight")},
        **{name: getattr(case, name) for name in _CASE_TEXTS},
        "evidence": list(case.evidence),
        "ratings": [{"rater": rater, "value": value} for rater, value in example.ratings],
        "predicted": prediction.predicted,
        "without_evidence": prediction.without_evidence,
        "others": [{"name": name, "value": value} for name, value in sorted(prediction.others.items())],
        "side": prediction.side,
    }


def read_predictions(path: Path) -> list[Prediction]:
    """Read the file that `write_predictions` wrote; DataError if that is not possible."""
    try:
        table = pq.read_table(path, partitioning=None)
        if set(table.schema.names) != set(_PREDICTION.names):
            raise ValueError(f"it has the columns {', '.join(table.schema.names)}")
        rows: Any = table.select(_PREDICTION.names).cast(_PREDICTION).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(
            "the predictions of this judge cannot be read", where=str(path), why=str(error), next="train it again"
        ) from error
    return [_prediction(row) for row in rows]


def _prediction(row: Mapping[str, Any]) -> Prediction:
    case = Case(row["question"], row["answer"], tuple(row["evidence"]), row["right"], row["wrong"], row["type"])
    ratings = tuple((rating["rater"], rating["value"]) for rating in row["ratings"])
    example = Example(
        case, row["target"], row["weight"], row["item"], row["family"], row["model"], row["source"], ratings
    )
    others = {other["name"]: other["value"] for other in row["others"]}
    return Prediction(example, row["predicted"], row["without_evidence"], others, row["side"] or "held_out")
