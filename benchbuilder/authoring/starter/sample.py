"""The first records of a file of unknown layout, read as a build reads them, with the settings that this takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import islice, product
from pathlib import Path
from typing import Any, cast

import yaml

from benchbuilder.core import DataError, GivenParquet, imports_of, parse_json, read_given_file, unique_object
from benchbuilder.pipeline import likely_in_language
from benchbuilder.sources import (
    TABLE_SUFFIXES,
    RawRow,
    TableDialect,
    column_name,
    delimited_cells,
    delimited_rows,
    is_json_lines,
    likely_encodings,
)

ROWS = 300
"""So many records tell what a file holds."""
_LARGEST = 200_000_000
_MOSTLY = 0.9
_MOST_ABOVE = 12
"""Among so many lines a table begins."""
_NAMES = re.compile(
    r"(?i)question|answer|option|choice|claim|label|statement|premise|hypothesis|passage|context|text|title|sentence|"
    r"verdict|veracity|rating|head|tail|subject|object|relation|predicate|source|target|type|category|\bid\b|_id$|^id|"
    r"frage|antwort|l\u00f6sung|aufgabe|richtig|erkl\u00e4rung|erl\u00e4uterung|quelle|"
    r"pregunta|enunciado|opci\u00f3n|opciones|resp\.|respuesta|correct|clave|comentario|fuente|"
    r"quest\u00e3o|pergunta|alternativa|resposta|gabarito|fonte|question|\u00e9nonc\u00e9|choix|r\u00e9ponse|"
    r"\u95ee\u9898|\u9898\u76ee|\u9898\u5e72|\u9009\u9879|\u7b54\u6848|\u554f\u984c|\u5b9e\u4f53|\u5173\u7cfb"
)
"""What headers say, in the languages that have forms."""
_ASKS = re.compile(
    r"(?i)question|qtext|^q$|claim|statement|frage|pregunta|enunciado|pergunta|quest\u00e3o|\u95ee\u9898|\u9898\u76ee|\u9898\u5e72"
)
_KEY = re.compile(r"\(?[A-Ja-j][).]?\Z")
_NUMBER = re.compile(r"[\d.,:/ -]+\Z")


class UnclearLayoutError(Exception):
    """What cannot be told of a file, as a question to its author.

    With `sure` the kind of the file is known, and only this is open; `hint` says how to answer.
    """

    def __init__(self, question: str, *, sure: bool = False, hint: str = "") -> None:
        super().__init__(question)
        self.sure, self.hint = sure, hint


@dataclass(frozen=True, slots=True)
class FileSample:
    """Records of a file, by the names or numbers of their columns, and the settings of a source that reads them.

    `blank_lines` finds the lines of the whole file whose cells are all empty: a build drops them, as it does the
    `headings`, rows of one cell among wider ones, which are left out here.
    """

    records: Sequence[Mapping[str | int, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    blank_lines: Callable[[], Sequence[int]] = tuple[int, ...]
    headings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What somebody said of a file: its encoding, worksheet and language, and some of the names in its first line.

    At `most` so many records are read. If a column `repeats` few values, as that of the relations of a graph does, its
    first cell tells whether the first row is a header.
    """

    encoding: str = ""
    sheet: str = ""
    language: str = ""
    names: frozenset[str] = frozenset()
    repeats: bool = False
    most: int | None = ROWS

    def of_kind(self, kind: str) -> Reading:
        """How to read a source of this kind: of claims all records, for each label needs a meaning."""
        return replace(self, repeats=kind == "triples", most=None if kind == "claims" else ROWS)


@cache
def table_words() -> Mapping[str, Any]:
    """The words of ``words.yaml``."""
    return cast("Mapping[str, Any]", yaml.safe_load((files(__package__ or "") / "words.yaml").read_text("utf-8")))


@cache
def label_words() -> Mapping[str, str]:
    """The words of labels, and what each means: yes, no, maybe, true, false or skip."""
    return {word: means for means, words in table_words()["labels"].items() for word in words}


def read_sample(path: Path, reading: Reading) -> FileSample:
    """The first records of a file: a table with or without header, JSON, JSON Lines, Parquet or XLSX.

    Raises:
        UnclearLayoutError: The encoding, the separator, the header or the place of the records cannot be told.
    """
    suffix = path.suffix.lower()
    form = TABLE_SUFFIXES.get(suffix)
    if form == "parquet":
        return FileSample(_parquet(path, reading.most))
    if form == "xlsx":
        return _with_header(*_sheet(path, reading), {"sheet": reading.sheet} if reading.sheet else {}, reading)
    settings = encoding_settings(path, reading)
    encoding = str(settings.get("encoding", "utf-8"))
    start = read_given_file(path)[:4096].decode(encoding, errors="ignore").lstrip("\ufeff \t\r\n")[:1]
    if start in ("{", "[") or form in ("json", "jsonl"):
        return _json(path, encoding, settings, form, reading.most)
    return _table(path, encoding, settings, form, reading)


