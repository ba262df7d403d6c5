from __future__ import annotations

import json

import pytest

from benchbuilder.core.errors import DataError


def test_lines_of_a_folder_of_texts(write, read_source):
    write(
        "books/产科学.txt",
        b"\xef\xbb\xbf" + "胎盘在产后娩出。\r\n\r\n  \r\n胎盘在产后娩出。\r\n脐带有三条血管。".encode(),
    )
    write("books/儿科学.txt", "胎盘在产后娩出。\n")
    result = read_source("corpus", "textbook", path="books")
    assert [(r.base, r.document, r.title, r.text, r.origin.line) for r in result.rows] == [
        ("textbook", "产科学", "产科学", "胎盘在产后娩出。", 1),
        ("textbook", "产科学", "产科学", "脐带有三条血管。", 5),
        ("textbook", "儿科学", "儿科学", "胎盘在产后娩出。", 1),
    ]
    assert result.drops == [("books/产科学.txt", 4, "duplicate", "kept: books/产科学.txt:1")]


def test_blocks_between_blank_lines(write, read_source):
    path = write("book.txt", "\n第一段\n续行\n\n \n第二段\n")
    result = read_source("corpus", path=path, unit="block")
    assert [(r.origin.line, r.text) for r in result.rows] == [(2, "第一段\n续行"), (6, "第二段")]


def test_whole_files(write, read_source):
    path = write("page.txt", "\n第一段\n\n第二段\n")
    (row,) = read_source("corpus", path=path, unit="file").rows
    assert (row.origin.line, row.text) == (1, "第一段\n\n第二段")


@pytest.mark.parametrize(("unit", "line"), [("line", 2), ("block", 1), ("file", 1)])
def test_undecodable_bytes(unit, line, write, read_source):
    path = write("book.txt", b"good\nbad \xe4\xb8\n")
    result = read_source("corpus", path=path, unit=unit)
    assert result.dropped() == [(line, "undecodable")]


def test_jsonl_with_fields(write, read_source):
    records = [
        {"id": "d1", "name": "胎盘", "body": "胎盘是母体与胎儿交换物质的器官。"},
        {"id": "d1", "name": "胎盘", "body": ""},
        {"id": "d1", "name": "胎盘", "body": "胎盘是母体与胎儿交换物质的器官。"},
        {"id": "d2", "name": "胎盘", "body": "胎盘是母体与胎儿交换物质的器官。"},
        {"id": 3, "name": {}, "body": "x"},
    ]
    path = write("wiki.jsonl", "\n".join(json.dumps(r) for r in records))
    result = read_source("corpus", path=path, columns={"text": "body", "title": "name", "document": "id"})
    assert [(r.document, r.title, r.origin.line) for r in result.rows] == [("d1", "胎盘", 1), ("d2", "胎盘", 4)]
    assert result.dropped() == [(2, "missing_field"), (3, "duplicate"), (5, "malformed")]


def test_records_without_document_are_their_own(write, read_source):
    path = write("wiki.jsonl", '{"text": "甲"}\n{"text": "乙"}\n{"text": "甲"}\n')
    result = read_source("corpus", path=path)
    assert [r.document for r in result.rows] == ["wiki.jsonl:1", "wiki.jsonl:2"]
    assert result.dropped() == [(3, "duplicate")]


def test_nested_lists_with_fields_of_the_elements_around(write, read_source):
    page = {"title": "梵文", "id": "1147", "paragraphs": [{"context": "一", "id": "1147-1"}, {"context": "二"}]}
    path = write("drcd.json", json.dumps({"data": [page, {"title": "无段落"}, {**page, "paragraphs": ["文字"]}]}))
    columns = {"text": "context", "title": "title", "document": "data[].id"}
    result = read_source("corpus", path=path, records="data[].paragraphs[]", columns=columns)
    assert [(r.text, r.title, r.document, r.origin.line) for r in result.rows] == [
        ("一", "梵文", "1147", 1), ("二", "梵文", "1147", 2),
    ]  # fmt: skip
    assert result.dropped() == [(3, "malformed"), (4, "malformed")]
    inner = read_source("corpus", path=path, records="data[].paragraphs[]", columns={**columns, "document": "id"})
    assert [r.document for r in inner.rows] == ["1147-1", "1147"]


def test_a_document_in_another_encoding(write, make_source):
    path = write("x.json", json.dumps([{"text": "胎盘"}], ensure_ascii=False).encode("gb18030"))
    with pytest.raises(DataError) as raised:
        make_source("corpus", path=path).check()
    assert "gb18030" in raised.value.next
    assert len(list(make_source("corpus", path=path, encoding="gb18030").read())) == 2


def test_globs_and_names_as_the_recipe_writes_them(write, read_source):
    for name in ("data/a.txt", "data/b.txt", "data/c.md"):
        write(name, f"{name}\n")
    assert list(read_source("corpus", path="data/*.txt").ends) == ["data/a.txt", "data/b.txt"]


def test_no_match_and_empty_folder(write, make_source, tmp_path):
    (tmp_path / "empty").mkdir()
    write("x.txt", "x")
    for path, why in (("data/*.txt", "no file matches"), ("empty", "found an empty folder")):
        with pytest.raises(DataError, match=r"sources\.source\.path") as raised:
            make_source("corpus", path=path).files()
        assert why in str(raised.value)


def test_an_empty_file_has_no_units(write, read_source):
    assert read_source("corpus", path=write("x.txt", "")).ends["x.txt"].units == 0
