"""The folder of a trained neural judge: its network in a folder, and `judge.json`, which is written last."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError

NETWORK = "network"
_FACTS = "judge.json"


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
