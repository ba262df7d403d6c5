import csv
import io
import tracemalloc
from dataclasses import replace

import openpyxl
import pytest
from absent_libraries import remove_library
from export_worlds import (
    NASTY,
    PEOPLE,
    QUESTIONS,
    START,
    as_set,
    material_of,
    materials,
    read,
    spec_of,
    task_of,
    written,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.annotation.formats.models import AdjudicationNote, Rater, SkipRecord, VoteRecord
from benchbuilder.annotation.formats.parse_votes import value_text
from benchbuilder.annotation.formats.sheets import (
    parse_seconds,
    read_vote_table,
    write_vote_csv,
    write_vote_xlsx,
    xlsx_cell_text,
)
from benchbuilder.annotation.sheets.workbook import read_workbook, table_workbook_bytes, write_table_workbook
from benchbuilder.annotation.spool import Spool
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.annotation.values import parse_value
from benchbuilder.core.errors import InstallationError
from benchbuilder.core.text import tables
from benchbuilder.core.text.tables import csv_rows

SLOW = settings(suppress_health_check=list(HealthCheck))


def lines_of(material):
    return list(
        csv.reader(io.StringIO(written(write_vote_csv, material).files["votes.csv"].decode("utf-8-sig"), newline=""))
    )


def csv_of(lines):
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(lines)
    return stream.getvalue().encode()


@pytest.mark.full
@settings(SLOW, max_examples=15)
@given(materials())
def test_votes_survive_a_round_trip_through_csv(material):
    brought = read(read_vote_table, "votes.csv", written(write_vote_csv, material).files["votes.csv"], material)
    assert brought.problems == []
    assert as_set(brought.votes) == as_set(material.votes)
    assert {vote.seconds for vote in brought.votes} <= {12.0}


@pytest.mark.full
@settings(SLOW, max_examples=12)
@given(materials())
def test_votes_survive_a_round_trip_through_xlsx(material):
    export = written(write_vote_xlsx, material)
    brought = read(read_vote_table, "votes.xlsx", export.files["votes.xlsx"], material)
    assert brought.problems == []
    assert as_set(brought.votes) == as_set(material.votes)
    assert written(write_vote_xlsx, material).files == export.files


def test_without_the_library_votes_are_exchanged_as_csv(monkeypatch):
    material = advice("多休息")
    book = written(write_vote_xlsx, material).files["votes.xlsx"]
    remove_library(monkeypatch, "openpyxl")
    with pytest.raises(InstallationError, match=r"(?s)benchbuilder\[xlsx\].*CSV"):
        written(write_vote_xlsx, material)
    with pytest.raises(InstallationError, match=r"benchbuilder\[xlsx\]"):
        read(read_vote_table, "votes.xlsx", book, material)
    brought = read(read_vote_table, "votes.csv", written(write_vote_csv, material).files["votes.csv"], material)
    assert as_set(brought.votes) == as_set(material.votes)


def advice(text, note=""):
    """One text answer."""
    spec = spec_of({"advice": {"order": 1, "subject": "claim", "label": "a", "text": "b", "answer": "text",
                               "max_chars": 100_000}})  # fmt: skip
    tasks = [task_of("问", "答")]
    (subject,) = judgement_requests(tasks, spec)
    return material_of(
        spec=spec, tasks=tasks, votes=[VoteRecord("林医生", "A1", "annotator", subject, "advice", text, note, START)]
    )


@settings(SLOW, max_examples=15)
@given(st.text().map(str.strip).filter(bool), st.text(max_size=20))
def test_every_text_comes_back(text, note):
    material = advice(text, note)
    for write, name in ((write_vote_csv, "votes.csv"), (write_vote_xlsx, "votes.xlsx")):
        brought = read(read_vote_table, name, written(write, material).files[name], material)
        assert brought.problems == []
        assert [(vote.value, vote.note) for vote in brought.votes] == [(text, note)]


@pytest.mark.parametrize("text", ['=HYPERLINK("http://x")', "#N/A", "+1", "{=1}"])
def test_no_cell_is_a_formula(text):
    material = advice(text, "+1")
    book = openpyxl.load_workbook(io.BytesIO(written(write_vote_xlsx, material).files["votes.xlsx"]))
    assert all(cell.data_type in ("s", "n") for row in book.active.iter_rows() for cell in row)
    assert all(not cell.startswith(("=", "+", "-", "@")) for line in lines_of(material) for cell in line)


def test_numbers_are_numbers_in_xlsx():
    sheet = openpyxl.load_workbook(io.BytesIO(written(write_vote_xlsx, material_of()).files["votes.xlsx"])).active
    header = [cell.value for cell in sheet[1]]
    column = {
        (sheet.cell(row, header.index("question") + 1).value, type(sheet.cell(row, header.index("value") + 1).value))
        for row in range(2, sheet.max_row + 1)
    }
    assert column == {("factual", int), ("support", int), ("clarity", int), ("correct", float), ("advice", str)}
    assert sheet.freeze_panes == "A2"


@pytest.mark.parametrize("text", ["多休息", "nan", "007", "1e3", "9" * 400, "1_0", "-"])
def test_votes_from_before_a_question_asked_for_a_number_are_texts_in_xlsx(text):
    material = material_of()
    former = replace(material.votes[0].subject, wording="w000000000000")
    vote = replace(material.votes[0], subject=former, value=text)
    book = written(write_vote_xlsx, replace(material, votes=[vote])).files["votes.xlsx"]
    header, line = openpyxl.load_workbook(io.BytesIO(book)).active.iter_rows(values_only=True)
    assert line[header.index("value")] == xlsx_cell_text(text)


def test_the_rows_are_what_they_say():
    material = material_of()
    header, first, *_ = lines_of(material)
    assert header == ["project", "task", "text_question", "text_answer", "about_model", "paragraph", "paragraph_text",
                      "question",
                      "value", "note", "code", "role", "at", "seconds", "channel", "counts", "key",
                      "wording"]  # fmt: skip
    task = material.tasks[0]
    assert first[:4] == ["answers", task.key, "产后出血最常见的原因是什么？", "'=子宫收缩乏力"]
    assert first[4:7] == [dict(task.about)["model"], "", ""]
    assert first[7:16] == ["factual", "1", "", "A1", "annotator", "2026-11-02T09:30:00+00:00", "41.5", "app", "1"]
    paragraph = next(line for line in lines_of(material) if line[5] == "2")
    assert paragraph[6] == NASTY[1]
    assert not any(rater.person in cell for line in lines_of(material) for cell in line for rater in PEOPLE)


def test_the_whole_history_is_there_and_the_last_vote_counts():
    material = material_of()
    first = material.votes[0]
    votes = [replace(first, value=0), *material.votes, replace(first, value=None), replace(first, value=0)]
    material = replace(material, votes=votes)
    assert len(lines_of(material)) == len(votes) + 1
    brought = read(read_vote_table, "v.csv", written(write_vote_csv, material).files["votes.csv"], material)
    assert brought.omitted == {"votes that were replaced or withdrawn": 3}
    assert as_set(brought.votes) == as_set([*material_of().votes[1:], replace(first, value=0)])
    undone = replace(material, votes=votes[:-1])
    brought = read(read_vote_table, "v.csv", written(write_vote_csv, undone).files["votes.csv"], undone)
    assert as_set(brought.votes) == as_set(material_of().votes[1:])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_as_spreadsheet_programs_save_it(encoding, delimiter):
    material = material_of()
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows(lines_of(material))
    brought = read(read_vote_table, "v.csv", stream.getvalue().encode(encoding), material)
    assert as_set(brought.votes) == as_set(material.votes)


# --- what is refused


def edited(column, cell, row=1, material=None):
    material = material or material_of()
    lines = lines_of(material)
    lines[row][lines[0].index(column)] = cell
    return read(read_vote_table, "v.csv", csv_of(lines), material)


@pytest.mark.parametrize(
    ("column", "cell", "what"),
    [
        ("value", "2", "v.csv:2: factual is '2'; allowed are 0, 1"),
        ("value", "yes", "v.csv:2: factual is 'yes'; allowed are 0, 1"),
        ("code", "A9", "v.csv:2: nobody in this project has the code 'A9'"),
        ("role", "lead", "v.csv:2: A1 is annotator here, not lead"),
        ("text_answer", "else", "v.csv:2: text_answer does not match the text of c"),
    ],
)
def test_problems_are_reported_with_their_row(column, cell, what):
    (problem,) = edited(column, cell).problems
    assert problem.startswith(what)


def test_another_paragraph_than_the_key():
    lines = lines_of(material_of())
    row = next(number for number, line in enumerate(lines) if line[5] == "1")
    (problem,) = edited("paragraph_text", "else", row).problems
    assert "paragraph_text does not match the text of p" in problem


def test_one_person_who_says_two_things():
    lines = lines_of(material_of())
    again = [*lines, lines[1]]
    assert read(read_vote_table, "v.csv", csv_of(again), material_of()).problems == []
    other = list(lines[1])
    other[lines[0].index("value")] = "0"
    (problem,) = read(read_vote_table, "v.csv", csv_of([*lines, other]), material_of()).problems
    assert problem == "v.csv:37: 林医生 says 0 to factual, but 1 at v.csv:2; keep one"


def test_stale_rows_are_counted():
    assert edited("wording", "w000000000000").stale == 1
    assert edited("key", "c" + "0" * 20).stale == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [("v.csv", b"a,b\r\n1,2\r\n"), ("v.csv", b"\xff\x81\x00"), ("v.xlsx", b"PK"), ("v.csv", b"task,task,value\r\n"),
     ("v.xlsx", table_workbook_bytes("t", [["a"]])), ("v.xlsx", table_workbook_bytes("t", [])), ("v.csv", b"")],
)  # fmt: skip
def test_files_that_are_no_table(name, content):
    brought = read(read_vote_table, name, content, material_of())
    assert len(brought.problems) == 1
    assert not brought.votes


