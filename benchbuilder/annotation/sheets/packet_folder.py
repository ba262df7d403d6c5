"""The folder in which packets lie: it holds the current ones, and never destroys what people may have changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

_HASHES_FILE = ".written.json"


def sync_sheet_folder(folder: Path, sheets: Mapping[str, Callable[[], bytes]]) -> list[str]:
    """Bring `folder` to hold just `sheets`; the names of files that people changed.

    `sheets` maps names, which must change with the content, to what makes the content; it is called only where the
    file is not there. Packets of before are deleted if they are as they were written; a file that was changed since,
    or that is not ours, stays. An empty folder goes. Interrupted and called again, it ends in the same state.
    """
    if not sheets and not folder.exists():
        return []
    folder.mkdir(parents=True, exist_ok=True)
    written = _read_hashes(folder)
    changed: list[str] = []
    for file in sorted(folder.iterdir()):
        if file.name.startswith((".", "~$")) or not file.is_file():
            continue
        if _sha256(file.read_bytes()) != written.get(file.name):
            changed.append(file.name)
        elif file.name not in sheets:
            file.unlink()
    for name, make in sheets.items():
        if not (folder / name).exists():
            content = make()
            written[name] = _sha256(content)
            _write_hashes(folder, written)
            _write_atomically(folder / name, content)
    _write_hashes(folder, {name: written[name] for name in sheets if name in written})
    if not any(folder.iterdir()):
        folder.rmdir()
    return changed


def _read_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each file as it was written."""
    memory = folder / _HASHES_FILE
    return json.loads(memory.read_text(encoding="utf-8")) if memory.exists() else {}


def _write_hashes(folder: Path, written: Mapping[str, str]) -> None:
    if written:
        _write_atomically(folder / _HASHES_FILE, json.dumps(written, sort_keys=True).encode())
    else:
        (folder / _HASHES_FILE).unlink(missing_ok=True)


def _write_atomically(path: Path, content: bytes) -> None:
    """Write as a whole or not at all."""
    draft = path.with_name(f".{path.name.lstrip('.')}.draft")
    draft.write_bytes(content)
    draft.replace(path)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
