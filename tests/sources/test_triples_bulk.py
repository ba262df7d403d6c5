from __future__ import annotations

import re
from itertools import zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import schema_of
from benchbuilder.core.records.outcomes import EndOfFile, Kept
from benchbuilder.sources.base import unpack_units
from benchbuilder.sources.columnar import columns, duplicates
from benchbuilder.sources.columnar.cells import Cells

COLUMNS = {"head": 0, "relation": 1, "tail": 2}
ODD = [
    "\x85",
    "\x1c",
    "\x1f",
    "\u3000",
    "\u200b",
    "\u2003",
    "\u1680",
    "\xa0",
    "\ufeff",
    "\x00",
    "\x0b",
    "\u2028",
    "\u205f",
]
WORDS = [
    "甲@@病",
    "乙@@症",
    "丙@@",
    "@@病",
    "a@@@b",
    "@@@",
    "x",
    "n/a",
    " – ",
    "",
    " ",
    '"',
    '"a',
    "丁 ",
    " 戊",
    "\\",
    "😀@@e\u0301",
    *ODD,
]
SIZES = st.sampled_from([1, 7, 64, 2_000_000])
own_settings = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
cell = st.lists(st.sampled_from([*WORDS, "@@", "甲", "病"]), max_size=4).map("".join)


def same_both_ways(source, slow: list) -> list:
    """The units that a source reads one by one; they must equal those that it reads by column."""
    fast: list = []
    for units in source.read_batches():
        if isinstance(units, EndOfFile):
            fast.append(units)
            continue
        assert units.rows.arrow.schema.equals(schema_of(source.output))
        assert len(units.lines)
        fast.extend(unpack_units(units))
    for one, other in zip_longest(fast, slow):
        assert one == other
    return slow


def both_ways(make_source, **spec) -> list:
    """The same for a source that may have the wrong shape: then both ways report it."""
    source = make_source("triples", "kg", **spec)
    try:
        read = list(source.read())
    except DataError as error:
        with pytest.raises(DataError, match=re.escape(str(error))):
            list(source.read_batches())
        return []
    return same_both_ways(source, read)


