"""Large JSON documents are read in parts, with the same records and messages as whole ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.core.errors import DataError
from benchbuilder.sources.formats import large_json, records
from benchbuilder.sources.formats.large_json import document_parts

DOCUMENT: dict[str, Any] = {
    "version": [{"a": [1, -2.5]}, "]}"],
    "data": [{"id": "x", "n": -1.5e3, "qas": [{"q": 'é😀\\"\n'}, {"q": "b"}]}, {"qas": [], "id": "y"}, {"qas": [{}]}],
    "end": {"k": None},
}
MAPPING = {"é": {"q": "a"}, "k": {"q": 12345}}


def parts_of(path: Path, text: str, records_path: str) -> list[Any]:
    path.write_text(text, encoding="utf-8")
    return list(document_parts(path, "utf-8", records_path))


@pytest.mark.parametrize("piece", [1, 2, 5, 64])
@pytest.mark.parametrize("indent", [None, 1])
def test_parts_make_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, indent: int | None
) -> None:
    monkeypatch.setattr(large_json, "_PIECE_BYTES", piece)
    monkeypatch.setattr(large_json, "_PART_ELEMENTS", 2)
    path = tmp_path / "d.json"
    lists = parts_of(path, "\ufeff" + json.dumps(DOCUMENT, ensure_ascii=bool(indent), indent=indent), "data[].qas[]")
    assert [len(part["data"]) for part in lists] == [2, 1]
    assert [item for part in lists for item in part["data"]] == DOCUMENT["data"]
    assert parts_of(path, json.dumps(MAPPING, indent=indent), "{}")[0] == MAPPING


@pytest.mark.parametrize(
    "text", ['{"data": [1, 2', '{"data": [1 2]}', '{"x": tru, "data": []}', '{"data": []} x', '{"x" 1}', "[", ""]
)
def test_a_broken_document_has_the_place_of_its_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(large_json, "_PIECE_BYTES", 2)
    with pytest.raises(json.JSONDecodeError) as whole:
        json.loads(text)
    with pytest.raises(ValueError, match=r"\(char ") as parts:
        parts_of(tmp_path / "d.json", text, "data[]")
    assert str(parts.value).rpartition(":")[2] == str(whole.value).rpartition(":")[2]


def test_large_files_say_the_same_as_small_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d.json"

    def read(text: bytes, records_path: str) -> Any:
        path.write_bytes(text)
        try:
            return list(records.json_rows(path, "d.json", ["q", "id"], key="k", encoding="utf-8", records=records_path))
        except DataError as error:
            return str(error)

    text = json.dumps(DOCUMENT).encode()
    paths = ["data[].qas[]", "[]", "entries[]", "version[]", "end[]", "end.k[]"]
    broken = [b'{"data": ["\xff"]}', b'{"x": 1}', b'{"data": ' + b"[" * 3000]
    cases = [*((text, path) for path in paths), *((document, "data[]") for document in broken)]
    small = [read(*case) for case in cases]
    monkeypatch.setattr(records, "LARGE_JSON_BYTES", 0)
    monkeypatch.setattr(large_json, "_PIECE_BYTES", 3)
    assert [read(*case) for case in cases] == small
    assert [row.values for row in small[0]] == [['é😀\\"\n', "x"], ["b", "x"], [None, None]]


def test_a_second_list_of_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Second 'data'"):
        parts_of(tmp_path / "d.json", '{"data": [1], "data": [2]}', "data[]")