def is_running_text(path: Path, reading: Reading) -> bool:
    """Whether a text is no table, by its lines."""
    with suppress(UnclearLayoutError):
        read_sample(path, reading)
        return False
    return True


def encoding_settings(path: Path, reading: Reading) -> dict[str, Any]:
    """The setting that reads a text whose encoding is not UTF-8; UnclearLayoutError if several fit.

    Of encodings in which a text reads well, the letters of its language decide, or somebody said it.
    """
    data = read_given_file(path)
    if len(data) > _LARGEST:
        raise UnclearLayoutError("the file is too large to look into")
    try:
        data.decode(reading.encoding or "utf-8")
    except (UnicodeDecodeError, LookupError) as error:
        names = likely_encodings(path)
        hint = f"say the language, --language xx, or the encoding, --columns encoding={next(iter(names), 'NAME')}"
        if reading.encoding:
            raise UnclearLayoutError(f"the encoding is not {reading.encoding}: {error}", sure=True, hint=hint) from None
        texts = {name: data.decode(name, errors="replace") for name in names}
        if len(best := likely_in_language(texts, reading.language)) != 1:
            seen = " or ".join(best) or "none that reads well"
            raise UnclearLayoutError(f"the encoding: {seen}", sure=True, hint=hint) from None
        return {"encoding": best[0]}
    return {"encoding": reading.encoding} if reading.encoding else {}


def _parquet(path: Path, most: int | None) -> Sequence[Any]:
    import pyarrow as pa

    try:
        with GivenParquet(path) as file:
            batches = islice(file.batches(most_rows=ROWS), None if most is None else 1)
            return [record for batch in batches for record in batch.to_pylist()]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnclearLayoutError(f"whether this is Parquet: {str(error)[:80]}") from None


def sheet_names(path: Path) -> list[str]:
    """The worksheets of an XLSX file that are not hidden, an empty name for one that is alone; of other files that."""
    if path.suffix.lower() != ".xlsx":
        return [""]
    with imports_of("xlsx", "a worksheet", instead="save it as CSV"):
        from benchbuilder.annotation import UnreadableWorkbookError, worksheet_names
    try:
        names = worksheet_names(path)
    except UnreadableWorkbookError as error:
        raise UnclearLayoutError(f"whether this is XLSX: {error}") from None
    return [name for name, is_shown in names.items() if is_shown] if len(names) > 1 else [""]


def _first_line(rows: Iterable[tuple[int, Sequence[str]]], given: frozenset[str] = frozenset()) -> int:
    """The line on which a table begins: 1, or that of the names of its columns below a title and other such lines.

    A row that says what it names may stand below lines with fewer cells. Another one stands below lines of one cell:
    it has three cells, or these lines have no separator. A note with a separator in it is narrower than all below it.
    `given` are names that somebody says are there.
    """
    first = [(line, cells, [cell for cell in cells if cell.strip()]) for line, cells in islice(rows, _MOST_ABOVE)]
    named = [sum(len(cell) <= _LONGEST_NAME and bool(_NAMES.search(cell)) for cell in filled) for *_, filled in first]
    wanted = min(2, len(given))
    if wanted and (told := [line for line, cells, _ in first if len(given & {*map(column_name, cells)}) >= wanted]):
        return told[0]
    if not first or named[0] > 1 or (first[0][2] and all(map(_NAMES.fullmatch, first[0][2]))):
        return 1
    wide = [max((len(filled) for *_, filled in first[:n]), default=0) for n in range(len(first))]
    for (line, _, filled), names, above in zip(first, named, wide, strict=True):
        if names > 2 and len(filled) > above:
            return line
    widths = [len(cells) for _, cells, _ in first]
    full = widths.index(widths[-1])
    is_note = 0 < full < 4 <= len(widths) - full and max(widths[:full]) < widths[-1] == max(widths) > 2
    if is_note and set(widths[full:]) == {widths[-1]} and max(widths[:full]) > 1:
        return first[full][0]
    joined = max((len(cells) for _, cells, filled in first if len(filled) < 2), default=0)
    at = next((n for n, (*_, filled) in enumerate(first) if len(filled) > 1), 0)
    return first[at][0] if at and len(first[at][2]) > (1 if joined == 1 else 2) else 1


def _sheet(path: Path, reading: Reading) -> tuple[list[list[str]], int]:
    """The rows of a worksheet that are not empty, and the number of the first one."""
    with imports_of("xlsx", "a worksheet", instead="save it as CSV"):
        from benchbuilder.annotation import UnreadableWorkbookError, open_worksheet
    try:
        with open_worksheet(path, reading.sheet) as rows:
            filled = [(number, row) for number, row in enumerate(islice(rows, reading.most), 1) if any(row)]
    except UnreadableWorkbookError as error:
        raise UnclearLayoutError(f"whether this is XLSX: {error}") from None
    first = _first_line(filled, reading.names)
    table = [row for number, row in filled if number >= first]
    width = max(map(len, table), default=0)
    return [[*row, *[""] * (width - len(row))] for row in table], first


