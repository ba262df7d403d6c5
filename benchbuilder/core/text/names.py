"""Names of models as recipes and steps write them."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

_DIGEST = 6


@lru_cache(maxsize=1024)
def recipe_name(label: str) -> str:
    """A model's name as a name of the recipe: lower-case letters, digits and underscores, a letter first.

    A name in other letters loses them, and ends in a digest of the whole instead. The name of a name is itself.

    >>> recipe_name("Qwen/Qwen2-7B"), recipe_name("4o mini"), recipe_name("Größe 7B")
    ('qwen_qwen2_7b', 'm_4o_mini', 'gr_e_7b_4b7656')
    """
    name = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    if not label.isascii() or not name:
        digest = hashlib.sha256(label.strip().encode("utf-8", "backslashreplace")).hexdigest()[:_DIGEST]
        name = f"{name}_{digest}" if name else f"m_{digest}"
    return name if name[0].isalpha() else f"m_{name}"
