"""Parquet that somebody gave: a small file that unpacks to gigabytes is refused, a large one is read in pieces."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchbuilder.core import DataError, GivenParquet, parquet_files, read_row_file

LONG = "a" * 2**20


def read(path: Path) -> int:
    with GivenParquet(path) as file:
        return sum(batch.num_rows for batch in file.batches())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("stored", [True, False])
def test_a_value_that_all_rows_have(path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    """A file of some kilobytes, whose rows would have a terabyte: its footer tells nothing of it."""
    monkeypatch.setattr(parquet_files, "_DICTIONARY_BYTES", 4 * 2**20)
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 1_000_000, pa.int32()), pa.array([LONG]))
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=stored)
    assert path.stat().st_size < 10_000
    for reader in (read, read_row_file):
        with pytest.raises(DataError, match="unpacks to too much") as caught:
            reader(path)
        assert caught.value.where == str(path)
        assert "its rows have more than" in str(caught.value.why)


def test_the_name_of_a_column_that_is_no_text(path: Path) -> None:
    pq.write_table(pa.table({"colour": ["red"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"colour", b"colo\x80r"))
    with pytest.raises(pa.ArrowInvalid, match="no UTF-8"):
        GivenParquet(path)


def test_a_page_that_unpacks_to_too_much(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"text": [LONG] * 8}), path, compression="zstd", use_dictionary=False)
    assert read(path) == 8
    monkeypatch.setattr(parquet_files, "_DICTIONARY_BYTES", 2**20)
    with pytest.raises(DataError, match="unpacks to too much") as caught:
        read(path)
    assert "bytes of it unpack to 8," in str(caught.value.why)


def test_a_dictionary_is_measured_by_its_own_header(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes a footer may claim any size there."""
    pq.write_table(pa.table({"text": [LONG, LONG * 2]}), path, compression="zstd")
    assert read(path) == 2
    monkeypatch.setattr(parquet_files, "_DICTIONARY_BYTES", 2**20)
    monkeypatch.setattr(parquet_files, "_MOST_TIMES", 2**40)
    with pytest.raises(DataError, match="unpacks to too much") as caught:
        read(path)
    assert f"the dictionaries of some of its rows have {3 * 2**20 + 8:,} bytes" in str(caught.value.why)


def test_rows_that_are_held_at_once_have_a_bound(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"nothing": pa.nulls(100_000)}), path)
    assert len(read_row_file(path)) == 100_000
    monkeypatch.setattr(parquet_files, "MOST_BYTES", 2**20)
    assert read(path) == 100_000
    with pytest.raises(DataError, match="unpacks to too much"):
        read_row_file(path)


def test_too_little_memory_is_an_error_that_names_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: object, **_more: object) -> None:
        raise MemoryError

    pq.write_table(pa.table({"text": ["a"]}), path)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", refuse)
    with pytest.raises(DataError, match=r"rows\.parquet unpacks to too much"):
        read_row_file(path)


@pytest.mark.parametrize("more", [{}, {"compression": "zstd", "data_page_version": "2.0"}, {"use_dictionary": False}])
def test_files_of_every_day(path: Path, more: dict[str, Any]) -> None:
    rows = [{"text": f"text {n % 7}", "kinds": ["a", str(n)], "n": n, "kind": None} for n in range(1000)]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table.set_column(0, "text", table["text"].dictionary_encode()), path, row_group_size=300, **more)
    assert [row for _, row in read_row_file(path)] == rows
    with GivenParquet(path) as file:
        assert file.schema.names == ["text", "kinds", "n", "kind"]
        assert [batch.num_rows for batch in file.batches(["n"], 200)] == [200, 100, 200, 100, 200, 100, 100]


@pytest.mark.full
def test_a_large_file_is_read_in_pieces(path: Path) -> None:
    group = pa.table({"text": [f"{number} paragraph " * 80 for number in range(32_768)]})
    with pq.ParquetWriter(path, group.schema, compression="zstd") as writer:
        for _ in range(64):
            writer.write_table(group)
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    with GivenParquet(path) as file:
        for batch in file.batches():
            rows += batch.num_rows
            most = max(most, pa.total_allocated_bytes() - before)
    assert rows == 64 * 32_768
    assert 64 * group.nbytes > 2 * 2**30
    assert most < 2**28


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    data = io.BytesIO()
    pq.write_table(pa.table({"text": ["findme"]}), data, compression="none", use_dictionary=False)
    (tmp_path / "given.parquet").write_bytes(data.getvalue().replace(b"findme", b"\x80indme"))
    with pytest.raises(DataError, match=r"given\.parquet holds text that is not UTF-8"):
        read_row_file(tmp_path / "given.parquet")
