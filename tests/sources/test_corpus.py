"""Passages of a corpus, read one by one and by column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.core import parquet_files
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import schema_of
from benchbuilder.core.records.outcomes import EndOfFile
from benchbuilder.core.records.roles import Passage
from benchbuilder.sources.base import unpack_units
from benchbuilder.sources.columnar import columns

# --- corpus ----------------------------------------------------------------------------------------------------------


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


# --- corpus bulk -----------------------------------------------------------------------------------------------------

PARTS = [
    "胎盘",
    "产后",
    " ",
    "",
    "\u3000",
    "\xa0",
    "\x1f",
    '"',
    "\\",
    "😀",
    "e\u0301",
    "\x00",
    "\u2028",
    "a.jsonl:2",
    "，",
]
THREE = {"text": "body", "title": "name", "document": "id"}
words = st.lists(st.sampled_from(PARTS), max_size=4).map("".join)
values = st.one_of(words, words, st.sampled_from([None, 3, 2.0, 2.5, True, [], {}, float("nan"), "\ud800"]))
records = st.lists(st.dictionaries(st.sampled_from(["body", "name", "id"]), values), max_size=12)
own_settings = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def tried(read):
    """What was read, or why it was refused."""
    try:
        return list(read()), ""
    except DataError as error:
        return [], str(error)


@pytest.fixture
def both_ways(make_source, monkeypatch):
    """Reads a source unit by unit and by the column, in chunks of different sizes; both must say the same."""
    monkeypatch.setattr(columns, "CHUNK_CHARACTERS", 40)

    def read(**spec):
        source = make_source("corpus", "wiki", **spec)
        slow, refused = tried(source.read)
        if refused:
            assert tried(source.read_batches)[1] == refused
            return []
        for size in (1, 3, 10_000):
            monkeypatch.setattr(columns, "CHUNK_ROWS", size)
            fast = []
            for units in source.read_batches():
                if isinstance(units, EndOfFile):
                    fast.append(units)
                else:
                    assert units.rows.arrow.schema.equals(schema_of(Passage))
                    fast.extend(unpack_units(units))
            assert fast == slow
        return slow

    return read


@pytest.mark.full
@own_settings
@given(records, st.booleans(), st.sampled_from(["", "not json\n", "[1]\n", '{"body": "\\ud800"}\n']))
def test_records_of_json(both_ways, write, made, whole, odd):
    lines = "".join(json.dumps(record) + "\n" for record in made)
    path = write("a.jsonl", '{"body": "胎盘", "id": "d"}\n' + lines + odd)
    both_ways(path=path, columns=THREE if whole else {"text": "body"})
    both_ways(path=write("b.json", json.dumps(made)), columns=THREE if whole else {"text": "body", "title": "name"})


@pytest.mark.full
@own_settings
@given(st.lists(st.tuples(words, st.one_of(st.none(), words)), min_size=1, max_size=12))
def test_records_of_parquet(both_ways, tmp_path, made):
    path = tmp_path / "a.parquet"
    texts, names = zip(*made, strict=True)
    pq.write_table(pa.table({"body": pa.array(texts, pa.string()), "name": pa.array(names, pa.string())}), path)
    both_ways(path=str(path), columns={"text": "body", "title": "name"})
    both_ways(path=str(path), columns={"text": "name", "document": "body"})


def test_parquet_with_numbers(both_ways, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"body": ["胎盘", "胎盘", None], "id": [1, 2, 3]}), path)
    read = both_ways(path=str(path), columns={"text": "body", "document": "id"})
    assert [unit.outcome.row.document for unit in read[:2]] == ["1", "2"]


@pytest.mark.full
@own_settings
@given(
    st.lists(st.sampled_from(["胎盘在产后娩出。", "x ", "", " ", "\r", "\u3000", "\ufeff"]), max_size=14).map(
        "\n".join
    ),
    st.sampled_from(["line", "block", "file"]),
    st.sampled_from([b"", b"\nbad \xe4\xb8", b"\xef\xbb\xbf"]),
)
def test_texts(both_ways, write, text, unit, bad):
    write("books/产科学.txt", b"\xef\xbb\xbf" + text.encode() + bad)
    write("books/儿科学.txt", text)
    both_ways(path="books", unit=unit)


def test_duplicates_are_found_across_files_and_chunks(both_ways, write):
    write("wiki/a.jsonl", '{"body": "甲"}\n{"body": "乙"}\n{"body": "甲"}\n{"body": "甲", "id": "d"}\n')
    write("wiki/b.jsonl", '{"body": "乙"}\n{"body": "甲", "id": "d"}\n{"body": "乙", "id": "b.jsonl:3"}\n')
    read = both_ways(path="wiki", columns={"text": "body", "document": "id"})
    told = [
        (unit.file, unit.line, unit.outcome.detail)
        for unit in read
        if getattr(unit, "outcome", 0) and hasattr(unit.outcome, "detail")
    ]
    assert told == [
        ("wiki/a.jsonl", 3, "kept: wiki/a.jsonl:1"),
        ("wiki/b.jsonl", 1, "kept: wiki/a.jsonl:2"),
        ("wiki/b.jsonl", 2, "kept: wiki/a.jsonl:4"),
        ("wiki/b.jsonl", 3, "kept: wiki/a.jsonl:2"),
    ]


def test_delimited_tables(both_ways, write):
    path = write("pages.csv", 'name,body\n胎盘,"胎盘, 脐带"\n,\n胎盘,"胎盘, 脐带"\n羊水, 羊水 \n')
    read = both_ways(path=path, columns={"text": "body", "title": "name"})
    assert [unit.outcome.row.text for unit in (read[0], read[3])] == ["胎盘, 脐带", "羊水"]
    both_ways(path=write("pages.tsv", "name\tbody\n胎盘\t 胎盘\nx\ty\tz\n\u3000\t\n"), columns={"text": 1, "title": 0})


def test_rows_that_are_long_come_few_at_a_time(make_source, write, monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_CHARACTERS", 1000)
    monkeypatch.setattr(parquet_files, "_BATCH_BYTES", 1000)
    texts = [f"{number} {'胎盘' * 100}" for number in range(40)]
    write("books.jsonl", "".join(json.dumps({"body": text}) + "\n" for text in texts))
    pq.write_table(pa.table({"body": texts}), "books.parquet")
    for path in ("books.jsonl", "books.parquet"):
        read = list(make_source("corpus", "wiki", path=path, columns={"text": "body"}).read_batches())
        sizes = [len(units.lines) for units in read if not isinstance(units, EndOfFile)]
        assert sum(sizes) == 40
        assert max(sizes) <= 5


def test_text_of_parquet_that_is_no_utf8(both_ways, write):
    whole, broken = "胎盘".encode(), "胎盘".encode()[:4]
    ends = np.cumsum([0, len(whole), len(broken), 0, len(whole)]).astype("<i4").tobytes()
    data = pa.py_buffer(whole + broken + whole)
    text = pa.StringArray.from_buffers(4, pa.py_buffer(ends), data, pa.py_buffer(b"\x0b"), 1)
    names = pa.array(["a", "b", "c", "d"])
    write("a.parquet", b"")
    pq.write_table(pa.table({"body": text, "name": names}), "a.parquet")
    read = both_ways(path="a.parquet", columns={"text": "body", "title": "name"})
    assert [getattr(unit.outcome, "detail", "kept") for unit in read[:-1]] == [
        "kept",
        "text is no text",
        "text",
        "kept",
    ]


@pytest.mark.push
@pytest.mark.parametrize("compression", ["snappy", "gzip", "zstd"])
def test_parquet_that_is_damaged_inside(make_source, write, compression):
    path = write("a.parquet", b"")
    texts = [f"text {number * 7919 % 1009} " * 9 for number in range(20_000)]
    pq.write_table(pa.table({"body": texts}), path, row_group_size=5000, compression=compression)
    data = bytearray(Path(path).read_bytes())
    half = len(data) // 2
    data[half : half + 400] = bytes(byte ^ 0x5A for byte in data[half : half + 400])
    Path(path).write_bytes(data)
    source = make_source("corpus", "wiki", path=path, columns={"text": "body"})
    for read in (source.read, source.read_batches):
        with pytest.raises(DataError, match="is damaged"):
            list(read())


def test_two_columns_of_one_name(make_source, write):
    path = write("a.parquet", b"")
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["body", "body"]), path)
    with pytest.raises(DataError, match="wrong shape"):
        make_source("corpus", "wiki", path=path, columns={"text": "body"}).check()


def test_a_key_that_is_half_a_character(both_ways, write):
    data = '{"data": [{"p": [{"body": "a"}]}, {"\\ud800": 1}, {"p": [{"body": "c"}]}]}'
    read = both_ways(path=write("a.json", data), records="data[].p[]", columns={"text": "body"})
    assert [getattr(unit.outcome, "reason", "") for unit in read[:-1]] == ["", "malformed", ""]


def test_a_long_cell_in_quotation_marks(both_ways, write):
    text = "line of it\n" * 20_000
    path = write("a.csv", f'text,title\n"{text}",a\nb,c\n')
    read = both_ways(path=path, columns={"text": "text", "title": "title"})
    assert [unit.outcome.row.text for unit in read[:-1]] == [text.strip(), "b"]


def test_quotation_marks_need_a_delimiter_of_one_character(make_source, write):
    path = write("a.csv", "text||title\na||b\n")
    source = make_source("corpus", "wiki", path=path, delimiter="||", columns={"text": "text"})
    with pytest.raises(DataError, match="quotation marks"):
        source.check()
