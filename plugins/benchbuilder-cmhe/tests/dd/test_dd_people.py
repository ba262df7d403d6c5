from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.errors import DataError, WaitingForPeople
from benchbuilder.core.records.arrow.batches import GatherStream
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact
from benchbuilder.testing import check_kind, check_step
from openpyxl import load_workbook

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.chat import IntakeForm
from benchbuilder_cmhe.dd.form_sheet import FormSheet, FormSheetSpec
from benchbuilder_cmhe.dd.proofread import Proofread, ProofreadSpec

from .dd_sample import ROW, context, step

NOBODY, SOMEBODY = KindSpec(kind="none"), KindSpec(kind="sheets")
NOSE = Diagnosis(name="过敏性鼻炎", code="J30.400", entry="过敏性鼻炎", how="alias", score=100.0, chapter="X",
                 block="J30-J39", category="J30")  # fmt: skip
TOE = Diagnosis(name="=痛风", code="M10.900", entry="痛风", how="exact", score=100.0, chapter="XIII", block="M05-M14",
                category="M10")  # fmt: skip
BARE = Diagnosis(name="颈肋压迫征")


def cases(*sets: tuple[Diagnosis, ...]) -> Table[Any]:
    rows = [
        Fact[PatientCase].build(
            payload=PatientCase(text=f"病情{n}。", diagnoses=found, setting="exam"), partition="exam", **ROW
        )
        for n, found in enumerate(sets)
    ]
    return Table.of(rows, Fact[PatientCase])


def proofread(folder: Path, votes: KindSpec = SOMEBODY, **changes: Any) -> Proofread:
    return Proofread(
        ProofreadSpec.model_validate(step("dd_items", votes=votes, **changes)), context(folder, "dd_items")
    )


def packet(folder: Path, name: str = "dd_items", suffix: str = "csv") -> Path:
    (found,) = (folder / "annotation" / name / "to_fill").glob(f"*.{suffix}")
    return found


