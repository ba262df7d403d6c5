"""Paths as a benchmark may show them."""

from __future__ import annotations

from pathlib import PurePosixPath


def public_path(path: str) -> str:
    """What a benchmark may say of a path: as it was written, but of one that names places on this machine the last
    part alone.

    >>> public_path("sample/medqa/"), public_path("/home/me/medqa"), public_path("../medqa.jsonl")
    ('sample/medqa', 'medqa', 'medqa.jsonl')
    """
    written = PurePosixPath(path)
    if written.is_absolute() or ".." in written.parts or path.startswith("~"):
        return written.name
    return str(written)
