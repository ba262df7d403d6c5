"""The manifest that seals a step: what was asked, what came out, and the books."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from benchbuilder.core.records.row import Frozen

Counted = tuple[str, str, str, int]


def counted(counts: Counter[tuple[str, str, str]]) -> tuple[Counted, ...]:
    """A counter over three names as sorted data."""
    return tuple((*names, n) for names, n in sorted(counts.items()))


class Manifest(Frozen):
    """Seal of one step.

    `key` is what was asked and `asked` the parts that it is a hash of; `inputs` maps each input node to its digest;
    `digest` is what came out (rows in order, independent of shards), `fates` the same of the tickets' fates. `counts`
    holds tickets by (partition, fate, reason), `units` source units by (file, fate, reason), `auxiliary` what became
    of the rows of joined files. `observed` hashes what people contributed. `state` is ``partial`` while rows have
    failed.
    """

    step: str
    kind: str
    row: str
    key: str
    asked: dict[str, str]
    inputs: dict[str, str]
    digest: str
    fates: str
    rows: int
    shards: int
    counts: tuple[Counted, ...]
    unused: tuple[Counted, ...] = ()
    units: tuple[Counted, ...] = ()
    auxiliary: tuple[Counted, ...] = ()
    tallies: tuple[Counted, ...] = ()
    notes: dict[str, Any] = {}
    observed: dict[str, str] = {}
    reasons: dict[str, str] = {}
    state: Literal["sealed", "partial"] = "sealed"