@settings(SLOW, max_examples=25)
@given(st.lists(st.lists(st.text(max_size=5), max_size=17), max_size=4))
def test_arbitrary_content_breaks_nothing(junk):
    lines = [lines_of(material_of())[0], *junk]
    read(read_vote_table, "v.csv", csv_of(lines), material_of())


def test_small_numbers_as_spreadsheet_programs_write_them():
    lines = lines_of(material_of())
    row = next(number for number, line in enumerate(lines) if line[7] == "correct")
    for cell, value in (("1e-06", 0.000001), ("5E-02", 0.05), ("2.5E-1", 0.25), ("０，５", 0.5)):
        brought = edited("value", cell, row)
        assert value in [vote.value for vote in brought.votes]
    assert "allowed are numbers from 0 to 1" in edited("value", "1e5", row).problems[0]


# --- small parts


@given(st.floats(0, 1).map(lambda value: round(value, 6)))
def test_numbers_have_no_exponent(value):
    assert "e" not in value_text(value)
    assert float(value_text(value)) == value
    question = material_of().project.spec.questions_about()["correct"]
    assert parse_value(question, value_text(value)) == value


@pytest.mark.parametrize(
    ("text", "cell"), [("a\x00b", "a_x0000_b"), ("_x000D_", "_x005F_x000D_"), ("x\r\n", "x_x000D_\n"), ("-1", "'-1")]
)
def test_what_no_cell_can_hold_is_written_as_excel_does(text, cell):
    assert xlsx_cell_text(text) == cell


