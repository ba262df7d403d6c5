"""A gather that makes pieces is accounted for as one that makes all rows at once, and refused where that one is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_bench import Bench
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.config.spec.base import StepSpec
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import AccountingError
from benchbuilder.core.records.arrow.batches import (
    GatherPiece,
    GatherStream,
    OutcomeBatch,
    UnusedRows,
    outcome_pieces,
)
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Failed, FilterResult, GatherResult, Kept, NotApplicable
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline import run_node
from benchbuilder.pipeline.accounting.gathers import account_gather, gather_shards
from benchbuilder.pipeline.shards.worker import StoredTable
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


@pytest.mark.push
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


@pytest.mark.full
@given(
    st.lists(st.lists(st.sampled_from(["kept", "dropped", "failed", "none"]), max_size=3), max_size=9),
    st.integers(1, 4),
)
def test_outcomes_by_row_are_accounted_for_some_at_a_time(names: list[list[str]], size: int) -> None:
    pages = [page(n) for n in range(len(names))]

    def decide(at: int, row: Any) -> list[Any]:
        if not names[at]:
            return [NotApplicable("of_nothing")]
        return [outcome_of(name, row, f"{n}") for n, name in enumerate(names[at])]

    def outcome_of(name: str, row: Any, slot: str) -> Any:
        child = Passage.child(row, produced_by=MADE, slot=slot, base="b", document="d", text=row.text)
        known = {"kept": Kept(child, slot), "dropped": Dropped("alone", row.text, slot), "failed": Failed("ill", slot)}
        return known.get(name, NotApplicable("of_nothing", slot))

    step, tables = Join(STEP.spec, STEP.context), {"each": Table.of(pages, Passage)}
    at_once = GatherResult([(row.id, decide(at, row)) for at, row in enumerate(pages)])
    one = account_gather(step, tables, at_once, Passage)
    other = account_gather(step, tables, GatherStream(outcome_pieces(tables["each"], Passage, decide, size)), Passage)
    assert other.rows.arrow.equals(one.rows.arrow)
    assert other.outcomes.equals(one.outcomes)


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


@pytest.mark.parametrize("stored", [False, True])
def test_windows_have_the_bytes_that_a_table_may_use(tmp_path: Path, *, stored: bool) -> None:
    rows = [page(line) for line in range(300)]
    table = Table.of(rows, Passage)
    if stored:
        pq.write_table(table.arrow, tmp_path / "part-00000.parquet")
        table = StoredTable(Passage, [tmp_path / "part-00000.parquet"], tmp_path)
    table.window_bytes = table.nbytes // 10
    windows = list(table.windows())
    assert 10 <= len(windows) <= 11
    assert [first for first, _ in windows] == list(np.cumsum([0, *(len(window) for _, window in windows[:-1])]))
    assert [row for _, window in windows for row in window] == rows
    assert max(len(window) for _, window in table.windows(7)) == 7


def test_windows_follow_the_memory_of_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_node, "_WINDOWS", 100_000)
    steps = {"once": {"kind": "deduplicate", "from": "sources.lines", "fields": {"text": "text"}}}
    parts: list[int] = []
    digests: list[dict[str, str]] = []
    for memory in (100, 100_000):
        folder, run = tmp_path / str(memory), {"memory_mb": memory}
        bench = Bench(folder, {"lines": [f"row {n % 40}" for n in range(60)]}, steps, "once", run=run)
        bench.build()
        manifest = bench.inspector().manifests["once"]
        parts.append(len(bench.store.parts(manifest)))
        digests.append(bench.digests())
    assert parts[0] > 5
    assert parts[1] == 1
    assert digests[0] == digests[1]
