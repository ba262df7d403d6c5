"""The examples that choose the epoch of a neural judge: a part of the training side, by whole families."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from benchbuilder.evaluation.judges.base import Example

MIN_CHOOSING = 10
"""Fewer examples choose nothing: their correlation is luck."""


def split_off_choosing(
    examples: Sequence[Example], proportion: float, seed: int
) -> tuple[list[Example], list[Example]]:
    """Split the training side into examples to learn from, and examples that choose the epoch.

    Statements of the families that choose are in neither part. If nobody rated anything, statements choose.

    Args:
        examples: The training side.
        proportion: About how many of the rated examples choose.
        seed: Decides which families choose.

    Returns:
        Both parts. The second is empty if it would be too small, or nothing would be left to learn from.
    """
    rated = [example for example in examples if not example.synthetic] or list(examples)
    sizes = Counter(example.family for example in rated)
    chosen: set[str] = set()
    taken, wanted = 0, proportion * len(rated)
    for family in sorted(sizes, key=lambda name: _rank(name, seed)):
        if taken + sizes[family] / 2 > wanted:
            break
        chosen.add(family)
        taken += sizes[family]
    rest = [example for example in examples if example.family not in chosen]
    if taken < MIN_CHOOSING or sum(example.weight for example in rest) <= 0:
        return list(examples), []
    return rest, [example for example in rated if example.family in chosen]


def _rank(family: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}:epoch:{family}".encode(), digest_size=8).digest()
