"""Records of JSON and JSONL files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.lines import decoding_problem, read_lines
from benchbuilder.sources.formats.tables import Column, RawRow

RecordLevels = dict[str, Any]
"""The elements around a record by the path that leads to them, outermost first; the record itself is the last."""


def jsonl_rows(path: Path, encoding: str, columns: Sequence[Column]) -> Iterator[RawRow]:
    """One record a line."""
    plain = [column for column in columns if isinstance(column, str) and "." not in column]
    for number, text, problem in read_lines(path, encoding):
        if problem:
            yield RawRow(number, (), "undecodable", problem)
        elif text.strip():
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                yield RawRow(number, (), "malformed", f"no JSON: {error}")
                continue
            if isinstance(record, dict) and len(plain) == len(columns):
                yield RawRow(number, list(map(record.get, plain)))
            else:
                yield record_row(number, {"": record}, columns)


def json_rows(
    path: Path, name: str, columns: Sequence[Column], *, key: str, encoding: str, records: str
) -> Iterator[RawRow]:
    """The records at path `records` (lists marked by ``[]``) of one JSON document, numbered from 1.

    A field that a record lacks is looked up in the elements around it; ``data[].title`` names one of these exactly.
    """
    data = _load_document(path, name, key, encoding)
    steps = [step for step in records.split(".") if step] or ["[]"]
    for number, (levels, problem) in enumerate(_walk(data, steps, {}, ""), 1):
        if problem and number == 1 and not levels:
            raise wrong_shape(
                key,
                name,
                expected=f"a list of records at {records or 'the top'}",
                found=problem,
                next="set records: to the path of the records in the file, for instance data[].paragraphs[]",
            )
        yield RawRow(number, (), "malformed", problem) if problem else record_row(number, levels, columns)


def _load_document(path: Path, name: str, key: str, encoding: str) -> Any:
    raw = path.read_bytes()
    try:
        return json.loads(raw.decode(encoding).removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise DataError(
            f"{key}: {name} cannot be decoded",
            where=name,
            why=decoding_problem(error, encoding),
            next="declare the file's encoding: in the recipe, for instance gb18030",
        ) from error
    except (ValueError, RecursionError) as error:
        raise wrong_shape(
            key,
            name,
            expected="one JSON document",
            found=str(error),
            next="set format: jsonl if it is one record a line",
        ) from error


def _walk(data: Any, steps: list[str], levels: RecordLevels, prefix: str) -> Iterator[tuple[RecordLevels, str]]:
    step, *rest = steps
    field = step.removesuffix("[]")
    here = f"{prefix}.{step}".removeprefix(".")
    if field:
        if not isinstance(data, dict) or field not in data:
            yield levels, f"no {field!r} in {_describe_shape(data)}"
            return
        data = data[field]
    if not step.endswith("[]"):
        items: list[Any] = [data]
    elif isinstance(data, list):
        items = data
    else:
        yield levels, f"{_describe_shape(data)} where {here} is to be a list"
        return
    for item in items:
        inner = {**levels, here: item}
        if rest:
            yield from _walk(item, rest, inner, here)
        else:
            yield inner, ""


def record_row(number: int, levels: RecordLevels, columns: Sequence[Column]) -> RawRow:
    """The values of one record, which is the last of `levels`."""
    *_, record = levels.values()
    if not isinstance(record, dict | list):
        return RawRow(number, (), "malformed", f"{_describe_shape(record)} instead of a record")
    return RawRow(number, [_field(levels, record, column) for column in columns])


def _field(levels: RecordLevels, record: Any, column: Column) -> Any:
    if isinstance(column, int):
        return record[column] if isinstance(record, list) and column < len(record) else None
    prefix, marked, rest = column.rpartition("[].")
    if marked and f"{prefix}[]" in levels:
        return _inside(levels[f"{prefix}[]"], rest)
    for element in reversed(levels.values()):
        value = _inside(element, column)
        if value is not None:
            return value
    return None


def _inside(element: Any, column: str) -> Any:
    if isinstance(element, dict) and column in element:
        return element[column]
    for part in column.split("."):
        if not isinstance(element, dict):
            return None
        element = element.get(part)
    return element


def _describe_shape(data: Any) -> str:
    if isinstance(data, dict):
        keys = ", ".join(list(data)[:8]).encode(errors="backslashreplace").decode()
        return f"a mapping with the keys {keys}" if data else "an empty mapping"
    if isinstance(data, list):
        return f"a list of {len(data)}"
    return f"{type(data).__name__} {str(data)[:60]!r}"
