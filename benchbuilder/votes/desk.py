"""The folder in which packets lie: it holds the current ones, and never destroys what people may have changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

_MEMORY = ".written.json"


def lay_out(folder: Path, packets: Mapping[str, bytes]) -> list[str]:
    """Bring `folder` to hold just `packets` (name -> content); the names of files that people changed.

    Packets of before are deleted if they are as they were written. A file that was changed since, or that is not
    ours, stays. An empty folder goes. Interrupted and called again, it ends in the same state.
    """
    written: dict[str, str] = {}
    if (folder / _MEMORY).exists():
        written = json.loads((folder / _MEMORY).read_text(encoding="utf-8"))
    elif not packets and not folder.exists():
        return []
    folder.mkdir(parents=True, exist_ok=True)
    fresh = {name: _sha256(content) for name, content in packets.items()}
    _remember(folder, written | fresh)
    changed: list[str] = []
    for file in sorted(folder.iterdir()):
        if file.name.startswith((".", "~$")) or not file.is_file():
            continue
        untouched = _sha256(file.read_bytes()) == (fresh.get(file.name) or written.get(file.name))
        if not untouched:
            changed.append(file.name)
        elif file.name not in fresh:
            file.unlink()
    for name, content in packets.items():
        if not (folder / name).exists():
            draft = folder / f".{name}.draft"
            draft.write_bytes(content)
            draft.replace(folder / name)
    _remember(folder, fresh)
    if not any(folder.iterdir()):
        folder.rmdir()
    return changed


def _remember(folder: Path, written: Mapping[str, str]) -> None:
    memory = folder / _MEMORY
    if not written:
        memory.unlink(missing_ok=True)
        return
    draft = memory.with_suffix(".draft")
    draft.write_text(json.dumps(written, sort_keys=True), encoding="utf-8")
    draft.replace(memory)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
