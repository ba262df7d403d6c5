import csv
import errno
import gc
import io
import os
import tempfile
import zipfile

import openpyxl
import pytest
from files_spec import files_spec
from filled_sheets import fill_open_cells
from hypothesis import given
from hypothesis import strategies as st
from lxml.etree import SerialisationError

from benchbuilder.annotation.base import ShownParagraph, Subject, Task
from benchbuilder.annotation.sheets.reading import SheetContents, read_vote_sheet
from benchbuilder.annotation.sheets.sheets import (
    csv_bytes,
    escape_formula,
    fold_whitespace,
    needed_columns,
    parse_answer_cell,
    sheet_columns,
    sheet_grid,
    sheet_rows,
    unescape_formula,
)
from benchbuilder.annotation.sheets.workbook import (
    UnreadableWorkbookError,
    first_sheet_lines,
    open_worksheet,
    read_workbook,
    table_workbook_bytes,
    workbook_bytes,
)
from benchbuilder.annotation.tasks import judgement_requests, wording_key

SPEC = files_spec()
BINARY = SPEC.questions_about()["fluent"]
LAYOUT = sheet_columns(SPEC, SPEC.labels)
NASTY = '=HYPERLINK("http://x","点我")'


def key(prefix, n):
    return f"{prefix}{n:020x}"


def claims(count=4):
    return [
        Task(
            key("c", n),
            (("text", f"某产妇产后大出血。第{n}问？\n=1+1"), ("right", NASTY if n == 0 else "子宫收缩乏力。"),
             ("wrong", "-胎盘滞留。")),
            (ShownParagraph(key("p", 10 * n), "教科书", "产后出血", "@子宫收缩乏力最常见。"),
             ShownParagraph(key("p", 10 * n + 1), "百科", "", "'+胎盘因素，见于②类。")),
        )
        for n in range(count)
    ]  # fmt: skip


def rows(person="a", seed=7, wanted=None, count=4):
    shown = claims(count)
    wanted = judgement_requests(shown, SPEC) if wanted is None else wanted
    return sheet_rows(shown, wanted, SPEC, SPEC.labels, annotator=person, seed=seed)


def read(name, data, people=("a", "b", "meta")):
    reading = SheetContents(people, {wording_key(question): question for question in SPEC.questions_about().values()})
    read_vote_sheet(name, data, reading)
    return reading


@given(st.text())
def test_escaping_is_undone(text):
    assert unescape_formula(escape_formula(text)) == text
    assert not escape_formula(text).startswith(("=", "+", "-", "@", "\t", "\r", "＝"))


@pytest.mark.parametrize(("text", "value"), [("1", 1), (" 0 ", 0), ("１", 1), ("1.0", 1), ("", None), ("—", None)])
def test_what_people_write(text, value):
    assert parse_answer_cell(BINARY, text) == value


@pytest.mark.parametrize("text", ["2", "yes", "是", "TRUE", "0.5", "01", "1/0"])
def test_cells_that_are_no_judgement(text):
    with pytest.raises(ValueError, match="allowed are 0, 1"):
        parse_answer_cell(BINARY, text)


def test_claims_are_shuffled_for_each_annotator_alike_every_time():
    def order(person, count=12):
        return [row.key for row in rows(person, count=count) if row.key.startswith("c")]

    assert order("a") == order("a")
    assert order("a") != order("b")
    assert sorted(order("a")) == sorted(order("b"))
    # what else is asked does not move the rest
    assert [k for k in order("a") if k in order("a", 5)] == order("a", 5)


def test_a_claim_precedes_its_paragraphs():
    keys = [row.key for row in rows(count=2)]
    at = keys.index(key("c", 1))
    assert keys[at + 1 : at + 3] == [key("p", 10), key("p", 11)]


def test_columns_about_paragraphs_stand_only_where_there_are_some():
    titles = [column.marker for column in needed_columns(LAYOUT, rows())]
    assert titles == [column.marker for column in LAYOUT]
    wholes = [row for row in rows() if row.is_whole]
    left = [column for column in LAYOUT if column not in needed_columns(LAYOUT, wholes)]
    assert [column.marker.split(":")[:2] for column in left] == [["source"], ["q", "supports"]]
    book = openpyxl.load_workbook(io.BytesIO(workbook_bytes(needed_columns(LAYOUT, wholes), wholes, SPEC, SPEC.labels)))
    guide = [cell.value for cell in book.worksheets[1]["A"]]
    assert SPEC.questions["supports"].label not in guide
    assert SPEC.questions["fluent"].label in guide


def test_labels_are_no_formulas_either():
    labels = SPEC.labels.model_copy(update={"text": "=1+1"})
    assert sheet_grid(sheet_columns(SPEC, labels), [])[0][2] == "'=1+1 [text]"