def _table(path: Path, encoding: str, settings: Mapping[str, Any], form: str | None, reading: Reading) -> FileSample:
    """A delimited file; of the separators, that with which all rows have one width of several columns."""
    usual = {"csv": ",", "tsv": "\t"}.get(form or "", "")
    fits: dict[str, tuple[TableDialect, list[list[str]]]] = {}
    for delimiter, quoting in product("\t|;,", (True, False)):
        dialect = None if delimiter in fits else _dialect(path, encoding, delimiter, reading.names, quoting=quoting)
        if dialect is not None and (rows := _rows(path, dialect, ROWS)):
            fits[delimiter] = dialect, rows
    width = max((dialect.width or 0 for dialect, _ in fits.values()), default=0)
    best = [delimiter for delimiter, (dialect, _) in fits.items() if dialect.width == width]
    if len(best) != 1:
        none = "with none do all rows have the same number of columns"
        raise UnclearLayoutError(f"the separator: {' or '.join(map(repr, best)) or none}")
    [delimiter] = best
    dialect, rows = fits[delimiter]
    if reading.most is None:
        rows = _rows(path, dialect, None) or rows
    given = dict(settings)
    if form not in ("csv", "tsv"):
        given["format"] = "delimited"
    if delimiter != (usual or "\t"):
        given["delimiter"] = delimiter
    if dialect.quoting != (form == "csv") and b'"' in read_given_file(path):
        given["quoting"] = dialect.quoting
    sample = _with_header(rows, dialect.first, given, reading)

    def blank_lines() -> list[int]:
        return [unit.line for unit in _units(path, dialect) if not unit.reason and not any(map(str.strip, unit.values))]

    return replace(sample, blank_lines=blank_lines)


def _units(path: Path, dialect: TableDialect) -> Iterator[RawRow]:
    """All rows of a table, its first one, too."""
    return delimited_rows(path, path.name, dialect, list(range(dialect.width or 0)))


def _dialect(path: Path, encoding: str, delimiter: str, names: frozenset[str], *, quoting: bool) -> TableDialect | None:
    """How a file is split by this delimiter; ``None`` if its first row then has one cell or none."""
    dialect = TableDialect("path", encoding, delimiter, quoting=quoting, header=False, width=None)
    try:
        heads = list(islice(delimited_cells(path, dialect), _MOST_ABOVE))
    except DataError:
        return None
    first = _first_line(((row.line, row.cells) for row in heads), names)
    width = next((len(row.cells) for row in heads if row.line >= first), 0)
    return replace(dialect, width=width, first=first) if width > 1 else None


def _rows(path: Path, dialect: TableDialect, most: int | None) -> list[list[str]]:
    """The first rows if nearly all have one width; none otherwise."""
    try:
        units = list(islice(_units(path, dialect), most))
    except DataError:
        return []
    rows = [[str(value).strip() for value in unit.values] for unit in units if not unit.reason]
    return rows if len(rows) >= _MOSTLY * len(units) else []


def _with_header(rows: Sequence[Sequence[str]], line: int, settings: Mapping[str, Any], reading: Reading) -> FileSample:
    """The records of a table from this line on, whose first row has names, or is a record like the others."""
    settings = {**settings, "header": line} if line > 1 else settings
    if not rows:
        raise UnclearLayoutError("the file holds no rows")
    first = list(map(column_name, rows[0]))
    body = [row for row in rows[1:] if list(map(column_name, row)) != first]  # joined files repeat their header
    headings = [max(row, key=len) for row in body if sum(map(bool, row)) == 1]
    wide = [row for row in body if sum(map(bool, row)) > 2]
    if headings and _LEAST_WIDE * len(body) <= len(wide):
        body = [row for row in body if sum(map(bool, row)) != 1]
    else:
        headings = []
    sorts = [{_sort(row[n]) for row in body if row[n]} for n in range(len(first))]
    told = [next(iter(found)) if len(found) == 1 else "" for found in sorts]
    alike = [n for n, cell in enumerate(first) if told[n] and _sort(cell) == told[n]]
    differs = any(cell and sort and _sort(cell) != sort for cell, sort in zip(first, told, strict=True))
    named = sum(len(cell) <= _LONGEST_NAME and bool(_NAMES.search(cell)) for cell in first)
    few = min(range(len(first)), key=lambda n: len({row[n] for row in body}))
    if reading.repeats and 3 * len({row[few] for row in body}) <= len(body):
        is_row = any(row[few] == first[few] for row in body)
        alike, differs, named = ([0], False, 0) if is_row else ([], True, named)
    alike, differs = ([], True) if reading.names & {*first} else (alike, differs)
    if (named >= 2 or differs) and (not alike or (named >= 2 and all(told[n] == "key" for n in alike) and differs)):
        columns = [name if name and first.count(name) == 1 else n for n, name in enumerate(first)]
        return FileSample([dict(zip(columns, row, strict=True)) for row in body], settings, headings=headings)
    if alike and not differs and line == 1:
        more = {"header": False, "width": len(first)}
        return FileSample([dict(enumerate(row)) for row in (rows[0], *body)], {**settings, **more}, headings=headings)
    which = "the first line" if line == 1 else f"line {line}"
    raise UnclearLayoutError(f"whether {which} is a header: {' | '.join(first)[:80]}")