def test_a_table_holds_long_fields():
    text = "长" * 200_000
    assert csv_rows(csv_of([["wording"], [text]]), lambda header: True) == [["wording"], [text]]
    stream = io.BytesIO()
    write_table_workbook(stream, "t", [["n"], [0.5]])
    assert read_workbook(stream.getvalue()) == {"t": [["n"], ["0.5"]]}


@pytest.mark.parametrize(("text", "seconds"), [("1.5", 1.5), ("", None), ("-1", None), ("nan", None), ("inf", None)])
def test_seconds(text, seconds):
    assert parse_seconds(text) == seconds


# --- losses


def test_losses():
    material = material_of()
    first = material.votes[0]
    more = replace(
        material,
        votes=[*material.votes, replace(first, subject=replace(first.subject, key="c0"))],
        tasks=[*material.tasks, task_of("nobody", "yet")],
        skips=[SkipRecord(PEOPLE[0], material.tasks[0].key, START)],
        adjudication_notes=[AdjudicationNote(PEOPLE[2], material.tasks[0].key, START)],
    )
    for write in (write_vote_csv, write_vote_xlsx):
        found = {loss.description: loss.count for loss in written(write, more).losses}
        assert found["names of people: codes replace them"] is None
        assert found["votes on texts that are no longer shown: the text is missing"] == 1
        assert found["tasks without a vote"] == 1
        assert found["tasks that were skipped"] == 1
        assert found["adjudicators' details of their decisions besides the remark"] == 1


