"""Candidates as columns of numbers: facts, families, and keys of what is asked and of what is claimed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import Candidate, Table, combined_column, content_keys, equality_key, first_equal

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
_compute: Any = pc
_KEYED = ("type", "expected", "negated", "context", "question", "answer", "answer_wrong", "asked")


@dataclass(frozen=True)
class NamedNumbers:
    """The different texts of a column in their order, and the number of the text of each row."""

    names: Any
    numbers: Numbers

    @classmethod
    def of(cls, column: pa.ChunkedArray[Any]) -> NamedNumbers:
        """The texts of a column without nulls."""
        chunks: list[Any] = column.dictionary_encode().chunks
        names = chunks[0].dictionary if chunks else pa.array([], pa.string())
        order = _compute.sort_indices(names)
        rank = np.empty(len(names), np.int64)
        rank[order.to_numpy()] = np.arange(len(names))
        numbers = [rank[chunk.indices.to_numpy(zero_copy_only=False)] for chunk in chunks]
        return cls(names.take(order), np.concatenate([np.zeros(0, np.int64), *numbers]))

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Groups:
    """Positions of candidates that have something in common: those of group ``i`` begin at ``starts[i]``."""

    starts: Numbers
    places: Numbers

    @classmethod
    def of(cls, labels: Numbers, places: Numbers, least: int = 2) -> Groups:
        """The groups of at least two `places`, which rise, with one label; in the order of labels."""
        order = np.argsort(labels, kind="stable")
        ordered = labels[order]
        edges = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])) if len(order) else _ZERO
        sizes = np.diff(edges)
        large = sizes >= least
        kept = places[order[np.repeat(large, sizes)]]
        return cls(np.concatenate([_ZERO, np.cumsum(sizes[large])]), kept)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Numbers]:
        for start, stop in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield self.places[start:stop]

    def owners(self) -> Numbers:
        """The number of the group of each position."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def neighbours(self, mask: Mask) -> tuple[Numbers, Numbers]:
        """The positions that `mask` has, each with the next one of its group."""
        places, owners = self.places[mask[self.places]], self.owners()[mask[self.places]]
        same = np.flatnonzero(owners[1:] == owners[:-1])
        return places[same], places[same + 1]


_ZERO = np.zeros(1, np.int64)


class KnownCandidates:
    """What is known of all candidates of a table at once.

    `facts` and `former` are their facts and the families that they had, `first_of_fact` the position of the first
    candidate of each fact. `tf` are true/false questions, `yes` those whose statement is true without its negation.
    `questions` are hashes of their questions with the type.
    """

    def __init__(self, table: Table[Candidate]) -> None:
        self.table = table
        facts, families = list[Any](), list[Any]()
        for batch in table.batches(["fact", "family"]):
            fact, family = (combined_column(batch, name) for name in ("fact", "family"))
            facts.append(fact)
            families.append(_compute.if_else(_compute.equal(family, ""), fact, family))
        self.facts, self.former = (
            NamedNumbers.of(pa.chunked_array(column, pa.string())) for column in (facts, families)
        )
        self.first_of_fact = np.unique(self.facts.numbers, return_index=True)[1].astype(np.int64)
        self.tf, self.yes = (np.zeros(len(self), bool) for _ in range(2))
        self.questions, claims = (np.zeros((len(self), 2), np.uint64) for _ in range(2))
        start = 0
        for batch in table.batches(_KEYED):
            here = slice(start, start := start + batch.num_rows)
            self.tf[here] = _compute.equal(combined_column(batch, "type"), "tf").to_numpy(zero_copy_only=False)
            asked_true = _compute.equal(combined_column(batch, "expected"), "yes").to_numpy(zero_copy_only=False)
            self.yes[here] = asked_true != combined_column(batch, "negated").to_numpy(zero_copy_only=False)
            self.questions[here], claims[here] = _keys(batch, self.tf[here], self.yes[here])
        self._claims = claims

    def __len__(self) -> int:
        return len(self.facts.numbers)

    def claimed(self) -> Groups:
        """The true/false questions about one statement, or about one answer to a question that is shown."""
        places = np.flatnonzero(self.tf)
        return Groups.of(first_equal(self._claims[places]), places)

    def records(self) -> Groups:
        """The candidates of one record of a source."""
        files, lines = list[Any](), list[Numbers]()
        for batch in self.table.batches(["origin"]):
            files.append(combined_column(batch, "origin.file"))
            lines.append(combined_column(batch, "origin.line").to_numpy())
        file = NamedNumbers.of(pa.chunked_array(files, pa.string())).numbers
        keys = np.column_stack([file, np.concatenate([np.zeros(0, np.int64), *lines])]).astype(np.uint64)
        return Groups.of(first_equal(keys), np.arange(len(self)))


def _keys(batch: pa.Table, tf: Mask, yes: Mask) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Hashes of what each candidate asks, and of what each true/false question claims."""
    names = ("type", "context", "question", "answer", "answer_wrong", "asked")
    columns: list[list[Any]] = [combined_column(batch, name).to_pylist() for name in names]
    asked, claimed = list[tuple[str, str]](), list[tuple[str, str]]()
    for sort, context, question, answer, wrong, shown, is_tf, is_true in zip(*columns, tf, yes, strict=True):
        asked.append((sort, equality_key(context + question)))
        statement = answer if is_true else wrong
        claimed.append((equality_key(shown), equality_key(context + statement)) if is_tf else ("", ""))
    return content_keys(asked), content_keys(claimed)
