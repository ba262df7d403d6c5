"""A gather that makes pieces is accounted for as one that makes all rows at once, and refused where that one is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.config.spec.base import StepSpec
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import AccountingError
from benchbuilder.core.records.arrow.batches import GatherPiece, GatherStream, OutcomeBatch, UnusedRows
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, FilterResult, GatherResult, Kept
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.accounting.gathers import account_gather, gather_shards
from benchbuilder.steps.base import Gather, Port

MADE = ProducedBy(rule="test")


class Join(Gather):
    kind = "join"
    spec_class = StepSpec
    ports: ClassVar[Any] = {"each": Port(Passage), "notes": Port(Passage, mode="whole")}
    reasons: ClassVar[Any] = {"alone": "It has no note.", "of_nothing": "Its page is not there."}

    def gather(self, tables: Any) -> Any:
        raise NotImplementedError


STEP = Join(
    StepSpec.model_validate({"kind": "join", "from": "rows"}),
    StepContext(seed=1, language="en", step="join", cache=Path("c"), workplace=Path("w")),
)


def page(line: int) -> Passage:
    return Passage.build(
        base="b", document=str(line), text=f"text {line}", produced_by=MADE, language="en",
        partition=f"part{line % 2}", origin=Origin(file="f", line=line),
    )  # fmt: skip


def joined(row: Passage, note: Passage) -> Passage:
    return Passage.child(row, note, produced_by=MADE, base="b", document="d", text=row.text + note.text)


def rowwise(pages: Sequence[Passage], note_of: Sequence[Passage | None], notes: Sequence[Passage]) -> GatherResult:
    used = {note.id for note in note_of if note is not None}
    outcomes: list[Any] = [
        (row.id, [Kept(joined(row, note)) if note is not None else Dropped("alone", row.text)])
        for row, note in zip(pages, note_of, strict=True)
    ]
    return GatherResult(outcomes, {"notes": {n.id: "of_nothing" for n in notes if n.id not in used}}, {"n": 1})


def piece(places: Sequence[int], pages: Sequence[Passage], note_of: Sequence[Passage | None]) -> GatherPiece:
    rows, notes = [pages[place] for place in places], [note_of[place] for place in places]
    kept = [joined(row, note) for row, note in zip(rows, notes, strict=True) if note is not None]
    texts = (
        ["" for _ in rows],
        ["dropped" if note is None else "kept" for note in notes],
        ["alone" if note is None else "" for note in notes],
        [row.text if note is None else "" for row, note in zip(rows, notes, strict=True)],
    )
    slots, names, reasons, details = (pa.array(values, pa.string()) for values in texts)
    places_here = pa.array(range(len(rows)), pa.int64())
    branches = OutcomeBatch(places_here, slots, names, reasons, details, Table.of(kept, Passage))
    return GatherPiece(np.array(places, np.int64), Table.of(rows, Passage), branches)


def unused(places: Iterable[int], reason: str = "of_nothing") -> dict[str, UnusedRows]:
    positions = np.array(list(places), np.int64)
    return {"notes": UnusedRows(positions, pa.array([reason] * len(positions), pa.string()))}


@given(st.lists(st.none() | st.integers(0, 4), max_size=9), st.integers(1, 4))
def test_pieces_are_accounted_for_as_rows_are(chosen: list[int | None], size: int) -> None:
    pages, notes = [page(n) for n in range(len(chosen))], [page(100 + n) for n in range(5)]
    note_of = [None if n is None else notes[n] for n in chosen]
    tables = {"each": Table.of(pages, Passage), "notes": Table.of(notes, Passage)}
    starts = range(0, len(pages), size)
    pieces = (piece(range(at, min(at + size, len(pages))), pages, note_of) for at in starts)
    stream = GatherStream(pieces, unused(n for n in range(5) if n not in chosen), {"n": 1})
    one = account_gather(STEP, tables, rowwise(pages, note_of, notes), Passage)
    other = account_gather(STEP, tables, stream, Passage)
    assert other.rows.arrow.equals(one.rows.arrow)
    assert other.outcomes.equals(one.outcomes)
    assert other.notes == one.notes


def test_a_piece_is_made_when_the_one_before_is_written() -> None:
    pages, made = [page(n) for n in range(4)], list[int]()

    def pieces() -> Any:
        for place in range(4):
            made.append(place)
            yield piece([place], pages, [None] * 4)

    tables = {"each": Table.of(pages, Passage), "notes": Table.of([], Passage)}
    shards = gather_shards(STEP, tables, GatherStream(pieces()), Passage)
    next(shards)
    assert made == [0, 1]
    assert [len(shard.outcomes) for shard in shards] == [1, 1, 1]


PAGES, NOTES = [page(n) for n in range(3)], [page(100), page(101)]
NOTE_OF = [NOTES[0], None, None]
WRONG: dict[str, tuple[Any, Any]] = {
    "1 rows of port each without outcomes": ([[0, 1]], unused([1])),
    "a row of port each is in two pieces": ([[0, 1, 2], [2]], unused([1])),
    "1 rows of port notes vanish": ([[0, 1, 2]], {}),
    "names rows as unused that are used or unknown": ([[0, 1, 2]], unused([0, 1])),
    "rows as unused that are used or unknown": ([[0, 1, 2]], unused([1, 1])),
    "as unused that are used or unknown": ([[0, 1, 2]], unused([7])),
    "undeclared reasons \\['mood'\\]": ([[0, 1, 2]], unused([1], "mood")),
    "ports \\['each'\\] have unused rows": ([[0, 1, 2]], {**unused([1]), "each": unused([1])["notes"]}),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_counts_are_refused(what: str) -> None:
    places, left = WRONG[what]
    tables = {"each": Table.of(PAGES, Passage), "notes": Table.of(NOTES, Passage)}
    stream = GatherStream((piece(some, PAGES, NOTE_OF) for some in places), left)
    with pytest.raises(AccountingError, match=what):
        account_gather(STEP, tables, stream, Passage)


def test_a_piece_holds_the_rows_that_it_names() -> None:
    tables = {"each": Table.of(PAGES, Passage), "notes": Table.of([], Passage)}
    wrong = piece([0, 1], PAGES, [None] * 3)
    swapped = GatherPiece(np.array([1, 0], np.int64), wrong.each, wrong.branches)
    with pytest.raises(AccountingError, match="other rows than it names"):
        account_gather(STEP, tables, GatherStream([swapped]), Passage)


def test_a_filters_result_needs_no_whole_ports() -> None:
    tables = {"each": Table.of(PAGES, Passage), "notes": Table.of(NOTES, Passage)}
    with pytest.raises(AccountingError, match="the rows of notes have no outcomes"):
        account_gather(STEP, tables, FilterResult([None] * 3, [""] * 3), Passage)
