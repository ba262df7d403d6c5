"""Paths to fields inside records: ``answers[].text``, ``answers[0].text``, ``entries{}.key``, ``summary | text``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from benchbuilder.core import DataError, parse_json, unique_object
from benchbuilder.sources.formats.tables import Column, RawRow

RecordLevels = dict[str, Any]
"""The elements around a record, by their paths, outermost first; the record itself is the last."""
KEY = ".key"
"""What follows the path of a mapping of records to name the key of a record."""

_MARKS = re.compile(r"[.\[\]{}|]")
_PART = re.compile(r"([^.\[\]{}]*)(\[\]|\[(\d{1,9})\]|\{\})?(?:\.|\Z)")
_EVERY = ("[]", "{}")
HEAD_RECORDS = 100
"""Records in which each path must lead somewhere, and each name must occur."""
_FEWEST = 3
"""Fewest records that show that a name occurs nowhere."""

PathPart = tuple[str, str | int | None]
"""A name (or none), and what follows it: ``[]``, ``{}``, an index, or nothing."""


def is_plain(column: Column) -> bool:
    """Whether a column is an index or a name without marks of a path."""
    return isinstance(column, int) or not _MARKS.search(column)


@lru_cache(maxsize=1024)
def alternatives(column: str) -> tuple[str, ...]:
    """The paths of a column, of which the first with a value counts."""
    return tuple(path.strip() for path in column.split(" | "))


@lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[PathPart, ...] | None:
    """The parts of a path; None if it is none, so that it can only be a name."""
    parts: list[PathPart] = []
    at = 0
    while at < len(path):
        match = _PART.match(path, at)
        if match is None or match.end() == at:
            return None
        suffix = int(match[3]) if match[3] else match[2]
        parts.append((match[1], suffix))
        at = match.end()
    return tuple(parts)


def first_names(column: Column) -> list[str]:
    """The names at which the paths of a column begin: what a table must have as columns."""
    if isinstance(column, int):
        return [str(column)]
    parsed = ((path, _parts(path)) for path in alternatives(column))
    return [parts[0][0] if parts else path for path, parts in parsed]


def read_field(levels: RecordLevels, column: Column) -> Any:
    """The value of a column in the last of `levels`, or else in the elements around it; ``None`` without one."""
    *_, record = levels.values()
    if isinstance(column, int):
        return record[column] if isinstance(record, list) and column < len(record) else None
    if isinstance(record, dict) and column in record:
        return record[column]
    for path in alternatives(column):
        value = _read_path(levels, path)
        if value not in (None, "", []):
            return value
    return None


def _read_path(levels: RecordLevels, path: str) -> Any:
    if path in levels and path.endswith((KEY, *_EVERY)):
        return levels[path]
    for level in sorted(levels, key=len, reverse=True):
        if level and path.startswith(f"{level}.") and not level.endswith(KEY):
            return inside(levels[level], path[len(level) + 1 :])
    for level, element in reversed(levels.items()):
        if not level.endswith(KEY) and (value := inside(element, path)) is not None:
            return value
    return None


def inside(element: Any, path: str) -> Any:
    """The value at a path below an element; a list if the path goes through every element of one."""
    if isinstance(element, dict) and path in element:
        return element[path]
    parts = _parts(path)
    return None if parts is None else _walk(element, parts)


def _walk(element: Any, parts: Sequence[PathPart]) -> Any:
    for number, (name, suffix) in enumerate(parts):
        if name:
            if not isinstance(element, dict):
                return None
            element = element.get(name)
        if suffix in _EVERY:
            items = _elements(element, suffix)
            return None if items is None else _every(items, parts[number + 1 :])
        if isinstance(suffix, int):
            if not isinstance(element, list) or suffix >= len(element):
                return None
            element = element[suffix]
    return element


def _elements(element: Any, mark: Any) -> list[Any] | None:
    """The elements of a list, or the values of a mapping, as the mark asks."""
    if mark == "{}":
        return list(element.values()) if isinstance(element, dict) else None
    return element if isinstance(element, list) else None


def _every(items: list[Any], rest: Sequence[PathPart]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        value = _walk(item, rest) if rest else item
        if any(suffix in _EVERY for _, suffix in rest) and isinstance(value, list):
            found.extend(value)
        elif value is not None:
            found.append(value)
    return found


def unfold(data: Any, records: str) -> Iterator[tuple[RecordLevels, str]]:
    """The records at the path `records` with the elements around them, or why there are none.

    ``[]`` marks a list of records, ``{}`` a mapping whose values are records. The key of such a record is the element
    ``PATH{}.key``.
    """
    yield from _unfold(data, [step for step in records.split(".") if step] or ["[]"], {}, "")


def _unfold(data: Any, steps: list[str], levels: RecordLevels, prefix: str) -> Iterator[tuple[RecordLevels, str]]:
    step, *rest = steps
    mark = step[-2:] if step[-2:] in ("[]", "{}") else ""
    field = step.removesuffix(mark)
    here = f"{prefix}.{step}".removeprefix(".")
    if field:
        if not isinstance(data, dict) or field not in data:
            yield levels, f"no {field!r} in {describe_shape(data)}"
            return
        data = data[field]
    if mark == "[]" and not isinstance(data, list):
        form = f" - write {here.removesuffix('[]')}{{}} for a mapping of records" if isinstance(data, dict) else ""
        yield levels, f"{describe_shape(data)} where {here} must be a list{form}"
        return
    if mark == "{}" and not isinstance(data, dict):
        yield levels, f"{describe_shape(data)} where {here} must be a mapping"
        return
    elements: list[Any] = list(data) if mark == "[]" else [data]
    pairs = data.items() if mark == "{}" and isinstance(data, dict) else ((None, item) for item in elements)
    for key, item in pairs:
        inner = {**levels, **({f"{here}{KEY}": key} if mark == "{}" else {}), here: item}
        if rest:
            yield from _unfold(item, rest, inner, here)
        else:
            yield inner, ""


class RecordUnit(NamedTuple):
    """A record of a file with its number and the elements around it, or the reason why there is none."""

    number: int
    levels: RecordLevels
    reason: str = ""
    detail: str = ""


def record_row(number: int, levels: RecordLevels, columns: Sequence[Column]) -> RawRow:
    """The values of one record, the last of `levels`; a record that is a text has the path of the records."""
    path, record = next(reversed(levels.items()))
    is_named_text = isinstance(record, str) and path in columns
    if not isinstance(record, dict | list) and not is_named_text:
        return RawRow(number, (), "malformed", f"{describe_shape(record)} instead of a record")
    return RawRow(number, [read_field(levels, column) for column in columns])


def record_rows(units: Iterable[RecordUnit], columns: Sequence[Column], key: str, name: str) -> Iterator[RawRow]:
    """The values of records. DataError if a path of `columns` leads past the fields of all the first records."""
    stream = iter(units)
    head = list(islice(stream, HEAD_RECORDS))
    for column in columns:
        if isinstance(column, str) and not is_plain(column):
            _check_path(head, column, key, name)
    for unit in chain(head, stream):
        if unit.reason:
            yield RawRow(unit.number, (), unit.reason, unit.detail)
        else:
            yield record_row(unit.number, unit.levels, columns)


def check_names(records: Sequence[Any], columns: Sequence[Column], key: str, name: str) -> None:
    """DataError if a field that the recipe names is in none of the first records of JSON Lines."""
    if len(records) < _FEWEST or not all(isinstance(record, dict) for record in records):
        return
    known = dict.fromkeys(str(field) for record in records for field in record)
    for column in columns:
        if str(column) not in known:
            raise DataError(
                f"{key}: none of the first {len(records)} records has a field {column}",
                where=name,
                why=f"the fields there are {', '.join([*known][:20])}".encode(errors="backslashreplace").decode(),
                next="name a field of these records, or leave the column out",
            )


def _check_path(head: Sequence[RecordUnit], column: str, key: str, name: str) -> None:
    records = [unit.levels for unit in head if not unit.reason]
    if any(read_field(levels, column) not in (None, "", []) for levels in records):
        return
    if fields := next(filter(None, (_fields_near(levels, column) for levels in records)), None):
        raise DataError(
            f"{key}: {column} finds nothing in the first {len(records)} records",
            where=name,
            why=f"the fields there are {', '.join(fields[:20])}".encode(errors="backslashreplace").decode(),
            next="name a path of these records",
        )


def _fields_near(levels: RecordLevels, column: str) -> list[str]:
    """The fields of the element at which a path leads to none of them; nothing if it ends before."""
    *_, element = levels.values()
    for name, suffix in _parts(alternatives(column)[0]) or ():
        if name and (not isinstance(element, dict) or name not in element):
            break
        element = element[name] if name else element
        if suffix is None:
            continue
        if not (items := _elements(element, suffix)):
            return []
        element = items[0]
    else:
        return []
    return [str(field) for field in element] if isinstance(element, dict) else []


def table_columns(known: Sequence[str], columns: Sequence[Column], records: str) -> list[Column]:
    """The columns of a table, named `known`, that `columns` and `records` need; a column itself if it leads nowhere."""
    needed: dict[Column, None] = dict.fromkeys(first_names(records) if records else ())
    for column in columns:
        names = [column] if isinstance(column, int) or column in known else _first_known(column, known)
        needed |= dict.fromkeys(names or ([] if records else [column]))
    return list(needed)


def _first_known(column: str, known: Sequence[str]) -> list[Column]:
    names = [(path, *first_names(path)) for path in alternatives(column)]
    return [name for pair in names if (name := next((one for one in pair if one in known), None)) is not None]


def table_units(
    rows: Iterable[RawRow], names: Sequence[str], records: str = "", *, parse_json: bool = False
) -> Iterator[RecordUnit]:
    """The rows of a table as records with the fields `names`, or the records at the path `records` of each row.

    With `parse_json`, cells that begin with a bracket are JSON.
    """
    count = itertools.count(1)
    for row in rows:
        if row.reason:
            yield RecordUnit(next(count) if records else row.line, {}, row.reason, row.detail)
            continue
        values = map(_parse_cell, row.values) if parse_json else row.values
        yield from _unfolded({"": dict(zip(names, values, strict=True))}, row.line, records, count)


def _unfolded(levels: RecordLevels, line: int, records: str, count: Iterator[int]) -> Iterator[RecordUnit]:
    if not records:
        yield RecordUnit(line, levels)
        return
    for inner, problem in unfold(levels[""], records):
        yield RecordUnit(next(count), {**levels, **inner}, "malformed" if problem else "", problem)


def parsed_units(parsed: Iterable[tuple[int, Any, str, str]], records: str) -> Iterator[RecordUnit]:
    """Parsed lines (number, data, reason, detail) as records, or the records at the path `records` of each."""
    count = itertools.count(1)
    for line, data, reason, detail in parsed:
        if reason:
            yield RecordUnit(next(count) if records else line, {}, reason, detail)
        else:
            yield from _unfolded({"": data}, line, records, count)


def _parse_cell(cell: Any) -> Any:
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("{", "["):
        return cell
    try:
        return parse_json(cell, object_pairs_hook=unique_object)
    except ValueError:
        return cell


def describe_shape(data: Any) -> str:
    """What an element is, in a few words."""
    if isinstance(data, dict):
        keys = ", ".join(list(data)[:8]).encode(errors="backslashreplace").decode()
        return f"a mapping with the keys {keys}" if data else "an empty mapping"
    if isinstance(data, list):
        return f"a list of {len(data)}"
    return f"{type(data).__name__} {str(data)[:60]!r}"
