"""Units of a plain text: lines, blocks between blank lines, or the whole file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Literal

from benchbuilder.sources.formats.lines import TextLine, read_lines
from benchbuilder.sources.formats.tables import RawRow


def text_rows(path: Path, encoding: str, unit: Literal["line", "block", "file"], columns: int) -> Iterator[RawRow]:
    """The units of a text with the number of their first line; a unit's text is the first of `columns` values."""
    lines = read_lines(path, encoding)
    empty = [None] * (columns - 1)
    if unit == "line":
        for line in lines:
            if line.problem:
                yield RawRow(line.number, (), "undecodable", line.problem)
            elif text := line.text.strip():
                yield RawRow(line.number, [text, *empty])
        return
    groups = [list(lines)] if unit == "file" else _blocks(lines)
    for group in groups:
        problem = next((f"line {line.number}: {line.problem}" for line in group if line.problem), "")
        text = "\n".join(line.text.rstrip() for line in group).strip()
        if problem:
            yield RawRow(group[0].number, (), "undecodable", problem)
        elif text:
            yield RawRow(group[0].number, [text, *empty])


def _blocks(lines: Iterator[TextLine]) -> Iterator[list[TextLine]]:
    for blank, group in groupby(lines, key=lambda line: not line.problem and not line.text.strip()):
        if not blank:
            yield list(group)
