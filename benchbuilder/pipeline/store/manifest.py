"""The manifest that seals a step: what was asked, what came out, and the books."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from benchbuilder.core import FrozenModel

CountLine = tuple[str, str, str, int]


def sorted_counts(counts: Counter[tuple[str, str, str]]) -> tuple[CountLine, ...]:
    """A counter over three names as sorted data."""
    return tuple((*names, n) for names, n in sorted(counts.items()))


class Manifest(FrozenModel):
    """Seal of one step.

    `key` is what was asked and `key_inputs` the parts that it is a hash of; `inputs` maps each input node to its digest;
    `digest` is what came out (rows in order, independent of shards), `outcomes` the same of the branches' outcomes. `counts`
    holds branches by (partition, outcome, reason), `units` source units by (file, outcome, reason), `auxiliary` what became
    of the rows of joined files. `external_inputs` hashes what people contributed. `state` is ``partial`` while rows have
    failed.
    """

    step: str
    kind: str
    row: str
    key: str
    key_inputs: dict[str, str]
    inputs: dict[str, str]
    digest: str
    outcomes: str
    rows: int
    shards: int
    counts: tuple[CountLine, ...]
    unused: tuple[CountLine, ...] = ()
    units: tuple[CountLine, ...] = ()
    auxiliary: tuple[CountLine, ...] = ()
    tallies: tuple[CountLine, ...] = ()
    notes: dict[str, Any] = {}
    external_inputs: dict[str, str] = {}
    reasons: dict[str, str] = {}
    state: Literal["complete", "incomplete"] = "complete"
