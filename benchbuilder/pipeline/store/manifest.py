"""The manifest of a committed step: its key, the digest of its rows, and its counts."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from benchbuilder.core import FrozenModel

CountLine = tuple[str, str, str, int]


def sorted_counts(counts: Counter[tuple[str, str, str]]) -> tuple[CountLine, ...]:
    """A counter over three names as sorted data."""
    return tuple((*names, n) for names, n in sorted(counts.items()))


class Manifest(FrozenModel):
    """What one committed step was made of, and what it made.

    Attributes:
        step: The name of the step or source.
        kind: Its kind.
        row: The name of the class of its rows.
        key: The hash of `key_inputs`.
        key_inputs: Everything that shapes the rows, by readable names.
        inputs: The digest of each input node.
        digest: The digest of the rows in order, whatever the shards.
        outcomes: The digest of the outcomes of the branches.
        rows: The number of rows.
        shards: The number of shards.
        counts: Branches by (partition, outcome, reason).
        unused: Unused rows of `whole` ports by (port, partition, reason).
        units: Source units by (file, outcome, reason).
        auxiliary: Rows of joined files by what became of them.
        tallies: Further counts of the kind.
        notes: Further facts of the kind, as plain data.
        external_inputs: Hashes of what people or models contributed.
        reasons: A sentence for each declared reason.
        state: ``incomplete`` while rows have failed.
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
