"""Paths into records, worksheets, JSON in cells, and rules that clean columns."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from absent_libraries import remove_library
from openpyxl import Workbook

from benchbuilder.core.errors import DataError, InstallationError
from benchbuilder.sources.formats.field_paths import read_field

RECORD = {
    "id": 7, "a.b": "exact", "m": {"x": "1", "y": "2"}, "answers": [{"text": "one", "n": [1, 2]}, {"text": "two"}],
    "deep": {"list": ["p", "q"]}, "empty": "", "Max. dose": "3",
}  # fmt: skip


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("answers[].text", ["one", "two"]), ("answers[0].text", "one"), ("answers[9].text", None), ("a.b", "exact"),
        ("deep.list[]", ["p", "q"]), ("deep.list[1]", "q"), ("answers[].n[]", [1, 2]), ("m{}", ["1", "2"]),
        ("empty | nothing | id", 7), ("empty | nothing", None), ("answers.text", None), ("Max. dose", "3"),
        ("answers[", None), ("[].x", None),
    ],
)  # fmt: skip
def test_paths(column: str, value: object) -> None:
    assert read_field({"": RECORD}, column) == value


def test_a_mapping_of_records_and_its_keys(write, read_source):
    data = {"entries": {"k1": {"t": "Text one."}, "k2": {"t": "Text two.", "key": "own"}}}
    path = write("m.json", json.dumps(data))
    columns = {"text": "t", "document": "entries{}.key", "title": "key"}
    rows = read_source("corpus", path=path, records="entries{}", columns=columns).rows
    assert [(r.text, r.document, r.title, r.origin.line) for r in rows] == [
        ("Text one.", "k1", "", 1), ("Text two.", "k2", "own", 2),
    ]  # fmt: skip


def test_a_record_may_be_a_text(write, read_source):
    data = {"k1": {"parts": ["Part one.", "Part two."]}, "k2": {"parts": ["More.", 7]}}
    path = write("m.json", json.dumps(data))
    columns = {"text": "{}.parts[]", "document": "{}.key"}
    read = read_source("corpus", path=path, records="{}.parts[]", columns=columns)
    assert [(r.text, r.document) for r in read.rows] == [("Part one.", "k1"), ("Part two.", "k1"), ("More.", "k2")]
    assert [drop[:3] for drop in read.drops] == [("m.json", 4, "malformed")]


def test_records_inside_lines_and_columns_are_numbered_one_by_one(write, read_source):
    pages = [
        {"title": "T", "parts": [{"t": "Part one."}, {"t": "Part two."}]},
        {"title": "U", "parts": [{"t": "More."}]},
    ]
    expected = [("Part one.", "T", 1), ("Part two.", "T", 2), ("More.", "U", 3)]
    kept = {"records": "parts[]", "columns": {"text": "t", "title": "title"}}
    cells = [(page["title"], json.dumps(page["parts"])) for page in pages]
    stream = io.StringIO()
    csv.writer(stream).writerows([("title", "parts"), *cells])
    write("pages.csv", stream.getvalue())
    write("pages.jsonl", "".join(f"{json.dumps(page)}\n" for page in pages))
    pq.write_table(pa.Table.from_pylist(pages), "pages.parquet")
    for name, more in (("pages.jsonl", {}), ("pages.parquet", {}), ("pages.csv", {"cells": "json"})):
        rows = read_source("corpus", path=name, **kept, **more).rows
        assert [(r.text, r.title, r.origin.line) for r in rows] == expected, name


def workbook(**sheets: list[list[object]]) -> bytes:
    book = Workbook()
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    del book["Sheet"]
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_a_worksheet(write, read_source):
    rows = [["head", "relation", "tail"], ["Zinc", "found in", "oysters"], [], ["Iron", "dose", 12.0], ["Iron", "x"]]
    path = write("facts.xlsx", workbook(notes=[["nothing"]], facts=rows))
    columns = {"head": "head", "relation": "relation", "tail": "tail"}
    result = read_source("triples", path=path, sheet="facts", columns=columns)
    assert [(r.payload.head, r.payload.tail, r.origin.line) for r in result.rows] == [
        ("Zinc", "oysters", 2), ("Iron", "12", 4),
    ]  # fmt: skip
    assert result.dropped() == [(5, "missing_field")]
    with pytest.raises(DataError, match="wrong shape") as caught:
        read_source("triples", path=path, sheet="fact", columns=columns)
    assert "found the worksheets notes, facts" in str(caught.value.why)
    with pytest.raises(DataError, match="wrong shape"):
        read_source("triples", path=write("no.xlsx", "head,tail"), columns=columns)


def test_a_worksheet_without_the_library_names_the_file_and_the_extra(write, read_source, monkeypatch):
    path = write("facts.xlsx", workbook(facts=[["head", "tail"], ["Zinc", "oysters"]]))
    remove_library(monkeypatch, "openpyxl")
    with pytest.raises(InstallationError, match=r"benchbuilder\[xlsx\]") as caught:
        read_source("triples", path=path, columns={"head": "head", "tail": "tail", "relation": "head"})
    assert caught.value.where == "facts.xlsx"


def test_rows_of_a_worksheet_are_as_wide_as_its_first_row_whatever_it_states(write, read_source):
    wide = [f"c{n}" for n in range(150)]
    data = workbook(one=[wide, ["a"], [*wide[:-1], "b", "beyond"]])
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            new.writestr(name, re.sub(rb"<dimension ref=.[^>]*>", b'<dimension ref="A1:A1"/>', old.read(name)))
    columns = {"text": "c0", "title": "c149"}
    rows = read_source("corpus", path=write("wide.xlsx", stream.getvalue()), columns=columns).rows
    assert [(row.text, row.title) for row in rows] == [("a", ""), ("c0", "b")]


def test_a_path_that_leads_nowhere_names_the_fields_there(write, read_source):
    path = write(
        "qa.jsonl", "".join(json.dumps({"q": f"w{n}", "a": [{"text": "t", "at": 3}]}) + "\n" for n in range(5))
    )
    with pytest.raises(
        DataError, match=r"sources\.s\.columns: a\[\]\.txt finds nothing in the first 5 records"
    ) as caught:
        read_source("corpus", "s", path=path, columns={"text": "q", "title": "a[].txt"})
    assert caught.value.why == "the fields there are text, at"
    none = write("none.jsonl", "".join(json.dumps({"q": f"w{n}", "a": []}) + "\n" for n in range(5)))
    assert len(read_source("corpus", path=none, columns={"text": "q", "title": "a[0].text"}).rows) == 5


def test_a_list_where_the_file_has_a_mapping(write, read_source):
    path = write("qa.json", json.dumps({"data": {"x": {"t": "a"}}}))
    with pytest.raises(DataError, match="wrong shape") as caught:
        read_source("corpus", path=path, records="data[]", columns={"text": "t"})
    assert caught.value.why == (
        "expected a list of records at data[]; found a mapping with the keys x where data[] must be a list"
        " - write data{} for a mapping of records"
    )


def test_columns_are_cleaned_before_anything_else(write, read_source, make_source):
    questions = [
        {"q": "<b>Which</b> is red?", "o": ["Mars..", "Venus."], "k": "A"},
        {"q": "Which is <i>hot</i>?", "o": ["Mars", "Venus"], "k": "B"},
    ]
    write("q.jsonl", "".join(json.dumps(question) + "\n" for question in questions))
    columns = {"question": "q", "options": "o", "answer_key": "k"}
    tags, stops = {"find": "<[^>]+>"}, {"find": r"\.+$"}
    spec = {"path": "q.jsonl", "columns": columns}
    rows = read_source("multiple_choice", clean={"question": [tags], "options": [stops]}, **spec).rows
    assert [row.payload.question for row in rows] == ["Which is red?", "Which is hot?"]
    assert [option.text for row in rows for option in row.payload.options] == ["Mars", "Venus"] * 2
    source = make_source("multiple_choice", "s", clean={"question": [tags], "options": [stops]}, **spec)
    source.check()
    for _ in range(2):
        assert list(source.read_batches())
        assert dict(source.tallies()) == {"sources.s.clean.question[0]": 2, "sources.s.clean.options[0]": 1}


@pytest.mark.parametrize(
    ("clean", "message"),
    [
        ({"question": [{"find": "#"}]}, r"sources\.s\.clean\.question\[0\]: this pattern changed no record"),
        ({"answer": [{"find": "a"}]}, r"sources\.s\.clean\.answer: this source has no such column"),
    ],
)
def test_rules_that_do_nothing(clean, message, write, make_source):
    write("q.csv", "q,a,b,k\n" + "".join(f"Which is {n}?,one,two,A\n" for n in range(4)))
    columns = {"question": "q", "options": ["a", "b"], "answer_key": "k"}
    with pytest.raises(DataError, match=message):
        list(make_source("multiple_choice", "s", path="q.csv", columns=columns, clean=clean).read_batches())