@pytest.fixture
def cut_up(monkeypatch):
    """Makes blocks and chunks small, and puts contents on disk early."""

    def to(size: int) -> None:
        monkeypatch.setattr(columns, "BLOCK_BYTES", size)
        monkeypatch.setattr(columns, "CHUNK_ROWS", max(2, size // 8))
        monkeypatch.setattr(duplicates, "MAX_IN_MEMORY", 5)

    return to


@pytest.mark.push
@own_settings
@given(
    size=SIZES,
    rows=st.lists(st.lists(cell, min_size=1, max_size=5), max_size=12),
    delimiter=st.sampled_from(["\t", "|", "||", "@", "、", " ", "aba", "\x1c"]),
    ends=st.lists(st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\n  \n", "\r", "\r\r\n"]), min_size=12, max_size=12),
    last=st.booleans(),
    mark=st.booleans(),
    header=st.sampled_from([False, True, 2, 5]),
    width=st.sampled_from([None, 3, 4]),
    separator=st.sampled_from(["", "@@", "@", "病"]),
)
def test_by_the_column_as_one_by_one(
    write, make_source, cut_up, size, rows, delimiter, ends, last, mark, header, width, separator
):
    cut_up(size)
    good = [["甲@@病", "r", f"{name}@病@@x", "x"][: width or 3] for name in "子丑寅"]
    lines = [delimiter.join(row) for row in [["h", "r", "t"], *good, *rows, good[0]]]
    text = "".join(line + end for line, end in zip_longest(lines, ["\n"] * 4 + ends[: len(rows)], fillvalue="\n"))
    data = (text if last else text.rstrip("\n")).encode()
    path = write("kg.tsv", (b"\xef\xbb\xbf" if mark else b"") + data)
    both_ways(
        make_source,
        path=path,
        delimiter=delimiter,
        header=header,
        width=width,
        type_separator=separator,
        columns=COLUMNS,
    )


@pytest.mark.parametrize("before", ["", "\r", " ", "\u3000", "\ufeff", " \ufeff "])
@pytest.mark.parametrize("size", [1, 2_000_000])
def test_a_header_that_is_repeated_behind_white_space_is_no_row(write, make_source, cut_up, size, before):
    cut_up(size)
    path = write("kg.tsv", f"h\tr\tt\na\tr\tb\n{before}h\tr \tt\nc\tr\td\n".encode())
    units = both_ways(make_source, path=path, header=True, columns=COLUMNS)
    assert len([unit for unit in units if isinstance(getattr(unit, "outcome", None), Kept)]) == 2


@pytest.mark.push
@own_settings
@given(
    size=SIZES,
    data=st.lists(st.sampled_from([b"a\tr\tb", b"\n", b"\r\n", b"\xff", b"\xe4\xb8", "甲\tr\t乙\n".encode(), b"\x00"])),
)
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "cp1252", "ascii", "utf-7", "utf-8-sig"])
def test_bytes_that_are_not_in_the_encoding(write, make_source, cut_up, size, encoding, data):
    cut_up(size)
    path = write("kg.tsv", b"h\tr\tt\na\tr\tb\nb\tr\tc\n" + b"".join(data))
    both_ways(make_source, path=path, encoding=encoding, columns=COLUMNS)


@pytest.mark.full
@own_settings
@given(size=SIZES, texts=st.lists(st.tuples(cell, cell, cell, cell), min_size=1, max_size=12))
def test_types_in_columns_of_their_own_and_quotation_marks(write, make_source, cut_up, size, texts):
    cut_up(size)
    spec = {"columns": {"head": "h", "relation": "r", "tail": "t", "head_type": "ht"}}
    lines = ["h,ht,r,t", "a,,r,b", *(",".join('"' + text.replace('"', '""') + '"' for text in row) for row in texts)]
    both_ways(make_source, path=write("kg.csv", "\n".join(lines)), **spec)
    both_ways(make_source, path=write("kg.csv", "\n".join(lines)), quoting=False, **spec)


@pytest.mark.push
@own_settings
@given(
    values=st.lists(st.tuples(*[st.one_of(cell, st.none()) for _ in range(4)]), min_size=1, max_size=12),
    large=st.booleans(),
)
def test_parquet(tmp_path, make_source, values, large):
    kind = pa.large_string() if large else pa.string()
    names = ["h", "r", "t", "tt"]
    held = {name: pa.array([row[place] for row in values], kind) for place, name in enumerate(names)}
    pq.write_table(pa.table(held), tmp_path / "kg.parquet", row_group_size=3)
    spec = {"columns": {"head": "h", "relation": "r", "tail": "t", "tail_type": "tt"}}
    both_ways(make_source, path=str(tmp_path / "kg.parquet"), **spec)


def test_parquet_with_numbers_and_other_types(tmp_path, make_source):
    held = {"h": [1.0, 2.5, None, 4.0], "r": ["a", "b", "c", "d"], "q": ["x"] * 4, "t": [["x"], ["y"], None, None]}
    pq.write_table(pa.table(held), tmp_path / "kg.parquet")
    spec = {"columns": {"head": "h", "relation": "r", "tail": 0, "tail_type": "r"}}
    both_ways(make_source, path=str(tmp_path / "kg.parquet"), **spec)
    lists = {"columns": {"head": "h", "relation": "r", "tail": "q", "tail_type": "t"}}
    reasons = [unit.outcome.reason for unit in both_ways(make_source, path=str(tmp_path / "kg.parquet"), **lists)[:-1]
               if not isinstance(unit.outcome, Kept)]  # fmt: skip
    assert reasons == ["malformed", "malformed", "missing_field"]


def test_json_lines(write, make_source):
    lines = ['{"h": 1, "r": " r ", "t": "\\ud800"}', "{", '{"h": true, "r": "r", "t": "b"}', '{"h": "a", "t": "b"}',
             '{"h": "a", "r": "", "t": "\\ud800"}', *['{"h": "a", "r": "r\\u0000", "t": "b\\""}'] * 2]  # fmt: skip
    path = write("kg.jsonl", "\n".join(lines))
    units = both_ways(make_source, path=path, columns={"head": "h", "relation": "r", "tail": "t"})
    assert [unit.outcome.reason for unit in units[:-1] if not isinstance(unit.outcome, Kept)] == [
        "malformed", "malformed", "malformed", "missing_field", "missing_field", "duplicate",
    ]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("size", [64, 2_000_000])
def test_duplicates_across_blocks_and_files_name_the_first(write, make_source, cut_up, size):
    cut_up(size)
    lines = [f"甲{n % 13}\t{n % 3}\t乙{n % 7}\n" for n in range(600)]
    write("kg/a.tsv", "h\tr\tt\n" + "".join(lines[:450]))
    write("kg/b.tsv", "h\tr\tt\n" + "".join(lines[100:]))
    write("kg/c.tsv", "h\tr\tt\n")
    write("kg/d.csv", "h,r,t\n甲1,1,乙1\n丙,1,丁")
    write("kg/e.jsonl", '["甲1", "1", "乙1"]')
    units = both_ways(make_source, path="kg", header=True, columns={"head": 0, "relation": 1, "tail": 2})
    kept = [unit for unit in units if not isinstance(unit, EndOfFile) and isinstance(unit.outcome, Kept)]
    assert len(kept) == 13 * 3 * 7 + 1
    assert units[-1].units == 1 or units[-1].file == "kg/e.jsonl"


def test_a_file_of_nothing(write, make_source):
    for text in ("", "\n", "h\tr\tt", "h\tr\tt\n\n \n"):
        (end,) = both_ways(make_source, path=write("kg.tsv", text), header="h" in text, columns=COLUMNS)
        assert end.units == 0


def test_much_white_space_around_a_cell(write, make_source):
    blank = "\u3000 \t".replace("\t", "\u2003") * 40
    units = both_ways(
        make_source,
        path=write("kg.csv", f"h,r,t\n{blank}甲{blank},r{blank},{blank}乙\n"),
        columns=COLUMNS,
        header=True,
    )
    assert (units[0].outcome.row.payload.head, units[0].outcome.row.payload.tail) == ("甲", "乙")


@pytest.mark.push
def test_what_python_calls_white_space_is_trimmed_and_nothing_else():
    every = [chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000]
    near = sorted({chr(ord(char) + step) for char in every if char.isspace() for step in (-1, 0, 1)})
    for before, behind in (("", ""), ("甲", ""), ("", "e"), ("\u3000", "\u2000")):
        texts = [f"{char}{before}{n % 10}{behind}{char}" for n, char in enumerate(near)]
        assert Cells.from_arrow(pa.array(texts)).strip().to_arrow().to_pylist() == [text.strip() for text in texts]
    assert Cells.from_arrow(pa.array(every)).strip().to_arrow().to_pylist() == [char.strip() for char in every]


@pytest.mark.push
@settings(max_examples=100)
@given(
    texts=st.lists(st.text(st.sampled_from([*ODD, "\x80", "\u0080", "\u1690", "é", "甲", "a", " ", "@"])), min_size=1)
)
def test_cells_are_cut_and_compared_like_strings(texts):
    cells = Cells.from_arrow(pa.array(texts))
    other = Cells.from_arrow(pa.array(texts[1:] + texts[:1]))
    assert cells.equal(other).tolist() == [one == two for one, two in zip(texts, texts[1:] + texts[:1], strict=True)]
    assert cells.strip().to_arrow().to_pylist() == [text.strip() for text in texts]
    by_hash = dict(zip(cells.hashes().tolist(), texts, strict=True))
    assert len(by_hash) == len(set(texts))
    for mark in ("@", "@@", "甲"):
        marked, before, behind = cells.rpartition(mark)
        found = [(text, there) for text, there in zip(texts, marked.tolist(), strict=True)]
        assert [there for _, there in found] == [mark in text for text in texts]
        pairs = zip(before.take(marked).to_arrow().to_pylist(), behind.take(marked).to_arrow().to_pylist(), strict=True)
        assert list(pairs) == [text.rpartition(mark)[::2] for text in texts if mark in text]


@pytest.mark.push
@settings(max_examples=50)
@given(
    batches=st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=20), max_size=8),
    limit=st.integers(1, 30),
)
def test_firsts_are_those_of_a_dictionary(batches, limit):
    seen: dict[tuple[int, int], int] = {}
    at = 0
    with duplicates.FirstSeenIndex(limit) as found:
        for batch in batches:
            digests = np.array([(*[0] * 7, high, *[0] * 7, low) for high, low in batch], np.uint8).reshape(-1, 16)
            places = np.arange(at, at + len(batch), dtype=np.uint64)
            at += len(batch)
            expected = [
                (n, first)
                for n, pair in enumerate(batch)
                if (first := seen.setdefault(pair, int(places[n]))) != places[n]
            ]
            twice, first = found.add_batch(digests, places)
            assert list(zip(twice.tolist(), first.tolist(), strict=True)) == expected


def test_what_firsts_put_on_disk_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with duplicates.FirstSeenIndex(10) as found:
        for start in range(0, 100, 10):
            digests = np.random.default_rng(start).integers(0, 256, (10, 10), np.uint8)
            assert not len(found.add_batch(digests, np.arange(10, dtype=np.uint64))[0])
        assert len(list(tmp_path.glob("*/*.run"))) == 10
    assert not list(tmp_path.iterdir())
