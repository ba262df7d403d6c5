"""Options and keys in the layouts of other people's files: labels, flags, lists of Python, marks with gaps."""

from __future__ import annotations

import json

import pytest

from benchbuilder.core import DataError

COLUMNS = {"question": "question", "options": "choices", "answer_key": "key"}
ARC = [
    ({"text": ["oxygen", "carbon dioxide"], "label": ["1", "2"]}, "2", "carbon dioxide"),
    ({"text": ["the sun", "clouds", "the spin of the earth"], "label": ["D", "C", "A"]}, "A", "the spin of the earth"),
    ({"text": ["honey", "milk"], "label": ["B", "C"]}, "B", "honey"),
]


def jsonl(*records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def answers(result):
    return [row.payload.answer for row in result.rows]


@pytest.mark.parametrize(
    "form", [dict, lambda pair: [dict(zip(pair, row, strict=True)) for row in zip(*pair.values(), strict=True)]]
)
def test_a_key_is_looked_up_among_the_labels_of_the_options(form, write, read_source):
    path = write(
        "q.jsonl", jsonl(*({"question": f"q{n}?", "choices": form(c), "key": k} for n, (c, k, _) in enumerate(ARC)))
    )
    assert answers(read_source("multiple_choice", path=path, columns=COLUMNS)) == [right for *_, right in ARC]


def test_labels_may_stand_in_a_column(write, read_source):
    records = ({"question": f"q{n}?", "choices": c, "key": k} for n, (c, k, _) in enumerate(ARC))
    columns = {**COLUMNS, "options": "choices.text", "labels": "choices.label"}
    result = read_source("multiple_choice", path=write("q.jsonl", jsonl(*records)), columns=columns)
    assert answers(result) == [right for *_, right in ARC]


@pytest.mark.parametrize("options", ["choices.text", "choices[].text"])
def test_labels_that_nobody_reads_are_an_error_whose_proposal_works(options, write, make_source, read_source):
    choices, key, right = ARC[1]
    if "[]" in options:
        choices = [{"text": text, "label": label} for text, label in zip(*choices.values(), strict=True)]
    path = write("q.jsonl", jsonl({"question": "q?", "choices": choices, "key": key}))
    columns = {**COLUMNS, "options": options}
    with pytest.raises(DataError, match="keys of their own") as raised:
        make_source("multiple_choice", path=path, columns=columns).check()
    setting, _, value = raised.value.next.removeprefix("set ").partition(": ")
    assert setting == "sources.source.columns.labels"
    assert answers(read_source("multiple_choice", path=path, columns={**columns, "labels": value})) == [right]


@pytest.mark.parametrize(
    ("choices", "labels", "detail"),
    [
        (["a", "b"], ["1"], "2 options, but their labels are"),
        (["a", "b"], ["1", "1"], "two options have one key"),
        (["a", "b"], "A, B", "2 options, but their labels are"),
    ],
)
def test_labels_that_do_not_fit_drop_the_row(choices, labels, detail, write, read_source):
    path = write("q.jsonl", jsonl({"question": "q?", "choices": choices, "labels": labels, "key": "1"}))
    result = read_source("multiple_choice", path=path, columns={**COLUMNS, "labels": "labels"})
    assert result.dropped() == [(1, "malformed")]
    assert detail in result.detail(1)


def test_a_list_of_python_in_a_cell(write, read_source):
    table = "question\tchoices\tkey\nq?\t['don\\'t', \"it's\", 'c']\tB\nr?\t['a', open('x')]\tA\ns?\t[1, 2]\tA\n"
    result = read_source("multiple_choice", path=write("q.tsv", table), columns=COLUMNS)
    assert answers(result) == ["it's", "1"]
    assert result.dropped() == [(3, "malformed")]


def test_a_key_that_reads_like_one_option_is_that_option(write, read_source):
    keys = ["Rye", " RYE", "rye.", "Ｒｙｅ。", "oats", "barley", "ry"]
    records = [
        {"question": f"q{n}?", "choices": ["Rye", "Oats", "OATS", "Oats."], "key": key} for n, key in enumerate(keys)
    ]
    result = read_source("multiple_choice", path=write("q.jsonl", jsonl(*records)), columns=COLUMNS, key_as="text")
    assert answers(result) == ["Rye"] * 4
    assert result.dropped() == [(5, "multiple_answers"), (6, "key_not_in_options"), (7, "key_not_in_options")]


def test_flags_name_the_right_option(write, read_source):
    records = [
        {"question": "q?", "choices": ["a", "b"], "key": [0, 1]},
        {"question": "r?", "choices": ["a", "b"], "key": [1, 1]},
        {"question": "s?", "choices": ["a", "b"], "key": [0, 0]},
        {"question": "t?", "choices": ["a", "b"], "key": [1]},
        {"question": "u?", "choices": ["a", ""], "key": [0, 1]},
    ]
    result = read_source("multiple_choice", path=write("q.jsonl", jsonl(*records)), columns=COLUMNS, key_as="flags")
    assert answers(result) == ["b"]
    assert result.dropped() == [
        (2, "multiple_answers"), (3, "no_answer_key"), (4, "key_not_in_options"), (5, "missing_field")
    ]  # fmt: skip


def test_each_option_with_its_flag(write, read_source):
    record = {"question": "q?", "targets": {"Watermelon seeds pass through.": 1, "You grow vines.": 0}}
    columns = {"question": "question", "options": "targets", "answer_key": "targets"}
    path = write("q.jsonl", jsonl(record))
    assert answers(read_source("multiple_choice", path=path, columns=columns, key_as="flags")) == [
        "Watermelon seeds pass through."
    ]
    (row,) = read_source("several_choice", path=path, columns=columns, key_as="flags").rows
    assert row.payload.answer_keys == ("A",)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("A. liver B. heart C. lung", "heart"),
        ("(1) liver (2) heart", "heart"),
        ("A. liver B. vitamin A. C. lung", None),
        ("A. liver C. lung B. heart", None),
    ],
)
def test_marks_run_on_without_a_gap_or_the_row_is_dropped(text, right, write, read_source):
    key = "2" if "(1)" in text else "B"
    path = write("q.jsonl", jsonl({"question": "q?", "choices": text, "key": key}))
    result = read_source("multiple_choice", path=path, columns=COLUMNS, option_mark=r"\(\d\)|\b[A-D]\.")
    assert answers(result) == ([right] if right else [])
    assert right or (result.dropped() == [(1, "malformed")] and "a gap" in result.detail(1))


