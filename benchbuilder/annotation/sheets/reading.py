"""Reads filled sheets: votes, comments, and problems with file and row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from benchbuilder.annotation.base import Comment, Subject, Value
from benchbuilder.annotation.sheets.sheets import fold_whitespace, parse_answer_cell, unescape_formula
from benchbuilder.annotation.sheets.workbook_support import UnreadableWorkbookError
from benchbuilder.config import GuidingQuestion
from benchbuilder.core import csv_rows, head_excerpt

_MARKER = re.compile(r"\[([a-z0-9_:]+)\]\s*$", re.ASCII | re.IGNORECASE)
_KEY = re.compile(r"^[cp][0-9a-f]{20}$")
_READ = {"key", "annotator", "text", "note"}
_OTHER = GuidingQuestion(order=0, subject="claim", label="-", text="-", answer="text", max_chars=100_000)
"""Replaces a wording that is not asked now: its votes do not count, so its cells are not checked."""


class SheetVote(NamedTuple):
    """A vote in a file; `where` is ``file:row``, `text` the folded text of its row (empty if none)."""

    subject: Subject
    annotator: str
    value: Value
    file: str
    where: str
    text: str


@dataclass
class SheetContents:
    """The content of one or several files; `questions` maps wording keys to guiding questions."""

    people: Collection[str]
    questions: Mapping[str, GuidingQuestion]
    votes: list[SheetVote] = field(default_factory=list[SheetVote])
    comments: list[Comment] = field(default_factory=list[Comment])
    problems: list[str] = field(default_factory=list[str])


def read_vote_sheet(name: str, data: bytes, contents: SheetContents) -> None:
    """Read the filled sheet `name` (``.csv`` or ``.xlsx``) into `contents`."""
    if not name.lower().endswith(".xlsx"):
        lines = csv_rows(data, _is_header)
        if lines is None:
            contents.problems.append(f"{name}: it is not CSV in UTF-8 or GB18030")
        elif not (lines and _is_header(lines[0])):
            contents.problems.append(f"{name}: not an annotation sheet: the columns [key] and [annotator] are missing")
        else:
            read_vote_lines(name, lines, contents)
        return
    from benchbuilder.annotation.sheets.workbook import read_workbook  # needs the extra `xlsx`

    try:
        sheets = [lines for lines in read_workbook(data).values() if lines and "key" in _markers(lines[0]).values()]
    except UnreadableWorkbookError as error:
        contents.problems.append(f"{name}: {error}")
        return
    if not sheets:
        contents.problems.append(f"{name}: not an annotation sheet: the columns [key] and [annotator] are missing")
    for lines in sheets:
        read_vote_lines(name, lines, contents)


def _markers(header: Sequence[str]) -> dict[int, str]:
    matches = {index: _MARKER.search(cell) for index, cell in enumerate(header)}
    return {index: match[1].lower() for index, match in matches.items() if match}


def _is_header(line: Sequence[str]) -> bool:
    return {"key", "annotator"} <= set(_markers(line).values())


def read_vote_lines(name: str, lines: Sequence[Sequence[str]], contents: SheetContents) -> None:
    """Read a sheet with the header `lines[0]` (row 1). An ambiguous header is a problem, and no row is read."""
    markers = _markers(lines[0])
    if unclear := _header_problems(list(markers.values())):
        contents.problems += [f"{name}:1: {problem}" for problem in unclear]
        return
    for number, line in enumerate(lines[1:], start=2):
        cells = {marker: line[index].strip() for index, marker in markers.items() if index < len(line)}
        _read_row(name, f"{name}:{number}", cells, contents)


def _header_problems(markers: Sequence[str]) -> list[str]:
    """The problems of a header with a [key]; unknown markers may repeat."""
    problems = [
        f"{count} columns are headed [{marker}]; keep one"
        for marker, count in Counter(markers).items()
        if count > 1 and (marker in _READ or marker.startswith("q:"))
    ]
    if "annotator" not in markers:
        problems.append("no column is headed [annotator]; copy the header from the sheet to fill")
    if not any(marker.startswith("q:") for marker in markers):
        problems.append(
            "no column is headed [q:...], so it holds no judgements; copy the header from the sheet to fill"
        )
    return problems


def _read_row(file: str, where: str, cells: dict[str, str], contents: SheetContents) -> None:
    key, annotator = cells.get("key", ""), cells.get("annotator", "")
    values: dict[str, Value] = {}
    for marker, cell in cells.items():
        if not cell or not marker.startswith("q:"):
            continue
        wording = marker.rpartition(":")[2]
        question = contents.questions.get(wording, _OTHER)
        try:
            value = parse_answer_cell(question, cell)
        except ValueError as error:
            contents.problems.append(
                f"{where}: {marker.split(':')[1]} is {head_excerpt(cell, 60)!r}; {error} and an empty cell"
            )
            continue
        if value is not None:
            values[wording] = value
    note = unescape_formula(cells.get("note", ""))
    if not values and not note:
        return
    if not _KEY.match(key):
        contents.problems.append(
            f"{where}: the key {key!r} is not a key of a sheet; copy the row from the sheet to fill"
        )
    elif annotator not in contents.people:
        contents.problems.append(
            f"{where}: nobody is called {annotator!r}; people in this recipe: {', '.join(contents.people)}"
        )
    else:
        text = fold_whitespace(cells.get("text", ""))
        contents.votes += [
            SheetVote(Subject(key, word), annotator, value, file, where, text) for word, value in values.items()
        ]
        contents.comments += [Comment(annotator, key, note)] if note else []
