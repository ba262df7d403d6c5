"""Files that somebody gives are opened only if they are files, and read only if they fit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchbuilder.core import (
    DataError,
    file_checksum,
    open_given_file,
    read_given_file,
    read_given_text,
    read_json,
    read_row_file,
    read_sealed_json,
)

READERS = (read_given_file, read_given_text, read_json, read_row_file, read_sealed_json, file_checksum)


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").symlink_to("a")
    assert (read_given_file(tmp_path / "a"), read_given_file(tmp_path / "b")) == (b"one", b"one")


@pytest.mark.parametrize(("made", "told"), [
    (lambda path: path.symlink_to("/dev/zero"), "is a device"), (os.mkfifo, "is a pipe"),
])  # fmt: skip
@pytest.mark.parametrize("read", READERS)
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, made, told: str, read) -> None:
    made(tmp_path / "rows.jsonl")
    with pytest.raises(DataError, match=told):
        read(tmp_path / "rows.jsonl")


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.truncate(5 * 2**30)  # no block of it is on the disk
    with pytest.raises(DataError, match="too large") as caught:
        read_row_file(path)
    assert "5,368,709,120 bytes" in str(caught.value.why)
    with pytest.raises(DataError, match="too large"):
        open_given_file(path, most_bytes=10)


def test_what_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_given_file(tmp_path / "nothing")


def test_a_text_has_one_kind_of_line_ends(tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes("\ufeffÄ\r\nb\rc".encode())
    assert read_given_text(tmp_path / "words", "utf-8-sig") == "Ä\nb\nc"
    (tmp_path / "words").write_bytes(b"a\xff")
    assert read_given_text(tmp_path / "words", errors="replace") == "a\N{REPLACEMENT CHARACTER}"
    with pytest.raises(UnicodeDecodeError):
        read_given_text(tmp_path / "words")


def test_json_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": [1]}', encoding="utf-8")
    assert read_json(tmp_path / "a.json") == {"a": [1]}
    (tmp_path / "a.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(ValueError, match="too deeply"):
        read_json(tmp_path / "a.json")
