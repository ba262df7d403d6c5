"""The folder of a trained neural judge: its network in a folder, and `judge.json`, which is written last."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError
from benchbuilder.evaluation.judges.card import plain_spec
from benchbuilder.evaluation.judges.neural.learner import EncodedExamples
from benchbuilder.evaluation.judges.neural.spec import LearningSpec

NETWORK, CHECKPOINTS = "network", "checkpoints"
_FACTS = "judge.json"


def training_key(
    spec: LearningSpec, examples: EncodedExamples, choosing: EncodedExamples, context: Mapping[str, Any]
) -> str:
    """A digest of everything that shapes a training: only a training with the same key is resumed.

    Args:
        spec: The settings; runtime options do not count.
        examples: The examples to learn from.
        choosing: The examples that choose the epoch.
        context: Anything else that counts, as plain data: seed, base model, versions of libraries.
    """
    parts = [
        plain_spec(spec), dict(context),
        *([[row.ids for row in side.rows], side.targets, side.weights] for side in (examples, choosing)),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def write_checkpoint(folder: Path, facts: Mapping[str, Any], save: Callable[[Path], None]) -> None:
    """Fill `folder` with what `save` writes and with `facts`.

    What stood there counts no more from the first moment on; a folder that was left in the middle has no `judge.json`
    and is refused by `read_checkpoint`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _FACTS).unlink(missing_ok=True)
    partial = folder / f"{NETWORK}.partial"
    for old in (partial, folder / NETWORK):
        shutil.rmtree(old, ignore_errors=True)
    partial.mkdir()
    save(partial)
    partial.rename(folder / NETWORK)
    draft = folder / f"{_FACTS}.partial"
    draft.write_text(json.dumps(facts, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(draft, folder / _FACTS)  # noqa: PTH105 - atomic, also over an old file
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def finished_facts(folder: Path, key: str) -> dict[str, Any] | None:
    """The facts of the judge in `folder` if the training with this `key` wrote it; else `None`."""
    try:
        facts: Any = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) and facts.get("training") == key else None


def read_checkpoint(folder: Path | None, kind: str) -> dict[str, Any]:
    """The facts of a trained judge of `kind`; DataError if there is none in `folder`, or a half-written one."""
    training = "train the judge (benchbuild judge train), or correct the path"
    if folder is None:
        raise DataError(f"a judge of the kind '{kind}' has to be trained before it can score", next=training)
    file = folder / _FACTS
    try:
        facts: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        why = "its training did not come to an end" if folder.is_dir() else "there is no such folder"
        raise DataError("there is no trained judge", where=str(folder), why=why, next=training) from error
    except (OSError, ValueError) as error:
        raise DataError("the trained judge cannot be read", where=str(file), why=str(error), next=training) from error
    if not isinstance(facts, dict) or facts.get("kind") != kind:
        found = facts.get("kind") if isinstance(facts, dict) else None
        raise DataError(
            f"this is no trained judge of the kind '{kind}'", where=str(file), why=f"kind: {found}", next=training
        )
    return facts
