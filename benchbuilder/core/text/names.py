"""Names and paths as recipes and outputs show them: models, files."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import PurePosixPath

_DIGEST = 6


@lru_cache(maxsize=1024)
def recipe_name(label: str) -> str:
    """A model's name as a recipe name: lower-case letters, digits and underscores, a letter first.

    Other letters are removed, and a digest of the whole is appended instead. A recipe name stays as it is.

    >>> recipe_name("Qwen/Qwen2-7B"), recipe_name("4o mini"), recipe_name("Größe 7B")
    ('qwen_qwen2_7b', 'm_4o_mini', 'gr_e_7b_4b7656')
    """
    name = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    if not label.isascii() or not name:
        digest = hashlib.sha256(label.strip().encode("utf-8", "backslashreplace")).hexdigest()[:_DIGEST]
        name = f"{name}_{digest}" if name else f"m_{digest}"
    return name if name[0].isalpha() else f"m_{name}"


def public_path(path: str) -> str:
    """A path as a benchmark may show it: as written, but only the last part of a path that reveals this machine.

    >>> public_path("sample/medqa/"), public_path("/home/me/medqa"), public_path("../medqa.jsonl")
    ('sample/medqa', 'medqa', 'medqa.jsonl')
    """
    written = PurePosixPath(path)
    if written.is_absolute() or ".." in written.parts or path.startswith("~"):
        return written.name
    return str(written)
