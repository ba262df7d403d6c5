"""Cells that hold lists, texts in other encodings, and what the errors about them propose."""

from __future__ import annotations

import json

import pytest

from benchbuilder.core import DataError
from benchbuilder.sources.formats.rdf_files import local_name

ANSWERS = {"question": "q", "answers": "a", "wrong": "w"}
LISTS = "q,a,w\n" + "".join(f"q{n}?,right {n}; also {n},wrong {n}; worse {n}\n" for n in range(4))


def test_cells_that_look_like_lists_are_a_question_and_both_answers_work(write, make_source, read_source):
    path = write("q.csv", LISTS)
    proposed = {}
    for name in ("answers", "wrong"):
        with pytest.raises(DataError, match="found lists with ';'") as raised:
            make_source("question_answer", path=path, columns=ANSWERS, separators=proposed).check()
        key, _, value = raised.value.next.partition(", or ")[0].removeprefix("set ").partition(": ")
        assert key == f"sources.source.separators.{name}"
        proposed[name] = value.strip("'")
    rows = read_source("question_answer", path=path, columns=ANSWERS, separators=proposed).rows
    assert rows[0].payload.answers == ("right 0", "also 0")
    assert rows[3].payload.wrong == ("wrong 3", "worse 3")
    rows = read_source("question_answer", path=path, columns=ANSWERS, separators=dict.fromkeys(proposed, "")).rows
    assert rows[0].payload.answers == ("right 0; also 0",)


def test_texts_with_a_semicolon_here_and_there_are_no_lists(write, read_source):
    rows = [
        ("q0?", "one; two"),
        ("q1?", "three"),
        ("q2?", "four"),
        ("q3?", "a long answer " * 9 + "; two"),
        ("q4?", "b; c"),
    ]
    path = write("q.jsonl", "".join(json.dumps({"q": q, "a": a}) + "\n" for q, a in rows))
    assert len(read_source("question_answer", path=path, columns={"question": "q", "answers": "a"}).rows) == 5


def test_options_of_a_choice_may_be_a_list_in_a_cell(write, read_source):
    path = write("q.csv", "q,o,k\nq?,one | two|three,2\n")
    columns = {"question": "q", "options": "o", "answer_key": "k"}
    (row,) = read_source(
        "multiple_choice", path=path, columns=columns, key_as="index_from_1", separators={"options": "|"}
    ).rows
    assert (row.payload.answer, len(row.payload.options)) == ("two", 3)


def test_a_separator_of_a_column_that_is_not_there_is_an_error(write, make_source):
    path = write("q.csv", LISTS)
    with pytest.raises(DataError, match=r"separators\.gold_texts: this source has no such column"):
        list(make_source("question_answer", path=path, columns=ANSWERS, separators={"gold_texts": ";"}).read())


def test_cells_in_quotation_marks_are_a_question_and_both_answers_work(write, make_source, read_source):
    path = write("q.tsv", 'q\ta\n"What, ""so""?"\t"one\ttwo"\nWhat\tthree\n"Who?"\t"four"\n')
    columns = {"question": "q", "answers": "a"}
    with pytest.raises(DataError, match="cells without quotation marks") as raised:
        make_source("question_answer", path=path, columns=columns).check()
    assert raised.value.next.startswith("set sources.source.quoting: true, ")
    rows = read_source("question_answer", path=path, columns=columns, quoting=True).rows
    assert [row.payload.question for row in rows] == ['What, "so"?', "What", "Who?"]
    rows = read_source("question_answer", path=path, columns=columns, quoting=False).rows
    assert [row.payload.question for row in rows] == ["What", '"Who?"']


TEXTS = [
    ("cp1252", "Welches Gemüse enthält am meisten Vitamin C?", "Grünkohl, „natürlich“"),
    ("cp1252", "Qual é a maior glândula do corpo?", "o fígado, com informações"),
    ("cp1250", "Která žláza je největší v těle člověka?", "játra, příliš"),
    ("cp1251", "Какой орган самый тяжелый?", "Печень"),
    ("gb18030", "缺铁性贫血的首选药物是什么？", "硫酸亚铁"),
    ("big5", "缺鐵性貧血的首選藥物是什麼？", "硫酸亞鐵"),
]  # fmt: skip


@pytest.mark.parametrize(("encoding", "question", "answer"), TEXTS, ids=[f"{e}-{q[:4]}" for e, q, _ in TEXTS])
@pytest.mark.parametrize("place", ["header", "rows", "document"])
def test_the_encoding_that_an_error_proposes_reads_the_file(
    place, encoding, question, answer, write, make_source, read_source
):
    columns = {"question": "q", "answers": question if place == "header" else "a"}
    if place == "document":
        path = write("q.json", json.dumps([{"q": question, "a": answer}], ensure_ascii=False).encode(encoding))
    else:
        head = f"q;{columns['answers']}\n"
        path = write("q.csv", (head + f"{question};{answer}\n" * 3).encode(encoding))
    table = {} if place == "document" else {"delimiter": ";"}
    with pytest.raises(DataError) as raised:
        make_source("question_answer", path=path, columns=columns, **table).check()
    proposed = raised.value.next.partition("encoding to ")[2].partition(", whichever")[0].split(" or ")
    assert encoding in proposed
    result = read_source("question_answer", path=path, columns=columns, encoding=encoding, **table)
    assert result.rows[0].payload.question == question


def test_a_file_in_utf_16_is_to_be_converted(write, make_source):
    path = write("q.csv", "q,a\nwarum?,so\n".encode("utf-16"))
    with pytest.raises(DataError, match="convert the file to utf-8"):
        make_source("question_answer", path=path, columns={"question": "q", "answers": "a"}).check()


@pytest.mark.parametrize(
    ("iri", "name"),
    [
        ("http://e.org/Caf%C3%A9_au_lait_spot", "Caf\u00e9 au lait spot"),
        ("http://e.org/A%2FB", "A/B"),
        ("http://e.org/%FF", "%FF"),
    ],
)
def test_names_from_iris_have_their_percent_escapes_decoded(iri, name):
    assert local_name(iri) == name