def rows_of(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8-sig", newline="") as handle:
        return list(csv.reader(handle))


def fill(folder: Path, said: dict[str, dict[str, str]], name: str = "dd_items", as_: str = "a.csv") -> None:
    """Fill the packet: what is said by the beginning of a row's first cell, as column and cell."""
    header, *rows = rows_of(packet(folder, name))
    markers = [cell.rpartition("[")[2].rstrip("]") for cell in header]
    for row in rows:
        for start, cells in said.items():
            if row[0].lstrip("'").startswith(start):
                for column, cell in cells.items():
                    row[markers.index(column)] = cell
    target = folder / "annotation" / name / "filled" / as_
    with target.open("w", encoding="utf-8-sig", newline="") as handle:
        csv.writer(handle).writerows([header, *rows])


def outcomes(opened_step: Any, table: Table[Any]) -> list[Any]:
    return told(opened_step.gather({"each": table}))


def told(gathered: GatherStream) -> list[Any]:
    """The one outcome of each row, piece by piece."""
    found: list[Any] = []
    for piece in gathered.pieces:
        branches, rows = piece.branches, iter(piece.branches.rows)
        assert branches.row_position.to_pylist() == [*range(len(piece.each))]
        columns = (branches.outcomes, branches.reasons, branches.details)
        for outcome, reason, detail in zip(*(column.to_pylist() for column in columns), strict=True):
            found.append(Kept(next(rows)) if outcome == "kept" else Dropped(reason, detail))
    return found


RIGHT = {"right": "1", "correct": ""}


def test_nobody_is_asked_and_codes_stay_as_they_were_found(tmp_path: Path) -> None:
    kept, dropped = outcomes(proofread(tmp_path, NOBODY), cases((NOSE, TOE), (NOSE, BARE)))
    assert isinstance(kept, Kept)
    assert not kept.row.reviewed
    assert kept.row.payload.diagnoses == (NOSE, TOE)
    assert dropped == Dropped("uncoded", "颈肋压迫征")
    assert not (tmp_path / "annotation").exists()


def test_the_build_waits_until_the_sheet_is_filled(tmp_path: Path) -> None:
    table = cases((NOSE, TOE), (NOSE,), (BARE,))
    with pytest.raises(WaitingForPeople, match="3 proofread codes are missing") as caught:
        proofread(tmp_path).gather({"each": table})
    assert caught.value.exit_code == 75
    assert "annotation/dd_items/filled" in caught.value.next
    header, *rows = rows_of(packet(tmp_path))
    assert len(rows) == 3  # each name once
    assert rows[1][0] == "'=痛风"  # no formula
    book = load_workbook(packet(tmp_path, suffix="xlsx"))
    assert [cell.value for cell in book.active[1]] == header
    fill(tmp_path, {"过敏": RIGHT, "=痛": RIGHT})
    with pytest.raises(WaitingForPeople, match="1 proofread code is missing"):
        proofread(tmp_path).gather({"each": table})
    assert len(rows_of(packet(tmp_path))) == 2  # only what is missing


def test_corrections_flow_into_the_codes(tmp_path: Path) -> None:
    table = cases((NOSE, TOE), (BARE, NOSE), (TOE,))
    with pytest.raises(WaitingForPeople):
        proofread(tmp_path).gather({"each": table})
    wrong = {"right": "０", "correct": "ｊ31.000；j45"}
    fill(tmp_path, {"过敏": wrong, "=痛": {"right": "0"}, "颈肋": {"right": "0", "correct": "G54.000"}})
    gathered = proofread(tmp_path).gather({"each": table})
    first, second, third = told(gathered)
    assert [(d.name, d.code, d.how, d.category) for d in first.row.payload.diagnoses] == [
        ("过敏性鼻炎", "J31.000", "person", "J31"), ("过敏性鼻炎", "J45", "person", "J45"),
    ]  # fmt: skip
    assert [d.code for d in second.row.payload.diagnoses] == ["G54.000", "J31.000", "J45"]
    assert second.row.reviewed
    assert third == Dropped("no_code_left", "=痛风")
    assert gathered.notes["proofread"] == {"right": 0, "corrected": 2, "removed": 1}
    assert set(proofread(tmp_path).external_inputs()) == {"annotation/dd_items/filled/a.csv"}
    assert not list((tmp_path / "annotation" / "dd_items").glob("to_fill/*"))


def test_what_is_filled_in_counts_for_what_was_shown(tmp_path: Path) -> None:
    with pytest.raises(WaitingForPeople):
        proofread(tmp_path).gather({"each": cases((NOSE,))})
    fill(tmp_path, {"过敏": RIGHT})
    assert isinstance(outcomes(proofread(tmp_path), cases((NOSE,)))[0], Kept)
    other = NOSE.model_copy(update={"code": "J30.100"})
    with pytest.raises(WaitingForPeople):
        proofread(tmp_path).gather({"each": cases((other,))})


def test_each_case_can_be_asked_about_with_its_text(tmp_path: Path) -> None:
    with pytest.raises(WaitingForPeople, match="2 proofread codes"):
        proofread(tmp_path, per="case").gather({"each": cases((NOSE,), (NOSE,))})
    fill(tmp_path, {"病情0": RIGHT, "病情1": {"right": "0", "correct": "J31.000"}})
    found = outcomes(proofread(tmp_path, per="case"), cases((NOSE,), (NOSE,)))
    assert [one.row.payload.diagnoses[0].code for one in found] == ["J30.400", "J31.000"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"right": "yes"}, "write 1 or 0"),
        ({"right": "1", "correct": "J31"}, "stands beside it"),
        ({"right": "0", "correct": "鼻炎"}, "is no code"),
        ({"right": "0", "correct": "Y99"}, "is no code"),
    ],
)
def test_what_makes_no_sense_is_told(tmp_path: Path, said: dict[str, str], why: str) -> None:
    with pytest.raises(WaitingForPeople):
        proofread(tmp_path).gather({"each": cases((NOSE,))})
    fill(tmp_path, {"过敏": said})
    with pytest.raises(DataError) as caught:
        proofread(tmp_path).gather({"each": cases((NOSE,))})
    assert why in caught.value.why


