from __future__ import annotations

import json

import pytest

SPEC = {
    "columns": {"question": "question", "options": "options", "answer_key": "label"},
    "option_mark": r"[(（]\s*[A-D]\s*[)）]",
    "options_count": 4,
}


def line(label, question="下列权利中，属于用益物权的有:", options=("居住权", "地役权", "抵押权", "留置权")):
    marked = [f"({key}){text}" for key, text in zip("ABCD", options, strict=False)]
    return json.dumps({"question": question, "options": marked, "label": label}, ensure_ascii=False) + "\n"


@pytest.fixture
def keys(write, read_source):
    def read(label, **spec):
        result = read_source("several_choice", path=write("q.jsonl", line(label)), **{**SPEC, **spec})
        return result.rows[0].payload.answer_keys if result.rows else result.drops[0][2:]

    return read


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (["A"], ("A",)),
        (["B", "A"], ("A", "B")),  # in the order of the options
        (["A", "A"], ("A",)),
        ("AB", ("A", "B")),
        ("a、b", ("A", "B")),
        ("C", ("C",)),
    ],
)
def test_every_right_option_is_read(keys, label, expected):
    assert keys(label) == expected


def test_numbers_and_texts(keys):
    assert keys("0, 2", key_as="index") == ("A", "C")
    assert keys([1, 4], key_as="index_from_1") == ("A", "D")
    assert keys(["地役权", "居住权"], key_as="text") == ("A", "B")


@pytest.mark.parametrize(
    ("label", "reason"), [([], "no_answer_key"), ("", "no_answer_key"), (["A", "E"], "key_not_in_options")]
)
def test_what_names_no_option_is_dropped(keys, label, reason):
    assert keys(label)[0] == reason


def test_marks_of_options_are_cut_off(write, read_source):
    (row,) = read_source("several_choice", path=write("q.jsonl", line(["A"])), **SPEC).rows
    assert [(option.key, option.text) for option in row.payload.options][:2] == [("A", "居住权"), ("B", "地役权")]
    assert row.payload.flat()["answers"] == "A"
