"""OutcomeBatch made by the column are settled as those made row by row, and refused where these are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.config.spec.base import StepSpec
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import AccountingError
from benchbuilder.core.records.arrow.batches import OutcomeBatch
from benchbuilder.core.records.arrow.row_ids import UniqueIds
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Failed, FilterResult, Kept, NotApplicable, Outcome
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.accounting.checks import check_unique
from benchbuilder.pipeline.accounting.shard import account_batch, account_filter, account_map
from benchbuilder.steps.base import Filter, Map, Port

MADE = ProducedBy(rule="test")


class One(Map):
    kind = "one"
    spec_class = StepSpec
    ports: ClassVar[Any] = {"each": Port(Passage)}
    reasons: ClassVar[Any] = {"fine": "Fine."}

    def map(self, row: Any, parents: Any) -> Any:
        raise NotImplementedError


class Two(One):
    slots = ("a", "b")


class Many(One):
    slots = "many"


class Sieve(Filter):
    kind = "sieve"
    spec_class = StepSpec
    ports: ClassVar[Any] = {"each": Port(Passage)}
    reasons: ClassVar[Any] = {"fine": "Fine."}

    def screen(self, table: Any) -> Any:
        raise NotImplementedError


def stage(cls: Any) -> Any:
    context = StepContext(seed=1, language="en", step="step", cache=Path("c"), workplace=Path("w"))
    return cls(StepSpec.model_validate({"kind": cls.kind, "from": "rows"}), context)


def page(line: int) -> Passage:
    return Passage.build(
        base="b", document=str(line), title="", text=f"text {line}", produced_by=MADE, language="en",
        partition=f"part{line % 2}", origin=Origin(file=f"f{line % 3}", line=line),
    )  # fmt: skip


def pages(count: int) -> Table[Passage]:
    return Table.of([page(line) for line in range(count)], Passage)


def child(row: Passage, slot: str = "") -> Passage:
    return Passage.child(row, produced_by=MADE, slot=slot, base="b", document="d", title="", text=f"child {slot}")


def columns(table: Table[Any], outcomes: Sequence[Sequence[Outcome]]) -> OutcomeBatch:
    """The branches of a table as columns."""
    lines: list[tuple[Any, ...]] = []
    for place, row_outcomes in enumerate(outcomes):
        for outcome in row_outcomes:
            name = {Kept: "kept", Dropped: "dropped", NotApplicable: "not_applicable", Failed: "failed"}[type(outcome)]
            detail = (
                outcome.detail if isinstance(outcome, Dropped) else outcome.error if isinstance(outcome, Failed) else ""
            )
            lines.append((place, outcome.slot, name, getattr(outcome, "reason", ""), detail))
    kept = [outcome.row for row_outcomes in outcomes for outcome in row_outcomes if isinstance(outcome, Kept)]
    row, *texts = zip(*lines, strict=True) if lines else ([], [], [], [], [])
    return OutcomeBatch(
        pa.array(row, pa.int64()), *(pa.array(t, pa.string()) for t in texts), Table.of(kept, table.row)
    )


def outcome_of(row: Passage, choice: int, slot: str) -> Outcome:
    return [
        Kept(row, slot), Kept(child(row, slot), slot), Dropped("fine", "seen", slot), Dropped("fine", slot=slot),
        NotApplicable("fine", slot), Failed("busy", slot),
    ][choice]  # fmt: skip


CHOICES = st.lists(st.integers(1, 5), min_size=1, max_size=3)


@pytest.mark.push
@given(st.sampled_from([One, Two, Many]), st.lists(CHOICES, max_size=7), st.booleans())
def test_columns_are_settled_as_rows_are(cls: Any, choices: list[list[int]], same: bool) -> None:
    table = pages(len(choices))
    slots = {One: ("",), Two: ("a", "b"), Many: ("x", "y", "z")}[cls]
    outcomes: list[list[Outcome]] = []
    for row, picked in zip(table, choices, strict=True):
        chosen = picked if cls is Many else (picked * 2)[: len(slots)]
        chosen = [0 if same and choice == 1 and cls is One else choice for choice in chosen]
        outcomes.append([outcome_of(row, choice, slot) for choice, slot in zip(chosen, slots, strict=False)])
    rowwise = account_map(stage(cls), list(table), outcomes, Passage)
    columnar = account_batch(stage(cls), table, columns(table, outcomes), Passage)
    assert columnar.rows.arrow.equals(rowwise.rows.arrow)
    assert columnar.outcomes.equals(rowwise.outcomes)


def test_a_table_that_passes_whole_is_not_copied() -> None:
    table = pages(5)
    made = columns(table, [[Kept(row)] for row in table])
    shard = account_batch(stage(One), table, dataclasses.replace(made, rows=table), Passage)
    assert shard.rows.arrow is table.arrow
    assert shard.outcomes.column("out").to_pylist() == table.ids()


def strange(row: Passage) -> Passage:
    return row.model_copy(update={"id": "passage-x"})


ROGUES: dict[str, tuple[Any, Any]] = {
    "has branches \\['a'\\]": (Two, lambda r: [Dropped("fine", slot="a")]),
    "has branches \\['a', 'c'\\]": (Two, lambda r: [Dropped("fine", slot="a"), Dropped("fine", slot="c")]),
    "has branches \\['a', 'a'\\]": (Two, lambda r: [Dropped("fine", slot="a"), Dropped("fine", slot="a")]),
    "has branches \\['b'\\]": (One, lambda r: [Dropped("fine", slot="b")]),
    "has branches \\['', ''\\]": (One, lambda r: [Dropped("fine"), Kept(r)]),
    "has no branch": (Many, lambda r: []),
    "has two outcomes in one slot": (Many, lambda r: [Dropped("fine", slot="a"), Dropped("fine", slot="a")]),
    "undeclared reason 'mood'": (One, lambda r: [Dropped("mood")]),
    "not_applicable, has the undeclared reason 'mood'": (One, lambda r: [NotApplicable("mood")]),
    "dropped, has the undeclared reason ''": (One, lambda r: [Dropped("")]),
    "became passage-x, which names no row": (One, lambda r: [Kept(strange(r))]),
    "which names passage-": (One, lambda r: [Kept(child(page(99)))]),
    "as the one that it comes from": (One, lambda r: [Kept(child(r).model_copy(update={"parents": ()}))]),
}


@pytest.mark.parametrize("told", ROGUES)
@pytest.mark.parametrize("place", [0, 2])
def test_what_breaks_the_law_is_refused(told: str, place: int) -> None:
    cls, how = ROGUES[told]
    table = pages(3)
    outcomes = [
        how(row) if at == place else [Dropped("fine", slot=slot) for slot in (("x",) if cls is Many else cls.slots)]
        for at, row in enumerate(table)
    ]
    with pytest.raises(AccountingError, match=told) as caught:
        account_batch(stage(cls), table, columns(table, outcomes), Passage)
    assert "step 'step'" in str(caught.value)


def text(*values: str | None) -> Any:
    return pa.array(values, pa.string())


@pytest.mark.parametrize(
    ("told", "changed"),
    [
        ("but 1 slots", {"slots": text("")}),
        ("details of its branches are string, 1", {"details": text("", None)}),
        ("reasons of its branches are int64", {"reasons": pa.array([1, 2])}),
        ("name rows by double", {"row_position": pa.array([0.0, 1.0])}),
        ("in disorder", {"row_position": pa.array([1, 0])}),
        ("not there", {"row_position": pa.array([0, 2])}),
        ("not there", {"row_position": pa.array([-1, 0])}),
        ("undeclared outcome 'lost'", {"outcomes": text("kept", "lost")}),
        ("undeclared reason 'fine'", {"reasons": text("fine", "")}),
        ("undeclared detail 'x'", {"details": text("x", "")}),
        ("2 kept branches but 1 rows", {"rows": pages(1)}),
        ("the columns of its rows", {"rows": Table(pages(2).arrow.drop(["text"]), Passage)}),
    ],
)
def test_columns_that_do_not_fit_are_refused(told: str, changed: dict[str, Any]) -> None:
    table = pages(2)
    made = columns(table, [[Kept(row)] for row in table])
    with pytest.raises(AccountingError, match=told):
        account_batch(stage(One), table, dataclasses.replace(made, **changed), Passage)


def test_rows_of_another_class_are_refused() -> None:
    with pytest.raises(AccountingError, match="became Passage"):
        account_batch(stage(One), pages(1), columns(pages(1), [[Kept(page(0))]]), type(page(0)).__base__)


@pytest.mark.push
@given(st.lists(st.sampled_from([None, "fine"]), max_size=9))
def test_verdicts_may_be_columns(reasons: list[str | None]) -> None:
    table, details = pages(len(reasons)), [("" if reason is None else "seen") for reason in reasons]
    lists = account_filter(stage(Sieve), table, FilterResult(reasons, details))
    arrays = account_filter(stage(Sieve), table, FilterResult(text(*reasons), text(*details)))
    kept = [row for row, reason in zip(table, reasons, strict=True) if reason is None]
    for shard in (lists, arrays):
        assert list(shard.rows) == kept
        assert shard.outcomes.column("out").to_pylist() == [
            row.id if reason is None else "" for row, reason in zip(table, reasons, strict=True)
        ]
        assert shard.outcomes.column("outcome").to_pylist() == [("dropped" if reason else "kept") for reason in reasons]
        assert shard.outcomes.column("reason").to_pylist() == [reason or "" for reason in reasons]
        assert shard.outcomes.column("detail").to_pylist() == details
        assert shard.outcomes.column("row").to_pylist() == table.ids()
        assert shard.outcomes.column("line").to_pylist() == list(range(len(reasons)))


@pytest.mark.parametrize(
    ("told", "reasons", "details"),
    [
        ("2 rows but 1 results", text("fine"), text("", "")),
        ("undeclared reasons \\['mood'\\]", text("mood", None), text("", "")),
        ("its details are string, 1 of them null", text(None, None), text("", None)),
        ("its details are int64", text(None, None), pa.array([1, 2])),
    ],
)
def test_verdicts_that_do_not_fit_are_refused(told: str, reasons: Any, details: Any) -> None:
    with pytest.raises(AccountingError, match=told):
        account_filter(stage(Sieve), pages(2), FilterResult(reasons, details))


HEX = st.text("0123456789abcdef", min_size=20, max_size=20)
IDS = st.one_of(
    st.sampled_from(["fact-" + "0" * 20, "fact-" + "0" * 19 + "1", "fact-" + "0" * 15 + "a0000", "x-" + "0" * 20]),
    HEX.map("fact-".__add__),
    st.sampled_from(["row", "fact-", "fact-0", "", "a" * 25, "fact_" + "0" * 20, "FACT-" + "A" * 20, "ä-" + "0" * 20]),
)


@pytest.mark.push
@given(st.lists(st.lists(IDS, max_size=5), max_size=5))
def test_ids_that_occur_twice_are_found(pieces: list[list[str]]) -> None:
    unique, flat = UniqueIds(), [row for piece in pieces for row in piece]
    for number, piece in enumerate(pieces):
        column: Any = pa.array(["other", *piece], pa.string()).slice(1)
        unique.add(pa.chunked_array([column], pa.string()) if number % 2 else column)
    assert sorted(unique.duplicates()) == sorted({row for row in flat if flat.count(row) > 1})


def test_an_id_that_occurs_twice_is_told() -> None:
    ids = ["fact-" + "0" * 20, "fact-" + "1" * 20, "fact-" + "0" * 20]
    with pytest.raises(AccountingError, match="1 id occurs twice, for instance fact-0000"):
        check_unique("step", ids)
    check_unique("step", ids[:2])
