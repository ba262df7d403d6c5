"""The folder of a trained judge: its parts, its card, and checks that it fits a benchmark."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchbuilder.config import EvaluationSpec, FileRef, RuntimeOption
from benchbuilder.core import (
    DataError,
    open_given_file,
    parse_json,
    parse_plain_yaml,
    read_given_file,
    read_given_text,
    read_json,
    unseal_json,
)

JUDGE_CARD, FINAL, HELD_OUT, PREDICTIONS, LEARNED = (
    "card.json", "final", "held_out", "predictions.parquet", "learned.json",
)  # fmt: skip
"""Parts of the folder: the card, the final judge, the judge for validation, its predictions of held-out examples, and
the hashes of the final judge's training answers."""


DIGESTS = {FINAL: "artefact_sha256", HELD_OUT: "held_out_sha256"}
"""The key of a part's digest in the card."""
FILE_DIGESTS = {PREDICTIONS: "predictions_sha256", LEARNED: "learned_sha256"}
"""The same for parts that are files; cards of earlier versions have no such digests."""
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _HeldOut(BaseModel):
    models: list[str]
    families: list[str]


class _Conformal(BaseModel):
    half_width: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


class _JudgeCard(BaseModel):
    """The fields of a card that scoring and reports need; a card has more for people."""

    model_config = ConfigDict(strict=True)

    kind: str
    name: str
    aspect: str
    language: str
    seed: int
    spec: dict[str, Any]
    training: dict[str, Any]
    split: str
    rubric_sha256: str
    data_sha256: _Digest
    artefact_sha256: _Digest
    held_out_sha256: _Digest
    held_out: _HeldOut
    conformal: _Conformal


def read_judge_card(folder: Path) -> dict[str, Any] | None:
    """The card of the judge in `folder`; ``None`` if there is no judge, and DataError if the card is damaged."""
    path = folder / JUDGE_CARD
    try:
        raw = read_given_file(path)
        card: Any = parse_json(raw)
        if isinstance(card, dict) and "checksum" in card:  # cards of earlier versions have none
            card = unseal_json(raw)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DataError(f"the card {path} is damaged", why=str(error), next="train the judge again") from error
    try:
        _JudgeCard.model_validate(card)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'the card'}: {fault['msg']}" for fault in error.errors()[:3]
        )
        raise DataError(f"{path} is not a card of a judge", why=problems, next="train the judge again") from error
    return card


def verify_judge_part(folder: Path, part: str, card: Mapping[str, Any]) -> Path:
    """The `part` of the judge in `folder` (`FINAL` or `HELD_OUT`).

    Raises:
        DataError: The part was changed or removed since the training.
    """
    if folder_digest(folder / part) != card.get(DIGESTS[part]):
        reason = "its files do not match its card" if (folder / part).is_dir() else "it is gone"
        raise DataError(
            f"the judge {folder.name!r} was changed since it was trained", where=str(folder / part), why=reason,
            next=f"restore its files, or train it again: benchbuild judge train {folder.name} --again recipe=...",
        )  # fmt: skip
    return folder / part


def damaged_parts(folder: Path, card: Mapping[str, Any]) -> list[str]:
    """The parts of the judge in `folder` that are not as its training left them."""
    digests = {part: folder_digest(folder / part) for part in DIGESTS}
    digests |= {part: file_digest(folder / part) for part, key in FILE_DIGESTS.items() if key in card}
    return [part for part, digest in digests.items() if digest != card[(DIGESTS | FILE_DIGESTS)[part]]]


def read_learned_hashes(folder: Path) -> frozenset[str]:
    """The hashes of the training answers of the judge in `folder`; DataError if they cannot be read."""
    try:
        return frozenset(read_json(folder / LEARNED))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{folder / LEARNED} cannot be read", why=str(error), next="train the judge again") from error


