"""The folder of a trained neural judge: its network, and `judge.json` with facts, which is written last."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, move_into_place, read_json, sync_tree, write_atomically
from benchbuilder.evaluation.judges.card import plain_spec
from benchbuilder.evaluation.judges.neural.learner import EncodedExamples
from benchbuilder.evaluation.judges.neural.libraries import name_folder_in_write_errors
from benchbuilder.evaluation.judges.neural.spec import LearningSpec

NETWORK, CHECKPOINTS = "network", "checkpoints"
"""Folders in the judge's folder: the trained network, and what an interrupted training resumes from."""
_FACTS = "judge.json"


def training_key(
    spec: LearningSpec, examples: EncodedExamples, choosing: EncodedExamples, context: Mapping[str, Any]
) -> str:
    """The SHA-256 (hexadecimal) of everything that shapes a training. Only a training with the same key is resumed.

    Runtime options do not count. `choosing` are the examples that choose the epoch, and `context` is anything else that
    counts, as plain data: seed, base model, versions of libraries.
    """
    sides = [[[row.ids for row in side.rows], side.targets, side.weights] for side in (examples, choosing)]
    text = json.dumps([plain_spec(spec), dict(context), sides], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def write_judge_folder(folder: Path, facts: Mapping[str, Any], save: Callable[[Path], None]) -> None:
    """Fill `folder` with the network and the facts of a judge, and remove the checkpoints of its training.

    `save` writes the network into an empty folder. A judge that was there is invalid from the first moment on. Until
    `judge.json` is there, `read_facts` refuses the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _FACTS).unlink(missing_ok=True)
    partial = folder / f"{NETWORK}.partial"
    for outdated in (partial, folder / NETWORK):
        shutil.rmtree(outdated, ignore_errors=True)
    partial.mkdir()
    with name_folder_in_write_errors(partial):
        save(partial)
    sync_tree(partial)
    move_into_place(partial, folder / NETWORK)
    write_atomically(folder / _FACTS, json.dumps(facts, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def finished_facts(folder: Path, key: str) -> dict[str, Any] | None:
    """The facts of the judge in `folder` if the training with this `key` wrote them; else `None`."""
    try:
        facts: Any = read_json(folder / _FACTS)
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) and facts.get("training") == key else None


def read_facts(folder: Path | None, kind: str) -> dict[str, Any]:
    """The facts of the trained judge in `folder`; DataError if there is no complete judge of this `kind`."""
    advice = "train the judge (benchbuild judge train), or correct the path"
    if folder is None:
        raise DataError(f"a judge of the kind '{kind}' has to be trained before it can score", next=advice)
    file = folder / _FACTS
    try:
        facts: Any = read_json(file)
    except FileNotFoundError as error:
        why = "its training did not end" if folder.is_dir() else "there is no such folder"
        raise DataError("there is no trained judge", where=str(folder), why=why, next=advice) from error
    except (OSError, ValueError) as error:
        raise DataError("the trained judge cannot be read", where=str(file), why=str(error), next=advice) from error
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        other = facts.get("kind") if isinstance(facts, dict) else None
        raise DataError(
            f"this is no trained judge of the kind '{kind}'", where=str(file), why=f"kind: {other}", next=advice
        )
    return facts
