"""Draws the items that people check again, in strata, and keeps each from those who voted on it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

VOTERS = "voters"
"""The metadata of a task that names who may not judge it: codes, and names in sheets."""
_SEVERAL = " | "


@dataclass(frozen=True)
class RecheckStratum:
    """Items of one source, flagged by an analysis or not: how many there are, and the ids of those that were drawn."""

    source: str
    flagged: bool
    size: int
    drawn: tuple[str, ...]


@dataclass(frozen=True)
class RecheckSample:
    """The strata with the drawn items; `items` is a digest of the set of items that they were drawn from."""

    items: str
    strata: tuple[RecheckStratum, ...]

    @property
    def drawn(self) -> frozenset[str]:
        """The ids of all drawn items."""
        return frozenset(item for stratum in self.strata for item in stratum.drawn)


def items_digest(ids: Iterable[str]) -> str:
    """A digest of a set of items."""
    return hashlib.blake2b("\n".join(sorted(ids)).encode(), digest_size=8).hexdigest()


def draw_recheck(sources: Mapping[str, str], flagged: Collection[str], size: int, seed: int) -> RecheckSample:
    """Draw `size` of the items (id to source) in proportion to the strata, and at least one of each.

    Another set of items has another sample. So errors that were found and mended do not make the next rate too low.
    """
    digest = items_digest(sources)
    strata: dict[tuple[str, bool], list[str]] = {}
    for item, source in sources.items():
        strata.setdefault((source, item in flagged), []).append(item)
    counts = _stratum_sizes({key: len(ids) for key, ids in strata.items()}, size)
    return RecheckSample(digest, tuple(
        RecheckStratum(*key, len(ids), tuple(sorted(ids, key=lambda item: _rank(seed, digest, item))[: counts[key]]))
        for key, ids in sorted(strata.items())
    ))  # fmt: skip


def _stratum_sizes(counts: Mapping[tuple[str, bool], int], size: int) -> dict[tuple[str, bool], int]:
    """The sample size of each stratum by the largest remainder, at least 1."""
    total = sum(counts.values())
    if total <= size:
        return dict(counts)
    exact = {key: count * size / total for key, count in counts.items()}
    sizes = {key: max(1, int(quota)) for key, quota in exact.items()}
    order = sorted(counts, key=lambda key: (sizes[key] - exact[key], key))
    for key in order[: max(0, size - sum(sizes.values()))]:
        sizes[key] += 1
    return sizes


def _rank(seed: int, digest: str, item: str) -> bytes:
    return hashlib.blake2b(f"{seed}:{digest}:{item}".encode(), digest_size=8).digest()


def voters_text(voters: Iterable[str]) -> str:
    """Voters as one value of metadata."""
    return _SEVERAL.join(sorted(voters))


def is_barred(about: Iterable[Sequence[str]], code: str, name: str) -> bool:
    """Whether the metadata of a task names a person, by code or by name."""
    barred = {part for key, value in about if key == VOTERS for part in value.split(_SEVERAL) if part}
    return code in barred or name in barred