def test_sheets_that_differ_and_sheets_that_are_none_are_told(tmp_path: Path) -> None:
    table = cases((NOSE,))
    with pytest.raises(WaitingForPeople):
        proofread(tmp_path).gather({"each": table})
    filled = tmp_path / "annotation" / "dd_items" / "filled"
    fill(tmp_path, {"过敏": RIGHT})
    fill(tmp_path, {"过敏": {"right": "0"}}, as_="b.csv")
    with pytest.raises(DataError) as caught:
        proofread(tmp_path).gather({"each": table})
    assert "filled differently at annotation/dd_items/filled/a.csv: row 2" in caught.value.why
    (filled / "b.csv").write_text("right,correct\n1,\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        proofread(tmp_path).gather({"each": table})
    assert "no column [correct]" in caught.value.why
    (filled / "b.csv").unlink()
    (filled / "c.xlsx").write_bytes(b"no workbook")
    with pytest.raises(DataError) as caught:
        proofread(tmp_path).gather({"each": table})
    assert "cannot be read" in caught.value.why
    with pytest.raises(DataError, match="sheets of the step dd_items are missing"):
        proofread(tmp_path, sheet=str(tmp_path / "none.csv")).gather({"each": table})


def test_a_filled_workbook_counts(tmp_path: Path) -> None:
    with pytest.raises(WaitingForPeople):
        proofread(tmp_path).gather({"each": cases((NOSE, TOE))})
    book = load_workbook(packet(tmp_path, suffix="xlsx"))
    sheet = book.active
    for row in range(2, 4):
        sheet.cell(row, 6).value = 1  # a number, as people type it
    book.save(tmp_path / "annotation" / "dd_items" / "filled" / "a.xlsx")
    assert isinstance(outcomes(proofread(tmp_path), cases((NOSE, TOE)))[0], Kept)


# --- forms


def forms(*made: IntakeForm) -> Table[Any]:
    return Table.of([Fact[IntakeForm].build(payload=form, partition="chats", **ROW) for form in made], Fact[IntakeForm])


def form_sheet(folder: Path, votes: KindSpec = SOMEBODY, **changes: Any) -> FormSheet:
    return FormSheet(
        FormSheetSpec.model_validate(step("dd_forms", votes=votes, **changes)), context(folder, "dd_forms")
    )


DRAFT = IntakeForm(chat="患者: 鼻子痒。", age="20岁", symptoms="鼻痒", diagnosis="鼻炎")
EMPTY = IntakeForm(chat="患者: 脚趾痛。")


def test_people_fill_forms_in_or_say_that_a_chat_is_not_fit(tmp_path: Path) -> None:
    table = forms(DRAFT, EMPTY)
    with pytest.raises(WaitingForPeople, match="2 filled forms are missing"):
        form_sheet(tmp_path).gather({"each": table})
    _, draft, _ = rows_of(packet(tmp_path, "dd_forms"))
    assert draft[1:4] == ["20岁", "", "鼻痒"]  # the draft stands there
    filled = {"fit": "1", "diagnosis": "过敏性鼻炎", "complaint": "鼻痒"}
    fill(tmp_path, {"患者: 鼻子": filled, "患者: 脚趾": {"fit": "0"}}, "dd_forms")
    kept, dropped = outcomes(form_sheet(tmp_path), table)
    assert kept.row.payload.diagnosis == "过敏性鼻炎"
    assert kept.row.payload.age == "20岁"
    assert dropped == Dropped("not_fit")
    fill_again = {"患者: 鼻子": {"fit": "2"}, "患者: 脚趾": {"fit": "0"}}
    (tmp_path / "annotation" / "dd_forms" / "filled" / "a.csv").unlink()
    with pytest.raises(WaitingForPeople):
        form_sheet(tmp_path).gather({"each": table})
    fill(tmp_path, fill_again, "dd_forms")
    with pytest.raises(DataError):
        form_sheet(tmp_path).gather({"each": table})


def test_without_people_drafts_stand_and_empty_forms_go(tmp_path: Path) -> None:
    lacking = DRAFT.model_copy(update={"diagnosis": "", "chat": "z"})
    found = outcomes(form_sheet(tmp_path, NOBODY), forms(DRAFT, EMPTY, lacking))
    assert found[0].row.payload == DRAFT
    assert [one.reason for one in found[1:]] == ["no_form", "incomplete"]


def test_contracts(tmp_path: Path) -> None:
    check_kind("step", "proofread", Proofread)
    check_kind("step", "form_sheet", FormSheet)
    check_step(lambda: form_sheet(tmp_path, NOBODY), {"each": forms(DRAFT, EMPTY)})
    check_step(lambda: proofread(tmp_path, NOBODY), {"each": cases((NOSE, TOE), (BARE,))})
    with pytest.raises(WaitingForPeople):
        proofread(tmp_path).gather({"each": cases((NOSE, TOE))})
    fill(tmp_path, {"过敏": RIGHT, "=痛": {"right": "0", "correct": "M10.000"}})
    check_step(lambda: proofread(tmp_path), {"each": cases((NOSE, TOE))})
