"""Records of JSON, JSONL and Parquet files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchbuilder.core import DataError, GivenParquet, parse_json, unique_object
from benchbuilder.sources.formats.field_paths import (
    HEAD_RECORDS,
    RecordUnit,
    check_names,
    is_plain,
    parsed_units,
    record_row,
    record_rows,
    unfold,
)
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.large_json import (
    LARGE_JSON_BYTES,
    UndecodableDocumentError,
    can_split,
    document_parts,
    load_document,
)
from benchbuilder.sources.formats.tables import Column, RawRow, encoding_advice, read_lines


def jsonl_rows(
    path: Path, name: str, columns: Sequence[Column], *, key: str, encoding: str, records: str = ""
) -> Iterator[RawRow]:
    """One record per line, numbered by lines; or the records at path `records` of each line, numbered from 1."""
    parsed = _parsed_lines(path, encoding)
    if records or not all(map(is_plain, columns)) or not all(isinstance(column, str) for column in columns):
        yield from record_rows(parsed_units(parsed, records), columns, _columns_key(key), name)
        return
    head = list(islice(parsed, HEAD_RECORDS))
    check_names([record for _, record, reason, _ in head if not reason], columns, _columns_key(key), name)
    for number, record, reason, detail in chain(head, parsed):
        if not reason and isinstance(record, dict):
            yield RawRow(number, list(map(record.get, columns)))
        else:
            yield RawRow(number, (), reason, detail) if reason else record_row(number, {"": record}, columns)


def is_json_lines(path: Path, encoding: str = "utf-8") -> bool:
    """Whether a ``.json`` file has a record on each line, as those of many data sets: its first line is an object."""
    lines = (line for line in read_lines(path, encoding) if line.problem or line.text.strip())
    first, second = next(lines, None), next(lines, None)
    if first is None or second is None or first.text.lstrip()[:1] != "{" or second.text.lstrip()[:1] != "{":
        return False
    try:
        return isinstance(parse_json(first.text), dict)
    except ValueError:
        return False


def _parsed_lines(path: Path, encoding: str) -> Iterator[tuple[int, Any, str, str]]:
    for number, text, problem in read_lines(path, encoding):
        if problem:
            yield number, None, "undecodable", problem
        elif text.strip():
            try:
                yield number, parse_json(text, object_pairs_hook=unique_object), "", ""
            except ValueError as error:
                yield number, None, "malformed", f"no JSON: {error}"


def json_rows(
    path: Path, name: str, columns: Sequence[Column], *, key: str, encoding: str, records: str
) -> Iterator[RawRow]:
    """The records at path `records` of one JSON document, numbered from 1.

    ``[]`` marks a list of records, ``{}`` a mapping of records. A field that a record lacks is read from the elements
    around it; ``data[].title`` names one of these explicitly.
    """
    parts = _document_parts(path, name, key, encoding, records)
    yield from record_rows(_document_units(parts, name, key, records), columns, _columns_key(key), name)


def _columns_key(key: str) -> str:
    """The recipe key of the columns of a source, by the key of its path."""
    return f"{key.rpartition('.')[0]}.columns"


def _document_units(parts: Iterator[Any], name: str, key: str, records: str) -> Iterator[RecordUnit]:
    found = chain.from_iterable(unfold(part, records) for part in parts)
    for number, (levels, problem) in enumerate(found, 1):
        if problem and number == 1 and not levels:
            raise wrong_shape(
                key, name, expected=f"a list of records at {records or 'the top'}", found=problem,
                next="set records: to the path of the records in the file, for instance data[].paragraphs[]",
            )  # fmt: skip
        yield RecordUnit(number, levels, "malformed" if problem else "", problem)


def _document_parts(path: Path, name: str, key: str, encoding: str, records: str) -> Iterator[Any]:
    """The document, in parts if it is large: each has some of the elements at the first step of `records`."""
    try:
        if path.stat().st_size > LARGE_JSON_BYTES and can_split(records):
            yield from document_parts(path, encoding, records)
        else:
            yield load_document(path, encoding)
    except UndecodableDocumentError as error:
        raise DataError(
            f"{key}: {name} cannot be decoded", where=name, why=str(error),
            next=encoding_advice(path, f"{key.rpartition('.')[0]}.encoding"),
        ) from error  # fmt: skip
    except ValueError as error:
        raise wrong_shape(key, name, expected="one JSON document", found=str(error),
                          next="set format: jsonl if there is one record per line") from error  # fmt: skip


def parquet_rows(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[RawRow]:
    """The rows, numbered from 1; only the requested columns are read. DataError if one is missing."""
    values = (row for batch in parquet_batches(path, name, key, columns) for row in batch_rows(batch))
    return itertools.starmap(RawRow, enumerate(values, 1))


def batch_rows(batch: pa.RecordBatch) -> Iterator[list[Any]]:
    """The values of each row of a batch."""
    return map(list, zip(*(_values(column) for column in batch.columns), strict=True))


def _values(column: Any) -> list[Any]:
    """The values of a column; one with bytes that are not UTF-8 becomes a lone surrogate, which is no text either."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        return list(map(_value, column))


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return "\udcff"


def parquet_names(path: Path, name: str, key: str) -> list[str]:
    """The names of the columns."""
    with _open_parquet(path, name, key) as file:
        return list(file.schema.names)


def parquet_batches(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """The requested columns, in order, some rows at a time. DataError if one is missing."""
    with _open_parquet(path, name, key) as file:
        known = file.schema.names
        names = [known[c] if isinstance(c, int) and c < len(known) else str(c) for c in columns]
        if any(known.count(name_) != 1 for name_ in names):
            raise wrong_shape(
                key, name, expected=f"the columns {', '.join(names)}", found=f"the columns {', '.join(known)}",
                next="name the file's columns in the recipe",
            )  # fmt: skip
        batches = file.batches(list(dict.fromkeys(names)))
        while (batch := _next_batch(batches, name)) is not None:
            yield pa.RecordBatch.from_arrays([batch.column(n) for n in names], names)


def _open_parquet(path: Path, name: str, key: str) -> GivenParquet:
    try:
        return GivenParquet(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise wrong_shape(key, name, expected="a Parquet file", found=str(error),
                          next="set format: in the recipe to the file's format") from error  # fmt: skip


def _next_batch(batches: Iterator[pa.RecordBatch], name: str) -> pa.RecordBatch | None:
    try:
        return next(batches, None)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{name} is damaged", where=name, why=str(error)[:200],
            next="make or download the file again; its end, which lists its columns, can be read",
        ) from error  # fmt: skip