def test_only_what_is_wanted_is_open():
    fluent = wording_key(SPEC.questions_about()["fluent"])
    supports = wording_key(SPEC.questions_about()["supports"])
    sheet = rows(wanted={Subject(key("c", 1), fluent), Subject(key("p", 21), supports)})
    assert [row.key for row in sheet if row.key.startswith("p")] == [key("p", 21)]
    assert {row.key for row in sheet if row.key.startswith("c")} == {key("c", 1), key("c", 2)}
    opened = [(row.key, wording) for row in sheet for wording, cell in row.cells.items() if cell == ""]
    assert sorted(opened) == sorted([(key("c", 1), fluent), (key("p", 21), supports)])


def test_csv_opens_in_excel_and_holds_no_formula():
    data = csv_bytes(sheet_grid(LAYOUT, rows()))
    assert data.startswith(b"\xef\xbb\xbf")
    cells = [cell for line in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) for cell in line]
    assert "'" + NASTY in cells
    assert "'@子宫收缩乏力最常见。" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_xlsx_is_equal_from_run_to_run_and_safe():
    sheet = rows()
    data = workbook_bytes(LAYOUT, sheet, SPEC, SPEC.labels)
    assert data == workbook_bytes(LAYOUT, sheet, SPEC, SPEC.labels)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        core = archive.read("docProps/core.xml").decode()
        assert core.count("2000-01-01T00:00:00Z") == 2
    book = openpyxl.load_workbook(io.BytesIO(data))
    assert book.sheetnames == ["标注", "填写说明"]
    work, guide = book.worksheets
    assert all(cell.data_type != "f" for line in work.iter_rows() for cell in line)
    assert work.freeze_panes == "C2"
    assert work.protection.sheet
    (allowed,) = work.data_validations.dataValidation
    assert (allowed.type, allowed.formula1) == ("list", '"1,0"')
    told = [cell.value for line in guide.iter_rows() for cell in line]
    assert all(question.text in told for question in SPEC.questions_about().values())
    opened = [cell for line in work.iter_rows(min_row=2) for cell in line if not cell.protection.locked]
    assert len(opened) == 4 * (5 + 2) + 12  # cells to judge, and a note in each row


@pytest.mark.parametrize("form", ["xlsx", "utf-8-sig", "utf-8", "gb18030", "utf-16", "semicolons", "tabs"])
def test_filled_sheets_are_read_back(form):
    asked = judgement_requests(claims(), SPEC)
    truth = {subject: index % 3 % 2 for index, subject in enumerate(asked)}
    sheet = fill_open_cells(rows(), truth.get)
    if form == "xlsx":
        data, name = workbook_bytes(LAYOUT, sheet, SPEC, SPEC.labels), "a.xlsx"
    elif form in {"semicolons", "tabs"}:
        stream = io.StringIO(newline="")
        csv.writer(stream, delimiter=";" if form == "semicolons" else "\t").writerows(sheet_grid(LAYOUT, sheet))
        data, name = stream.getvalue().encode(), "a.csv"
    else:
        data, name = csv_bytes(sheet_grid(LAYOUT, sheet)).decode("utf-8-sig").encode(form), "a.CSV"
    reading = read(name, data)
    assert reading.problems == []
    assert {vote.subject: vote.value for vote in reading.votes} == truth
    assert {vote.annotator for vote in reading.votes} == {"a"}


def test_what_excel_saved_after_filling_in():
    """A packet opened, filled in here and there, annotated, saved again by another program."""
    book = openpyxl.load_workbook(io.BytesIO(workbook_bytes(LAYOUT, rows(), SPEC, SPEC.labels)))
    work = book.worksheets[0]
    head = {cell.value: cell.column for cell in work[1]}
    fluent = next(column for title, column in head.items() if "[q:fluent:" in title)
    note = next(column for title, column in head.items() if title.endswith("[note]"))
    work.cell(2, fluent).value = 1.0
    work.cell(2, note).value = "'=这里的公式有误"
    stream = io.BytesIO()
    book.save(stream)
    reading = read("a.xlsx", stream.getvalue())
    assert reading.problems == []
    assert [vote.value for vote in reading.votes] == [1]
    assert reading.votes[0].where == "a.xlsx:2"
    assert [comment.text for comment in reading.comments] == ["=这里的公式有误"]


def test_shown_text_survives_the_round_trip():
    data = workbook_bytes(LAYOUT, rows(), SPEC, SPEC.labels)
    cells = {unescape_formula(cell) for line in read_workbook(data)["标注"] for cell in line}
    assert NASTY in cells
    assert "'+胎盘因素，见于②类。" in cells