_LONGEST_NAME = 40
_LEAST_WIDE = 0.6
"""Among so many rows of three cells or more, a row of one cell is a heading."""


def _sort(cell: str) -> str:
    """What sort of cell one is, as far as a name of a column is none."""
    if cell.casefold() in label_words():
        return "verdict"
    if _KEY.match(cell):
        return "key"
    if _NUMBER.match(cell):
        return "number"
    return "question" if cell.rstrip().endswith(("?", "\uff1f")) else ""


def _json(path: Path, encoding: str, settings: Mapping[str, Any], form: str | None, most: int | None) -> FileSample:
    is_lines = form == "jsonl" or is_json_lines(path, encoding)
    text = read_given_file(path).decode(encoding, errors="replace").removeprefix("\ufeff")
    needed = dict(settings) if form in ("json", "jsonl") else {**settings, "format": "jsonl" if is_lines else "json"}
    try:
        if is_lines:
            return FileSample(_json_lines(text, most), needed)
        data = parse_json(text, object_pairs_hook=unique_object)
    except ValueError as error:
        raise UnclearLayoutError(f"neither JSON nor JSON Lines: {error}") from None
    where, records = _records(data, "")
    return FileSample(records[:most], {**needed, **({"records": where} if where else {})})


def _json_lines(text: str, most: int | None) -> list[dict[str | int, Any]]:
    lines = list(islice((line for line in text.split("\n") if line.strip()), most))
    records: list[Any] = []
    for line in lines:
        with suppress(ValueError):  # a damaged line is a unit that a build drops with its reason
            records.append(parse_json(line, object_pairs_hook=unique_object))
    records = [record for record in records if isinstance(record, dict)]
    if not records or len(records) < _MOSTLY * len(lines):
        raise UnclearLayoutError(f"the records: {len(records)} of {len(lines)} lines are objects of JSON")
    return records


def _records(data: Any, where: str) -> tuple[str, list[Any]]:
    """The path of the records of a document, and the records: the first list of objects that are not parts of one."""
    if isinstance(data, list):
        items = cast("list[Any]", data)
        if items and all(isinstance(item, dict) for item in items):
            inner = _inner(items[0])
            if inner and not _is_question(items[0]):
                below = [record for item in items for record in _records(item.get(inner) or [], "")[1]]
                deeper = _records(items[0][inner], "")[0].removeprefix("[].")
                return ".".join(filter(None, (where or "[]", f"{inner}[]", deeper))), below
            return where, items
        raise UnclearLayoutError("where the records are: the file is a list of other things")
    if not isinstance(data, dict):
        raise UnclearLayoutError("where the records are")
    values = cast("dict[str, Any]", data)
    parts = [value for value in values.values() if isinstance(value, dict)]
    if len(values) > 1 and len(parts) == len(values) and len({tuple(part) for part in parts}) == 1:
        inner = _inner(parts[0])
        if inner is None or any(isinstance(value, str) and value.endswith("?") for value in parts[0].values()):
            return f"{where}{{}}".removeprefix("."), parts
        return f"{where}{{}}.{inner}[]".removeprefix("."), [record for part in parts for record in part[inner]]
    for name, value in values.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return _records(value, f"{where}.{name}[]".removeprefix("."))
        parts = list(value.values()) if isinstance(value, dict) else []
        if parts and all(isinstance(part, dict) and _inner(part) for part in parts):
            return _records(value, f"{where}.{name}".removeprefix("."))
    return "", [values]


def _is_question(record: Mapping[str, Any]) -> bool:
    """Whether a record has a field that asks or claims something."""
    return any(isinstance(value, str) and _ASKS.search(name) for name, value in record.items())


def _inner(record: Mapping[str, Any]) -> str | None:
    """The field of a record that holds a list of objects with questions or parts of them."""
    for name, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            first = cast("dict[str, Any]", value[0])
            if _is_question(first) or "qas" in first or _inner(first):
                return name
    return None
