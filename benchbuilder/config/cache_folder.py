"""Sealed JSON in a folder of the user's cache: read only where nobody else may write, and the oldest is forgotten."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchbuilder.core import read_sealed_json, seal_json, write_atomically

_MOST_KEPT = 100
"""Files in a folder."""


def read_cached(file: Path) -> dict[str, Any] | None:
    """What was kept in `file`; None if that is nothing, if it is damaged, or if others may write to its folder."""
    with suppress(OSError, ValueError):
        if _is_private(file.parent):
            kept = read_sealed_json(file)
            os.utime(file)
            return kept
    return None


def keep_cached(file: Path, data: dict[str, Any]) -> None:
    """Keep `data`, and delete what was not used for longest beside it. A cache that cannot be written is no fault."""
    with suppress(OSError, TypeError, ValueError):
        folder = file.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(folder):
            write_atomically(file, seal_json(data), sync=False)
            _forget_oldest(folder)


def _is_private(folder: Path) -> bool:
    """Whether nobody else may write to `folder`: what lies there says which values the user vouches for."""
    found = folder.stat()
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def _forget_oldest(folder: Path) -> None:
    kept = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for file in kept[:-_MOST_KEPT]:
        file.unlink(missing_ok=True)
