"""What can be asked of a whole selection of branches: how many hold a search, a sample of it, its order."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from benchbuilder.explorer.reading.branch_pages import (
    PAGE_ROWS,
    BranchFilter,
    BranchRow,
    facet_counts,
    matching_lines,
    read_branches,
)
from benchbuilder.explorer.reading.step_parts import StepParts

MOST_SORTED = 20_000
"""A selection of more branches is not sorted: every one of them must be read for it."""
SORT_KEYS = ("text", "longest", "shortest", "id")


@dataclass
class HitCount:
    """How many branches hold a search, so far; `next_part` is ``None`` when all parts were searched."""

    count: int = 0
    next_part: int | None = 0
    parts: int = 0
    seconds: float = 0.0


def count_hits(parts: StepParts, chosen: BranchFilter, first: int, seconds: float) -> HitCount:
    """Count the branches that a filter lets through from part `first` on, for about `seconds`."""
    began, counted = time.monotonic(), HitCount(parts=parts.count)
    for part in range(first, parts.count):
        counted.count += len(matching_lines(parts, part, chosen))
        counted.seconds = time.monotonic() - began
        if counted.seconds > seconds and part + 1 < parts.count:
            counted.next_part = part + 1
            return counted
    counted.next_part = None
    return counted


def sample_branches(
    parts: StepParts, chosen: BranchFilter, seed: str, *, size: int = PAGE_ROWS
) -> tuple[BranchRow, ...]:
    """Up to `size` branches drawn at random by `seed`, in the order of the build. A search is left out of the draw."""
    plain = replace(chosen, query=None)
    total = facet_counts(parts, plain).total
    ranks = sorted(Random(f"{seed} {parts.manifest.step}").sample(range(total), min(size, total)))
    rows: list[BranchRow] = []
    before, at = 0, 0
    for part in range(parts.count):
        if at == len(ranks):
            break
        counts = parts.counts(part)
        if counts is not None:
            selected = sum(n for *names, n in counts if plain.has(names[0], names[1], names[2]))
            if ranks[at] >= before + selected:
                before += selected
                continue
        lines = matching_lines(parts, part, plain)
        inside: list[int] = []
        while at < len(ranks) and ranks[at] < before + len(lines):
            inside.append(int(lines[ranks[at] - before]))
            at += 1
        rows += read_branches(parts, part, np.array(inside, np.int64))
        before += len(lines)
    return tuple(rows)


def sorted_branches(parts: StepParts, chosen: BranchFilter, key: str, start: int) -> tuple[tuple[BranchRow, ...], bool]:
    """Branches from number `start` on by `key` (``text``, ``longest``, ``shortest``, ``id``), and whether more follow.

    All branches of the selection are read: callers check `MOST_SORTED`.
    """
    rows: list[BranchRow] = []
    for part in range(parts.count):
        rows += read_branches(parts, part, matching_lines(parts, part, chosen))
    first = {id(row): next(iter(row.texts.values()), row.detail) for row in rows}
    if key == "id":
        rows.sort(key=lambda row: row.id)
    elif key == "text":
        rows.sort(key=lambda row: first[id(row)])
    else:
        rows.sort(key=lambda row: len(first[id(row)]), reverse=key == "longest")
    return tuple(rows[start : start + PAGE_ROWS]), start + PAGE_ROWS < len(rows)
