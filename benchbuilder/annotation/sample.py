"""Deterministic samples in proportion to the groups of the items."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def proportional_sample(
    items: Sequence[T], size: int, *, name: Callable[[T], str], group: Callable[[T], str], seed: int
) -> list[T]:
    """Sample `size` of `items` in their order, in proportion to the size of each group (largest remainder method).

    The selection depends only on `seed` and the names. A larger sample of the same seed contains most of a smaller
    one. Returns all items if there are at most `size`.

    >>> proportional_sample(range(10), 4, name=str, group=lambda n: "even" if n % 2 == 0 else "odd", seed=1)
    [0, 7, 8, 9]
    """
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(group(item), []).append(item)
    chosen: set[str] = set()
    for label, count in _group_sizes({label: len(members) for label, members in groups.items()}, size).items():
        drawn = sorted(groups[label], key=lambda item: _sort_key(seed, name(item)))[:count]
        chosen |= {name(item) for item in drawn}
    return [item for item in items if name(item) in chosen]


def _group_sizes(counts: dict[str, int], size: int) -> dict[str, int]:
    """The sample size of each group by the largest remainder method."""
    total = sum(counts.values())
    if total <= size:
        return counts
    exact = {label: count * size / total for label, count in counts.items()}
    sizes = {label: int(quota) for label, quota in exact.items()}
    order = sorted(counts, key=lambda label: (sizes[label] - exact[label], -counts[label], label))
    for label in order[: size - sum(sizes.values())]:
        sizes[label] += 1
    return sizes


def _sort_key(seed: int, name: str) -> str:
    return hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).hexdigest()
