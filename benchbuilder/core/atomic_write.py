"""Writing a file whole or not at all."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: Path) -> Generator[Path]:
    """A temporary path for a writer that streams; renamed to `path` if the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    yield temporary
    temporary.replace(path)


def write_atomically(path: Path, data: bytes | str) -> Path:
    """Write `data` (text as UTF-8, line ends unchanged) under a temporary name, then rename; returns `path`."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