STRAY = """question,A,B,C,key
Capital of France?,Lyon,Paris,Nice,B
What do bees make?,"Honey,Milk,Oil,A
What do cows drink?,Milk,Water,Oil,B
What falls from clouds?,Rain",Sand,Ash,A
What has two lines?,"one
two",b,c,A
"""


def test_a_stray_quotation_mark_swallows_no_row(write, read_source):
    columns = {**COLUMNS, "options": ["A", "B", "C"]}
    result = read_source("multiple_choice", path=write("q.csv", STRAY), columns=columns)
    assert [(row.origin.line, row.payload.answer) for row in result.rows] == [
        (2, "Paris"),
        (4, "Water"),
        (6, "one\ntwo"),
    ]
    assert result.dropped() == [(3, "malformed"), (5, "malformed")]
    assert "lines 3 to 5" in result.detail(3)


def test_a_quotation_mark_that_nothing_closes_costs_one_line(write, read_source):
    rows = [f"q{n}?,a,b,A" for n in range(50)]
    rows[7] = 'q7?,"a,b,A'
    path = write("q.csv", "question,A,B,key\n" + "\n".join(rows) + "\n")
    result = read_source("multiple_choice", path=path, columns={**COLUMNS, "options": ["A", "B"]})
    assert len(result.rows) == 49
    assert result.dropped() == [(9, "malformed")]


def test_cells_of_a_worksheet_are_what_a_spreadsheet_shows(write, read_source, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    from datetime import date, time

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["text", "note"])
    shown = [(0.4, "0%"), (0.125, "0.0%"), (1234.5, "#,##0.00"), (0.1 + 0.2, "General"), (True, "General")]
    unclear = [(date(2026, 5, 3), "yyyy-mm-dd"), (time(3, 5), "hh:mm"), ("#N/A", "General"), (5, '"€" 0')]
    cells = [*shown, *unclear, (7.0, "General")]
    for value, form in cells:
        sheet.append([value, date(2026, 1, 1)])
        sheet.cell(sheet.max_row, 1).number_format = form
    book.save(tmp_path / "t.xlsx")
    result = read_source("corpus", path="t.xlsx", columns={"text": "text"})
    assert [row.text for row in result.rows] == ["40%", "12.5%", "1,234.50", "0.3", "TRUE", "7"]
    assert [line for line, reason in result.dropped() if reason == "malformed"] == [7, 8, 9, 10]
    for line, told in ((7, "a date or a time"), (9, "#N/A"), (10, "€")):
        assert told in result.detail(line)
