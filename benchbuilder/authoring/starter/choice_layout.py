"""Guesses which columns of a file hold questions, options and keys, from their content; names need no language."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from benchbuilder.config import OPEN_PLACE
from benchbuilder.core import decode_text, parse_json, read_given_file

_ROWS = 300
_KEY = re.compile(r"\(?([A-Ha-h]|[0-9])[).]?\Z")
_MARKS = (r"\([A-Ha-h]\)", r"(?<![\w(])[A-Ha-h][.)、．:]\s?")
_MOSTLY = 0.95
_LETTER = re.compile(r"[A-Ha-h]\Z")
_VARIED = 0.5
"""The smallest share of different texts in a column of options; a column of subjects has fewer."""


@dataclass(frozen=True, slots=True)
class ChoiceLayout:
    """The settings of a source that reads a file: its columns, and what its keys and options look like."""

    question: str
    options: str
    answer_key: str
    settings: tuple[tuple[str, str], ...] = ()


def guess_layout(path: Path) -> ChoiceLayout | None:
    """The layout of multiple-choice questions in `path`; ``None`` if it cannot be told.

    A table (CSV, TSV) may have a header or none; JSON and JSON Lines hold one record a question.
    """
    text = decode_text(read_given_file(path))
    if text is None:
        return None
    if path.suffix.lower() in (".json", ".jsonl"):
        return _of_records(_records(text, path.suffix.lower()))
    is_tsv = path.suffix.lower() == ".tsv"
    delimiter = "\t" if is_tsv else max(",;", key=text.partition("\n")[0].count)
    try:
        quoted = not is_tsv or _cells_are_quoted(text, delimiter)
        layout = _of_rows(_rows(text, delimiter, quoted=quoted), delimiter)
    except csv.Error:  # a cell that is too large to be one
        return None
    if layout is not None and is_tsv and quoted and "quoting" not in dict(layout.settings):
        return replace(layout, settings=(*layout.settings, ("quoting", "true")))
    return layout


def _rows(text: str, delimiter: str, *, quoted: bool) -> list[list[str]]:
    """The first rows of a table, as the reader of delimited files splits them."""
    lines = io.StringIO(text, newline="")
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    rows = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=quoted)
    return [row for row in islice(rows, _ROWS) if row]


def _cells_are_quoted(text: str, delimiter: str) -> bool:
    """Whether cells are in quotation marks, as spreadsheets save them: without the marks, all rows have one width."""
    if not any(cell.startswith('"') for row in _rows(text, delimiter, quoted=False) for cell in row):
        return False
    try:
        return len({len(row) for row in _rows(text, delimiter, quoted=True)}) == 1
    except csv.Error:  # a mark that is part of the text, such as that of inches
        return False


def _records(text: str, suffix: str) -> list[Mapping[str, Any]]:
    try:
        lines = islice((line for line in text.split("\n") if line.strip()), _ROWS)
        data: Any = [parse_json(line) for line in lines] if suffix == ".jsonl" else parse_json(text)
    except (ValueError, RecursionError):
        return []
    return [item for item in data[:_ROWS] if isinstance(item, dict)] if isinstance(data, list) else []


def _of_records(records: Sequence[Mapping[str, Any]]) -> ChoiceLayout | None:
    names = list(dict.fromkeys(name for record in records for name in record))
    lists = [name for name in names if all(isinstance(record.get(name), list | dict) for record in records)]
    marked = {name: mark for name in names for mark in _MARKS if _has_marks(records, name, mark)}
    keys = [name for name in names if _is_key([record.get(name) for record in records])]
    texts = [name for name in names if name not in (*lists, *marked, *keys)]
    options = next(iter((*lists, *marked)), None)
    if not keys or options is None or not texts:
        return None
    question = max(texts, key=lambda name: sum(len(str(record.get(name, ""))) for record in records))
    counts = [_options_of(record.get(options), marked.get(options)) for record in records]
    settings = [("key_as", key_as)] if (key_as := _key_as([record.get(keys[0]) for record in records], counts)) else []
    settings += [("option_mark", json.dumps(marked[options]))] if options in marked else []
    quoted = [json.dumps(name, ensure_ascii=False) for name in (question, options, keys[0])]
    return ChoiceLayout(quoted[0], quoted[1], quoted[2], tuple(settings))


def _has_marks(records: Sequence[Mapping[str, Any]], name: str, mark: str) -> bool:
    """Whether a column holds all options as one text."""
    texts = [record.get(name) for record in records]
    found = sum(isinstance(text, str) and len(re.findall(mark, text)) >= 2 for text in texts)
    return found >= _MOSTLY * len(texts)


def _of_rows(rows: Sequence[Sequence[str]], delimiter: str) -> ChoiceLayout | None:
    width = max(map(len, rows), default=0)
    full = [row for row in rows if len(row) == width]
    for header in (1, 0):
        body = full[header:]
        keys = [n for n in range(width) if body and _is_key([row[n] for row in body])]
        first = [cell.strip() for cell in full[0]] if full else []
        if not keys or (header and _KEY.match(first[keys[-1]].strip()) and _is_key([row[keys[-1]] for row in full])):
            continue
        key = keys[-1]
        beside = [n for n in range(key) if n not in keys][-max(_named_options([row[key] for row in body]), 2) :]
        left = [n for n in range(width) if n not in (*beside, *keys)]
        if len(beside) < 2 or not left:
            continue
        question = max(left, key=lambda n: sum(len(row[n]) for row in body))
        more = [
            n
            for n in left
            if question < n < beside[0]
            and ((header and _LETTER.match(first[n].strip())) or len({row[n] for row in body}) > _VARIED * len(body))
        ]
        beside = [*more, *beside]  # nobody need choose the last option of any question
        named = [
            json.dumps(name, ensure_ascii=False) if header and first.count(name) == 1 else str(n)
            for n, name in enumerate(first)
        ]
        counts = [len(beside)] * len(body)
        settings = [("key_as", key_as)] if (key_as := _key_as([row[key] for row in body], counts)) else []
        settings += [("header", "true")] if header and any(named[n].isdigit() for n in (question, *beside, key)) else []
        settings += [] if header else [("header", "false"), ("width", str(width)), ("quoting", "true")]
        settings += [("delimiter", json.dumps(delimiter))] if delimiter == ";" else []
        return ChoiceLayout(named[question], f"[{', '.join(named[n] for n in beside)}]", named[key], tuple(settings))
    return None


def _named_options(values: Sequence[str]) -> int:
    """The smallest number of options among which every key names one."""
    marks = [value.strip("(). ").upper() for value in values]
    digits = [int(mark) for mark in marks if mark.isdigit()]
    letters = [ord(mark) - ord("A") + 1 for mark in marks if _LETTER.match(mark)]
    return max([*letters, *(digit + (0 in digits) for digit in digits)], default=0)


def _is_key(values: Sequence[Any]) -> bool:
    """Whether a column names options: by a letter or a digit, of which there are several."""
    texts = [str(value).strip() for value in values if value not in (None, "")]
    named = [match[1].upper() for text in texts if (match := _KEY.match(text))]
    return len(named) >= max(1, _MOSTLY * len(values)) and 2 <= len(set(named)) <= 8


def _options_of(value: Any, mark: str | None) -> int:
    """How many options a record has."""
    return len(re.findall(mark, str(value))) if mark else len(value) if isinstance(value, list | dict) else 0


def _key_as(values: Sequence[Any], counts: Sequence[int]) -> str:
    """How a column names options, if not by letters; open where numbers count from 0 as well as from 1.

    The number of the options of a row as its key tells: it counts from 1. Else a 0 tells; with both, 0 means no answer.
    """
    marks = [str(value).strip("(). ") for value in values]
    if sum(mark.isdigit() for mark in marks) < _MOSTLY * len(values):
        return ""
    numbers = [(int(mark), count) for mark, count in zip(marks, counts, strict=True) if mark.isdigit()]
    if any(number >= count for number, count in numbers):
        return "index_from_1"
    return "index" if any(number == 0 for number, _ in numbers) else f"{OPEN_PLACE} # index (from 0) or index_from_1?"