def lines_with(change):
    lines = sheet_grid(LAYOUT, rows())
    at = {column.marker.split(":")[1] if ":" in column.marker else column.marker: i for i, column in enumerate(LAYOUT)}
    change(lines, at)
    return csv_bytes(lines)


def test_problems_are_listed_with_file_and_row():
    def spoil(lines, at):
        lines[1][at["fluent"]] = "maybe"
        lines[4][at["single_answer"]] = "1"
        lines[4][at["annotator"]] = "carol"
        lines[7][at["single_answer"]] = "1"
        lines[7][at["key"]] = "1.23E+19"

    reading = read("x/a.csv", lines_with(spoil))
    assert reading.votes == []
    assert reading.problems == [
        "x/a.csv:2: fluent is 'maybe'; allowed are 0, 1 and an empty cell",
        "x/a.csv:5: nobody is called 'carol'; people in this recipe: a, b, meta",
        "x/a.csv:8: the key '1.23E+19' is not a key of a sheet; copy the row from the sheet to fill",
    ]


def test_columns_may_be_moved_and_rows_sorted():
    def move(lines, at):
        lines[1][at["single_answer"]] = "0"
        lines[1:] = [lines[3], [], lines[1], lines[2], *lines[4:]]
        for line in lines:
            line.reverse()

    (vote,) = read("a.csv", lines_with(move)).votes
    assert (vote.value, vote.where) == (0, "a.csv:4")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.xlsx", b"not a zip", "damaged"),
        ("a.csv", b"\xff\xfe\x00", "not CSV in UTF-8 or GB18030"),
        ("a.csv", "问题,答案\n1,2\n".encode(), "the columns [key] and [annotator] are missing"),
        ("a.csv", b"", "are missing"),
    ],
)
def test_files_that_are_no_sheets(name, data, words):
    (problem,) = read(name, data).problems
    assert problem.startswith(f"{name}: ")
    assert words in problem


def rezipped(data, change):
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return stream.getvalue()


def test_entities_in_a_workbook_are_refused():
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]>'
    data = workbook_bytes(LAYOUT, rows(), SPEC, SPEC.labels)
    spoiled = rezipped(data, lambda name, xml: bomb + xml if name == "xl/workbook.xml" else xml)
    with pytest.raises(UnreadableWorkbookError, match="declares a document type"):
        read_workbook(spoiled)


def test_a_document_type_is_found_across_two_pieces(monkeypatch, tmp_path):
    data = workbook_bytes(LAYOUT, rows(), SPEC, SPEC.labels)
    path = tmp_path / "a.xlsx"
    spoiled = rezipped(data, lambda name, xml: b"<!DOCTYPE x>" + xml if name == "xl/styles.xml" else xml)
    path.write_bytes(spoiled)
    monkeypatch.setattr("benchbuilder.annotation.sheets.workbook_support._PIECE_BYTES", 5)
    with pytest.raises(UnreadableWorkbookError, match=r"xl/styles\.xml declares"), open_worksheet(path):
        pass


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="3"><c r="A3"><v>3</v></c></row><row r="2"><c r="A2"><v>2</v></c></row>',
        '<row r="2"><c r="A2"><v>2</v></c></row><row r="2"><c r="B2"><v>2</v></c></row>',
        '<row r="2"><c r="B2"><v>2</v></c><c r="A2"><v>1</v></c></row>',
        '<row r="2"><c r="A2"><v>2</v></c><c r="A2"><v>1</v></c></row>',
        '<row r="2"><c r="A4"><v>2</v></c></row>',
    ],
)
def test_a_worksheet_out_of_order_is_refused(rows, tmp_path):
    spoiled = sheet_of(rows)
    (tmp_path / "a.xlsx").write_bytes(spoiled)
    told = "in the sheet 't', row 2 or its cells are out of order"
    with pytest.raises(UnreadableWorkbookError, match=told), open_worksheet(tmp_path / "a.xlsx") as lines:
        list(lines)
    with pytest.raises(UnreadableWorkbookError, match=told):
        list(first_sheet_lines(io.BytesIO(spoiled)))


def sheet_of(rows):
    """A workbook with the XML of rows."""
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'
    return rezipped(
        table_workbook_bytes("t", [["a"]]),
        lambda name, xml: sheet.encode() if name == "xl/worksheets/sheet1.xml" else xml,
    )


def test_rows_and_cells_that_are_missing_are_empty(tmp_path):
    data = sheet_of('<row r="2"><c r="B2"><v>1</v></c></row><row r="3"/><row r="5"><c r="A5"><v>2</v></c></row>')
    (tmp_path / "a.xlsx").write_bytes(data)
    with open_worksheet(tmp_path / "a.xlsx") as lines:
        assert list(lines) == [[], ["", "1"], [], [], ["2"]]


