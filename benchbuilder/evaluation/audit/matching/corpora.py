"""The documents of corpora: files of text or records, folders of them, and dumps of Wikipedia."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchbuilder.config import read_kind_spec
from benchbuilder.core import DataError, EndOfFile, count_phrase, create_from_spec, open_given_file
from benchbuilder.evaluation.audit.matching.matches import Document
from benchbuilder.sources import Source, find_files

_RECORDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".tab", ".parquet")
_TEXTS = (".txt", ".md")
_BOOKS = (".pdf", ".epub")
_DUMPS = (".xml", ".bz2", ".gz")
_SUFFIXES = (*_RECORDS, *_TEXTS, *_BOOKS, *_DUMPS)
_COLUMN = "text"
_HEAD = 1 << 16
_LONG_LINE = 200
"""Lines of a plain text that are longer on average are documents; shorter ones are parts of a paragraph."""
_WIKIPEDIA: Mapping[str, Any] = {"kind": "wikipedia", "disambiguation": (), "sections": (), "headings": True}
_WHERE = "command line: --against"


def read_documents(path: str, cwd: Path, language: str, empty: list[str] | None = None) -> Iterator[Document]:
    """The documents of `path`: a file, a folder, or a glob; ``PATH:COLUMN`` names the column of records.

    Plain text is one document per line, or per block between blank lines if its lines are short. Books are one per page
    or chapter, records and pages of a dump one each. The names of files without a document are added to `empty`.

    Raises:
        DataError: There is no such file, its format is not known, or no file of `path` has a document.
    """
    name, column = _column_of(path, cwd)
    files, read = _files(name, cwd), 0
    for file in files:
        before = read
        data = _source_of(file, column)
        source: Source = create_from_spec("source", read_kind_spec("source", data), file.name, language)
        source.check()
        for batch in source.read_batches():
            if not isinstance(batch, EndOfFile):
                documents, texts = batch.rows.column("document"), batch.rows.column("text")
                read += len(texts)
                yield from map(Document, documents, texts)
        if read == before and empty is not None:
            empty.append(file.name)
    if not read:
        raise DataError(f"{path} has no document", where=_WHERE, next="name the column of the texts: PATH:COLUMN",
                        why=f"{count_phrase(len(files), 'file')}, no text in the column {column!r}")  # fmt: skip


def _column_of(path: str, cwd: Path) -> tuple[str, str]:
    """The path and the column that follows it after a colon."""
    name, colon, column = path.rpartition(":")
    if colon and column and "/" not in column and not (cwd / path).exists():
        return name, column
    return path, _COLUMN


def _files(path: str, cwd: Path) -> list[Path]:
    if (cwd / path).is_dir():
        files = sorted(file for file in (cwd / path).rglob("*") if file.is_file() and file.suffix.lower() in _SUFFIXES)
        if not files:
            raise DataError(f"{path} has no file that can be read", where=_WHERE, why=f"known: {', '.join(_SUFFIXES)}")
        return files
    ref = read_kind_spec("source", {"kind": "corpus", "path": {"path": path, "resolved_path": str(cwd / path)}}).path
    return [file.path for file in find_files(ref, "--against", _SUFFIXES)]


def _source_of(file: Path, column: str) -> Mapping[str, Any]:
    """The source that reads a file, by its suffix."""
    suffix = file.suffix.lower()
    path = {"path": str(file), "resolved_path": str(file)}
    if suffix in _DUMPS:
        return {**_WIKIPEDIA, "path": path}
    if suffix in _BOOKS:
        return {"kind": "books", "path": path, "running_lines": "drop", "join_hyphens": True}
    if suffix in _TEXTS:
        return {"kind": "corpus", "path": path, "format": "text", "unit": _text_unit(file)}
    if suffix in _RECORDS:
        return {"kind": "corpus", "path": path, "columns": {"text": column}}
    raise DataError(f"the format of {file.name} is not known", where=_WHERE, why=f"known: {', '.join(_SUFFIXES)}",
                    next="give the file the suffix of what it is")  # fmt: skip


def _text_unit(file: Path) -> str:
    """What a document of a plain text is: a block, if its lines are short and there are blank ones; else a line."""
    with open_given_file(file, most_bytes=None) as stream:
        head = stream.read(_HEAD).decode("utf-8", "replace").replace("\r", "")
    lines = [line for line in head.split("\n") if line.strip()]
    short = len(head) < _LONG_LINE * max(1, len(lines))
    return "block" if short and "\n\n" in head else "line"
