"""The entries of a report as numbers, without their texts: a million take a few hundred megabytes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import RowIndex, Table, combined_column, text_length
from benchbuilder.exporters.base import FinishedBuild
from benchbuilder.exporters.report.entries import (
    ReportEntry,
    candidate_step,
    entry_of,
    entry_step,
    supports_of,
)


@dataclass(frozen=True, slots=True)
class EntrySummary:
    """What counts of an item or candidate.

    `length` is that of its question, `bases` the knowledge base of each of its paragraphs. `has_cue` says whether the
    question has one of the report's cue words, `proposes_longer` whether the answer that it proposes is not the shorter
    of the two.
    """

    id: str
    source: str
    type: str
    form: str
    expected: str
    reviewed: bool
    length: int
    has_cue: bool
    proposes_longer: bool
    bases: tuple[str, ...]


def summary_of(entry: ReportEntry, cue_words: Sequence[str], bases: tuple[str, ...] | None = None) -> EntrySummary:
    """The summary of an entry; its paragraphs are of `bases` if it does not hold them itself."""
    right, wrong = (len(entry.cells.get(name, "")) for name in ("answer", "answer-wrong"))
    question = entry.question
    own = tuple(sys.intern(support.base) for support in entry.evidence) if bases is None else bases
    return EntrySummary(
        id=entry.row.id,
        source=sys.intern(entry.source),
        type=sys.intern(entry.type),
        form=sys.intern(entry.form),
        expected=sys.intern(entry.expected),
        reviewed=entry.reviewed,
        length=text_length(question),
        has_cue=any(word in question for word in cue_words),
        proposes_longer=right >= wrong if entry.expected == "yes" else wrong >= right,
        bases=own,
    )


def item_summaries(finished: FinishedBuild, cue_words: Sequence[str] = ()) -> list[EntrySummary]:
    """The items, none while votes are missing."""
    if finished.items not in finished.tables:
        return []
    return [summary_of(entry_of(row), cue_words) for row in finished.tables[finished.items]]


def candidate_summaries(finished: FinishedBuild, cue_words: Sequence[str] = ()) -> list[EntrySummary]:
    """The candidates with the knowledge bases of what was retrieved for them."""
    step = candidate_step(finished)
    if step not in finished.tables:
        return []
    table = finished.tables[step]
    bases = _bases_of(table, _evidence_tables(finished))
    return [summary_of(entry_of(row), cue_words, own) for row, own in zip(table, bases, strict=True)]


def load_entries(finished: FinishedBuild, ids: Sequence[str]) -> list[ReportEntry]:
    """The entries with these ids, in their order; with what was retrieved for them if they are candidates."""
    step = entry_step(finished)
    if not ids or not step:
        return []
    rows = {row.id: row for row in finished.tables[step].find(set(ids))}
    if step == finished.items:
        return [entry_of(rows[row]) for row in ids]
    wanted = pa.array(sorted(rows), pa.string())
    found: dict[str, list[Any]] = {}
    for table in _evidence_tables(finished):
        for batch in table.batches():
            for row in Table(batch.filter(pc.is_in(batch.column("of"), value_set=wanted)), table.row):
                found.setdefault(row.of, []).append(row)
    return [entry_of(rows[row], supports_of(found.get(row, ()))) for row in ids]


def _evidence_tables(finished: FinishedBuild) -> list[Table[Any]]:
    return [
        finished.tables[account.step]
        for account in finished.step_counts
        if account.role == "evidence" and account.step in finished.tables
    ]


def _bases_of(candidates: Table[Any], evidence: Iterable[Table[Any]]) -> Iterator[tuple[str, ...]]:
    """The knowledge bases of the paragraphs of each candidate."""
    index = RowIndex(chunk for batch in candidates.batches(["id"]) for chunk in batch.column("id").chunks)
    owners: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    codes: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    names: dict[str, int] = {}
    for table in evidence:
        for batch in table.batches(["of", "base"]):
            owners.append(index.positions(combined_column(batch, "of")))
            bases: Any = combined_column(batch, "base").dictionary_encode()
            numbers = [names.setdefault(sys.intern(base), len(names)) for base in bases.dictionary.to_pylist()]
            codes.append(np.array(numbers, np.int64)[bases.indices.to_numpy()])
    owner, code = np.concatenate(owners), np.concatenate(codes).astype(np.int16)
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner, np.arange(len(candidates) + 1), sorter=order)
    known: dict[bytes, tuple[str, ...]] = {}
    texts = list(names)
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = code[order[start:stop]]
        yield known.setdefault(own.tobytes(), tuple(texts[number] for number in own.tolist()))