class FullDisk(io.BytesIO):
    """A file on a full disk."""

    def write(self, data, /):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.push
def test_a_full_disk_of_temporary_files_is_named_and_nothing_else(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "SpooledTemporaryFile", lambda max_size: FullDisk())
        with pytest.raises(OSError, match="No space left") as caught:
            table_workbook_bytes("t", [["a"]])
    assert caught.value.filename == tempfile.gettempdir()

    def lines():
        yield ["a"]
        raise SerialisationError("IO_ENOSPC")

    with pytest.raises(OSError, match="IO_ENOSPC") as caught:
        table_workbook_bytes("t", lines())
    assert caught.value.filename == tempfile.gettempdir()
    del caught
    gc.collect()  # pytest reports what openpyxl complains of when its files are let go


def test_archives_without_measure_are_refused(monkeypatch):
    data = workbook_bytes(LAYOUT, rows(), SPEC, SPEC.labels)
    monkeypatch.setattr("benchbuilder.annotation.sheets.workbook_support.MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(UnreadableWorkbookError, match="unpacks to more"):
        read_workbook(data)


def test_a_vote_carries_the_text_of_its_row():
    def judge(lines, at):
        lines[1][at["single_answer"]] = "1"
        lines[2][at["supports"]] = "0"

    told = {vote.subject.key: vote.text for vote in read("a.csv", lines_with(judge)).votes}
    shown = {claim.key: claim for claim in claims()}
    first, second = [row.key for row in rows()[:2]]
    assert told == {
        first: " ".join(shown[first].text.split()),
        second: shown[first].paragraphs[0].text,
    }


@given(st.text(), st.sampled_from([" ", "\n", "\t", "\r\n", "\u3000"]))
def test_folding_does_not_depend_on_how_a_text_was_written(text, blank):
    assert fold_whitespace(escape_formula(text) + blank) == fold_whitespace(escape_formula(text))
    assert "  " not in fold_whitespace(text)


def test_two_columns_for_one_question_are_a_problem():
    def double(lines, at):
        for line in lines:
            line.append(line[at["fluent"]])
        lines[1][at["fluent"]], lines[1][-1] = "1", "0"

    reading = read("a.csv", lines_with(double))
    marker = next(column.marker for column in LAYOUT if column.marker.startswith("q:fluent:"))
    assert reading.problems == [f"a.csv:1: 2 columns are headed [{marker}]; keep one"]
    assert reading.votes == []


def test_two_columns_of_keys_are_a_problem_and_two_of_ones_own_are_not():
    def double(lines, at):
        for line in lines:
            line += [line[at["key"]], "x", "y"]
        lines[0][-2:] = ["mine [1]", "too [1]"]

    assert read("a.csv", lines_with(double)).problems == ["a.csv:1: 2 columns are headed [key]; keep one"]


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_sheet_without_questions_is_a_problem(form):
    layout = [column for column in LAYOUT if not column.marker.startswith("q:")]
    lines = sheet_grid(layout, rows())
    if form == "csv":
        data = csv_bytes(lines)
    else:
        book = openpyxl.load_workbook(io.BytesIO(workbook_bytes(LAYOUT, rows(), SPEC, SPEC.labels)))
        spare = book.create_sheet("spare")
        for line in lines:
            spare.append(line)
        stream = io.BytesIO()
        book.save(stream)
        data = stream.getvalue()
    (problem,) = read(f"a.{form}", data).problems
    assert problem.startswith(f"a.{form}:1: no column is headed [q:...]")


def test_a_worksheet_with_keys_of_nobody_is_a_problem():
    book = openpyxl.load_workbook(io.BytesIO(workbook_bytes(LAYOUT, rows(), SPEC, SPEC.labels)))
    work = book.copy_worksheet(book.worksheets[0])
    next(cell for cell in work[1] if cell.value.endswith("[annotator]")).value = "who"
    stream = io.BytesIO()
    book.save(stream)
    (problem,) = read("a.xlsx", stream.getvalue()).problems
    assert problem.startswith("a.xlsx:1: no column is headed [annotator]")


def test_markers_are_found_in_any_case():
    def shout(lines, at):
        lines[1][at["fluent"]] = "1"
        lines[0] = [title.upper() for title in lines[0]]

    reading = read("a.csv", lines_with(shout))
    assert reading.problems == []
    (vote,) = reading.votes
    assert vote.subject == Subject(rows()[0].key, wording_key(SPEC.questions_about()["fluent"]))
