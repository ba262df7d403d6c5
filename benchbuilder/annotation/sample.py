"""Samples that are the same for the same seed, in proportion to where things come from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def proportional_sample(
    items: Sequence[T], size: int, *, name: Callable[[T], str], group: Callable[[T], str], seed: int
) -> list[T]:
    """`size` of `items` in their order, as many of each group as its share says (largest remainders first).

    Which ones depends on `seed` and their names only, and a larger sample of the same seed holds most of a smaller
    one. All of them if there are no more than `size`.

    >>> proportional_sample(range(10), 4, name=str, group=lambda n: "even" if n % 2 == 0 else "odd", seed=1)
    [0, 7, 8, 9]
    """
    groups: dict[str, list[T]] = {}
    for thing in items:
        groups.setdefault(group(thing), []).append(thing)
    chosen: set[str] = set()
    for label, count in _group_sizes({label: len(members) for label, members in groups.items()}, size).items():
        drawn = sorted(groups[label], key=lambda thing: _sort_key(seed, name(thing)))[:count]
        chosen |= {name(thing) for thing in drawn}
    return [thing for thing in items if name(thing) in chosen]


def _group_sizes(counts: dict[str, int], size: int) -> dict[str, int]:
    """How many of each group: the whole part of its share, and the largest remainders make up the sum."""
    total = sum(counts.values())
    if total <= size:
        return counts
    exact = {label: count * size / total for label, count in counts.items()}
    shares = {label: int(share) for label, share in exact.items()}
    order = sorted(counts, key=lambda label: (shares[label] - exact[label], -counts[label], label))
    for label in order[: size - sum(shares.values())]:
        shares[label] += 1
    return shares


def _sort_key(seed: int, name: str) -> str:
    return hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).hexdigest()