def test_texts_too_long_for_a_cell_are_reported_and_make_no_vote():
    material = advice("长" * 40_000)
    export = written(write_vote_xlsx, material)
    assert "texts that are too long for a cell: they are only in the CSV export: 1" in map(str, export.losses)
    assert not read(read_vote_table, "v.xlsx", export.files["votes.xlsx"], material).votes
    assert (
        len(read(read_vote_table, "v.csv", written(write_vote_csv, material).files["votes.csv"], material).votes) == 1
    )
    shown = replace(advice("短"), tasks=[task_of("问" * 40_000, "答")])
    (subject,) = judgement_requests(shown.tasks, shown.project.spec)
    shown = replace(shown, votes=[replace(shown.votes[0], subject=subject)])
    brought = read(read_vote_table, "v.xlsx", written(write_vote_xlsx, shown).files["votes.xlsx"], shown)
    assert brought.problems == []
    assert [vote.value for vote in brought.votes] == ["短"]


def test_people_come_from_the_project_not_the_file():
    other = material_of(people=[replace(PEOPLE[0], person="someone else"), *PEOPLE[1:], Rater("x", "L1", "lead")])
    brought = read(
        read_vote_table, "v.csv", written(write_vote_csv, material_of()).files["votes.csv"], replace(other, votes=[])
    )
    assert {vote.person for vote in brought.votes} == {"someone else", "د. سارة", "Meta, M."}


# --- many votes


@pytest.mark.full
def test_an_export_holds_a_part_of_what_it_writes(tmp_path):
    spec = spec_of({"advice": QUESTIONS["advice"]})
    tasks = Spool(task_of(f"{number} {'x' * 2000}", "-") for number in range(6000))
    given = Spool(
        VoteRecord(rater.person, rater.code, rater.role, subject, "advice", "y", "", START)
        for task in tasks
        for subject in judgement_requests([task], spec)
        for rater in PEOPLE[:1]
    )
    material = material_of(spec=spec, tasks=tasks, votes=given)
    tracemalloc.start()
    try:
        write_vote_csv(material, None, tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (tmp_path / "votes.csv").stat().st_size / 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_are_read_in_pieces(monkeypatch, encoding, delimiter):
    lines = [["wording", "text"], ["", "产后\r\n出血"], ["a" * 9, '"', ""], ["𠮷", "末"]]
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows(lines)
    data = stream.getvalue().encode(encoding)
    monkeypatch.setattr(tables, "_PIECE_BYTES", 1)
    assert csv_rows(data, lambda header: "wording" in header) == lines
    assert csv_rows(data[:40] + b"\xff\xff" + data[40:], lambda header: True) is None or encoding == "utf-16"
