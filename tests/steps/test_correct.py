"""The step that follows errata: fixed and withdrawn candidates, their families, and what its key is made of."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from gathered import outcomes_of
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.roles import Candidate
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.steps.correct import Correct, Corrections, CorrectSpec, Erratum, ItemTexts, read_errata


def candidate(fact: str, question: str, expected: str = "yes") -> Candidate:
    return Candidate.build(
        origin=Origin(file="f", line=1), produced_by=ProducedBy(rule="test"), language="en", partition="atlas",
        slot=fact, type="tf", expected=expected, question=question, answer=f"{fact} is a planet.", fact=fact,
        answer_wrong=f"{fact} is a star.", family=fact, checks=("length",),
    )  # fmt: skip


ROWS = [
    candidate("Mars", "Is Mars a planet?"),
    candidate("Mars", "Is Mars a star?", "no"),
    candidate("Venus", "Is Vneus a planet?"),
    candidate("Pluto", "Is Pluto a planet?"),
]


def erratum(number: int, before: ItemTexts, after: ItemTexts | None = None, **more: Any) -> Erratum:
    return Erratum.model_validate({
        "id": f"erratum-{number}", "item": "item-x", "when": "2026-01-31", "kind": "text", "text": "wrong",
        "state": "decided", "before": before, "after": after, "decision": "fix_text" if after else "withdraw", **more,
    })  # fmt: skip


def step(folder: Path, *errata: Erratum) -> Correct:
    file = folder / "errata.jsonl"
    file.write_text("".join(one.model_dump_json() + "\n" for one in errata), "utf-8")
    spec = CorrectSpec.model_validate({"kind": "correct", "from": "families", "errata": str(file)})
    return Correct(spec, StepContext(1, "en", "corrected", Path("cache"), Path("people")))


def outcomes(made: Correct) -> list[Any]:
    return [*outcomes_of(made, {"each": Table.of(ROWS, Candidate)}, Candidate)[0].values()]


def other(row: Candidate, **texts: str) -> ItemTexts:
    return ItemTexts.of(row).model_copy(update=texts)


def test_a_fixed_candidate_has_a_new_id_and_all_others_keep_theirs(tmp_path: Path) -> None:
    fixed = other(ROWS[2], question="Is Venus a planet?")
    found = outcomes(step(tmp_path, erratum(1, ItemTexts.of(ROWS[2]), fixed)))
    assert [outcome.row for outcome in (found[0], found[1], found[3])] == [ROWS[0], ROWS[1], ROWS[3]]
    row = found[2].row
    assert ItemTexts.of(row) == fixed
    assert row.id != ROWS[2].id
    assert row.parents[0] == ROWS[2].id
    assert (row.family, row.checks) == ("Venus", ()), "no check was made of the new text"


def test_a_family_falls_as_a_whole_and_each_row_has_a_reason(tmp_path: Path) -> None:
    found = outcomes(step(tmp_path, erratum(1, ItemTexts.of(ROWS[1]))))
    assert found[:2] == [Dropped("family_incomplete", "erratum-1"), Dropped("withdrawn", "erratum-1")]
    assert all(isinstance(outcome, Kept) for outcome in found[2:])


def test_a_fix_of_a_fix_and_a_fix_that_is_taken_back(tmp_path: Path) -> None:
    first, second = ItemTexts.of(ROWS[3]), other(ROWS[3], question="Was Pluto a planet?")
    third = other(ROWS[3], question="Was Pluto a planet until 2006?")
    chain = outcomes(step(tmp_path, erratum(1, first, second), erratum(2, second, third)))
    assert ItemTexts.of(chain[3].row) == third
    back = outcomes(step(tmp_path, erratum(1, first, second), erratum(2, second, first)))
    assert back[3].row == ROWS[3]
    gone = outcomes(step(tmp_path, erratum(1, first, second), erratum(2, second)))
    assert gone[3] == Dropped("withdrawn", "erratum-2")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "Is it?", ROWS[1].question])), max_size=4))
def test_each_row_is_held_against_each_decision(changes: list[tuple[int, str]]) -> None:
    log = [
        erratum(number, ItemTexts.of(ROWS[place]), other(ROWS[place], question=question) if question else None)
        for number, (place, question) in enumerate(changes, 1)
    ]
    corrections = Corrections(log)
    found = [corrections.apply(ItemTexts.of(row)) for row in ROWS]
    lost = {row.family: one.errata[-1] for row, one in reversed([*zip(ROWS, found, strict=True)]) if one.texts is None}
    with tempfile.TemporaryDirectory() as folder:
        made, notes = outcomes_of(step(Path(folder), *log), {"each": Table.of(ROWS, Candidate)}, Candidate)
    for row, one, outcome in zip(ROWS, found, made.values(), strict=True):
        if one.texts is None:
            assert outcome == Dropped("withdrawn", one.errata[-1])
        elif row.family in lost:
            assert outcome == Dropped("family_incomplete", lost[row.family])
        else:
            assert isinstance(outcome, Kept)
            assert ItemTexts.of(outcome.row) == one.texts
            assert (outcome.row == row) == (one.texts == ItemTexts.of(row))
    assert notes.get("errata", []) == sorted({name for one in found for name in one.errata})


def test_only_decisions_in_force_change_the_key(tmp_path: Path) -> None:
    report = erratum(1, ItemTexts.of(ROWS[0]), state="open", decision="")
    rejected = erratum(2, ItemTexts.of(ROWS[0]), state="rejected", decision="reject")
    assert step(tmp_path, report, rejected).fingerprint() == {}
    withdrawn = erratum(3, ItemTexts.of(ROWS[0]), who="Li", by="Wang")
    keys = [step(tmp_path, *log).fingerprint() for log in ([withdrawn], [report, withdrawn], [
        withdrawn, withdrawn.model_copy(update={"by": "Chen", "state": "released", "released": "1.1.0"})])]  # fmt: skip
    assert keys[0]
    assert keys[0] == keys[1] == keys[2]


def test_a_decision_about_an_item_that_is_not_built_is_noted(tmp_path: Path) -> None:
    strange = other(ROWS[0], question="Is Ceres a planet?")
    result = step(tmp_path, erratum(1, strange)).gather({"each": Table.of(ROWS, Candidate)})
    assert result.notes == {"errata": [], "errata_of_other_items": ["erratum-1"]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\ufeff{line}\r\n\r\n{line}", ""),
        ("{line}\n{{", "errata.jsonl:2"),
        ('{{"id": "erratum-1"}}\n', "errata.jsonl:1: item: Field required"),
        ("{open}\n", "is decided without a decision"),
    ],
)
def test_the_log_is_read_with_line_ends_of_any_sort_and_faults_have_their_line(
    tmp_path: Path, text: str, says: str
) -> None:
    line = erratum(1, ItemTexts.of(ROWS[0]))
    file = tmp_path / "errata.jsonl"
    undecided = json.dumps(line.model_dump() | {"decision": ""})
    file.write_bytes(text.format(line=line.model_dump_json(), open=undecided).encode())
    if not says:
        assert read_errata(file) == {"erratum-1": line}
        return
    with pytest.raises(DataError) as error:
        read_errata(file)
    assert says in str(error.value)


def test_a_log_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_errata(tmp_path / "errata.jsonl")
