"""Writing a file whole or not at all."""

from __future__ import annotations

from pathlib import Path


def write_atomically(path: Path, data: bytes | str) -> Path:
    """Write `data` (text as UTF-8, line ends unchanged) under a temporary name, then rename; returns `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_bytes(data.encode() if isinstance(data, str) else data)
    temporary.replace(path)
    return path
