"""Syncs the folder of sheets to fill in, and never deletes sheets that people may have changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from benchbuilder.core import is_temporary, make_folder, read_given_file, read_json, write_atomically

_HASHES_FILE = ".written.json"


def sync_sheet_folder(folder: Path, sheets: Mapping[str, Callable[[], bytes]]) -> list[str]:
    """Write `sheets` to `folder`, and delete earlier sheets that nobody changed.

    An empty folder is removed. After an interruption, another call reaches the same state.

    Args:
        folder: the folder of the sheets.
        sheets: functions that make the content, by file name; they are called only for missing files. Names must
            change with the content.

    Returns:
        The names of files that people changed or added; they are never deleted.
    """
    if not sheets and not folder.exists():
        return []
    make_folder(folder)
    written = _read_hashes(folder)
    changed: list[str] = []
    for file in sorted(folder.iterdir()):
        if is_temporary(file):
            file.unlink()  # an interrupted call left it
            continue
        if file.name.startswith((".", "~$")) or not file.is_file():
            continue
        if _sha256(read_given_file(file)) != written.get(file.name):
            changed.append(file.name)
        elif file.name not in sheets:
            file.unlink()
    for name, make in sheets.items():
        if not (folder / name).exists():
            content = make()
            written[name] = _sha256(content)
            _write_hashes(folder, written)
            write_atomically(folder / name, content)
    _write_hashes(folder, {name: written[name] for name in sheets if name in written})
    if not any(folder.iterdir()):
        folder.rmdir()
    return changed


def _read_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each file as written."""
    path = folder / _HASHES_FILE
    return read_json(path) if path.exists() else {}


def _write_hashes(folder: Path, written: Mapping[str, str]) -> None:
    if written:
        write_atomically(folder / _HASHES_FILE, json.dumps(written, sort_keys=True))
    else:
        (folder / _HASHES_FILE).unlink(missing_ok=True)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