def read_trained_judge_card(folder: Path, name: str) -> dict[str, Any]:
    """The card of judge `name` below `folder`; DataError if it is not trained yet."""
    card = read_judge_card(folder / name)
    if card is None:
        raise DataError(
            f"the judge {name!r} is not trained yet", where=str(folder / name),
            why="its kind must be trained on rated answers", next=f"benchbuild judge train {name} recipe=...",
        )  # fmt: skip
    return card


def plain_spec(spec: BaseModel) -> dict[str, Any]:
    """A spec as plain data, the same on every machine: file paths as written, without runtime options."""
    fields = type(spec).model_fields.items()
    return {
        name: _plain_value(getattr(spec, name))
        for name, info in fields
        if not any(isinstance(mark, RuntimeOption) for mark in info.metadata)
    }


def _plain_value(value: Any) -> Any:
    if isinstance(value, FileRef):
        return value.path
    if isinstance(value, BaseModel):
        return plain_spec(value)
    if isinstance(value, Mapping):
        return {str(key): _plain_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(inner) for inner in value]
    return value


def folder_digest(folder: Path) -> str:
    """SHA-256 of the files in `folder` with their relative names, without times; DataError if one cannot be read."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            with open_given_file(file, most_bytes=None) as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"cannot read {file}", why=error.strerror or str(error), next="restore it") from error
        digest.update(f"{file.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def file_digest(file: Path) -> str:
    """SHA-256 of a file; empty if it is gone."""
    return hashlib.sha256(read_given_file(file)).hexdigest() if file.is_file() else ""


def rubric_digest(rubric: FileRef | None) -> str:
    """SHA-256 of the rubric, which defines the aspects; empty without a rubric.

    For a YAML file only the data count, not layout or comments.

    Raises:
        DataError: The rubric cannot be read.
    """
    if rubric is None:
        return ""
    try:
        text = read_given_text(rubric.file)
        content = parse_plain_yaml(text) if rubric.file.suffix in (".yaml", ".yml") else text
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(
            f"cannot read the rubric {rubric.path}", where=str(rubric.file), why=str(error),
            next="check evaluation.rubric in the recipe",
        ) from error  # fmt: skip
    return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True, default=str).encode()).hexdigest()


def changed_settings(card: Mapping[str, Any], spec: BaseModel, evaluation: EvaluationSpec, seed: int) -> list[str]:
    """The keys of the recipe's settings that differ from those that a judge was trained with.

    `spec` is the judge's spec in the recipe now. `evaluation.training.ablations` is ignored, because neither the judge
    nor its figures depend on it.
    """
    name, training = card.get("name", ""), evaluation.training
    keys = _changed_keys(f"evaluation.judges.{name}", card.get("spec"), plain_spec(spec))
    now = plain_spec(training) if training is not None else {}
    before: Any = card.get("training") or {}
    keys += [key for key in _changed_keys("evaluation.training", before, now) if key != "evaluation.training.ablations"]
    pairs = {
        "evaluation.rubric": (card.get("rubric_sha256"), rubric_digest(evaluation.rubric)),
        "evaluation.bootstrap.level": (card.get("level"), evaluation.bootstrap.level),
        "seed": (card.get("seed"), seed),
    }
    return keys + [key for key, (was, is_now) in pairs.items() if was != is_now]


def _changed_keys(key: str, old: Any, new: Mapping[str, Any]) -> list[str]:
    """The keys of two mappings below `key` whose values differ."""
    if not isinstance(old, Mapping):
        return [key]
    return [f"{key}.{name}" for name in sorted({*old, *new}) if old.get(name) != new.get(name)]  # pyright: ignore


def judge_mismatches(card: Mapping[str, Any], *, language: str, rubric: str) -> list[str]:
    """Sentences about the language and the rubric (by its digest), if a judge was made for others."""
    mismatches: list[str] = []
    if card.get("language") != language:
        mismatches.append(f"it was made for answers in {card.get('language')!r}, these are in {language!r}")
    if card.get("rubric_sha256", "") != rubric:
        made, wanted = (text[:12] or "none" for text in (str(card.get("rubric_sha256", "")), rubric))
        mismatches.append(f"it was made for another rubric ({made}, here {wanted})")
    return mismatches
