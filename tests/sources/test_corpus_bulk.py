"""Passages read by the column are those that are read one by one."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.errors import DataError
from benchbuilder.ports.source import unpacked
from benchbuilder.records.fates import EndOfFile
from benchbuilder.records.passage import Passage
from benchbuilder.records.table import schema_of
from benchbuilder.sources import columns

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
own_settings = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


def tried(read):
    """What was read, or why it was refused."""
    try:
        return list(read()), ""
    except DataError as error:
        return [], str(error)


@pytest.fixture
def both_ways(make_source, monkeypatch):
    """Reads a source unit by unit and by the column, in chunks of different sizes; both must say the same."""

    def read(**spec):
        source = make_source("corpus", "wiki", **spec)
        slow, refused = tried(source.read)
        if refused:
            assert tried(source.bulk)[1] == refused
            return []
        for size in (1, 3, 10_000):
            monkeypatch.setattr(columns, "CHUNK_ROWS", size)
            fast = []
            for units in source.bulk():
                if isinstance(units, EndOfFile):
                    fast.append(units)
                else:
                    assert units.rows.arrow.schema.equals(schema_of(Passage))
                    fast.extend(unpacked(units))
            assert fast == slow
        return slow

    return read


@own_settings
@given(records, st.booleans(), st.sampled_from(["", "not json\n", "[1]\n", '{"body": "\\ud800"}\n']))
def test_records_of_json(both_ways, write, made, whole, odd):
    lines = "".join(json.dumps(record) + "\n" for record in made)
    path = write("a.jsonl", '{"body": "胎盘", "id": "d"}\n' + lines + odd)
    both_ways(path=path, columns=THREE if whole else {"text": "body"})
    both_ways(path=write("b.json", json.dumps(made)), columns=THREE if whole else {"text": "body", "title": "name"})


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
    assert [unit.fate.row.document for unit in read[:2]] == ["1", "2"]


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
        (unit.file, unit.line, unit.fate.detail)
        for unit in read
        if getattr(unit, "fate", 0) and hasattr(unit.fate, "detail")
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
    assert [unit.fate.row.text for unit in (read[0], read[3])] == ["胎盘, 脐带", "羊水"]
    both_ways(path=write("pages.tsv", "name\tbody\n胎盘\t 胎盘\nx\ty\tz\n\u3000\t\n"), columns={"text": 1, "title": 0})
