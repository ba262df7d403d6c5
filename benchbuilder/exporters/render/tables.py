"""Tables of results as data, from which HTML, Markdown, LaTeX, CSV and JSON are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.core import format_dollars

ValueFormat = Literal["words", "score", "signed", "count", "percent", "usd", "decimal"]
"""The format of a column: words, a score with three decimals, the same with its sign, a whole number, per cent, US
dollars, or a number with one decimal."""
TableBlock = Literal["reference", "own", "published"]
"""The kind of a line: a reference, a result of this run, or a published figure."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its name in data files, its heading, and the form of its values."""

    key: str
    label: str
    format: ValueFormat = "score"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A value with its interval and counts, or words; if it has neither, `why` gives the reason. `grey`: in doubt."""

    value: float | None = None
    words: str = ""
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    why: str = ""
    grey: bool = False


@dataclass(frozen=True, slots=True)
class TableLine:
    """One line. `tag` follows the first cell, `group` names the kind of system in data files."""

    cells: tuple[TableCell, ...]
    group: str = ""
    tag: str = ""
    block: TableBlock = "own"


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table. `name` is unique and a valid file name; the first `keys` columns identify a line."""

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    lines: tuple[TableLine, ...]
    introduction: str = ""
    notes: tuple[str, ...] = ()
    keys: int = 1

    def blocks(self) -> list[tuple[TableBlock, list[TableLine]]]:
        """The lines by block, in the order in which blocks first occur."""
        names: dict[TableBlock, None] = dict.fromkeys(line.block for line in self.lines)
        return [(name, [line for line in self.lines if line.block == name]) for name in names]


def text_cell(text: str) -> TableCell:
    """A cell that holds words."""
    return TableCell(words=text)


def count_cell(number: int) -> TableCell:
    """A cell that holds a number of things."""
    return TableCell(float(number))


def format_value(value: float, form: ValueFormat) -> str:
    """A value as people read it.

    >>> format_value(0.6712, "score"), format_value(-0.02, "signed"), format_value(1234.0, "count")
    ('0.671', '−0.020', '1,234')
    """
    if form == "count":
        return f"{value:,.0f}"
    if form == "decimal":
        return f"{value:,.1f}"
    if form == "percent":
        return f"{value * 100:.1f} %".replace("-", "\N{MINUS SIGN}")
    if form == "usd":
        return format_dollars(value)
    text = f"{value:+.3f}" if form == "signed" else f"{value:.3f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", "\N{MINUS SIGN}")


def format_cell(cell: TableCell, form: ValueFormat) -> str:
    """The text of a cell, without its interval.

    >>> format_cell(TableCell(0.5, sd=0.25), "score"), format_cell(TableCell(words="a"), "words")
    ('0.500 ± 0.250', 'a')
    """
    if cell.value is None:
        return cell.words or ("" if form == "words" else "–")
    text = format_value(cell.value, form)
    return text if cell.sd is None else f"{text} ± {format_value(cell.sd, form)}"


def format_interval(cell: TableCell, form: ValueFormat) -> str:
    """The interval of a cell, or nothing.

    >>> format_interval(TableCell(0.5, low=0.4, high=0.6), "score")
    '0.400 – 0.600'
    """
    if cell.value is None or cell.low is None or cell.high is None:
        return ""
    low, high = format_value(cell.low, form), format_value(cell.high, form)
    return f"{low.removesuffix(' %')} – {high}"


def table_as_data(result_table: ResultTable) -> dict[str, Any]:
    """The table as plain data."""
    return {
        "name": result_table.name,
        "title": result_table.title,
        "keys": result_table.keys,
        "columns": [{"key": c.key, "label": c.label, "form": c.format} for c in result_table.columns],
        "lines": [
            {"group": line.group, "block": line.block, "cells": [_cell(cell) for cell in line.cells]}
            for line in result_table.lines
        ],
        "notes": list(result_table.notes),
    }


def _cell(cell: TableCell) -> dict[str, Any]:
    found = {name: getattr(cell, name) for name in ("value", "words", "sd", "low", "high", "n", "why")}
    return {
        name: round(value, 9) if isinstance(value, float) else value
        for name, value in found.items()
        if value not in (None, "")
    }


def described_parts(cells: Sequence[TableCell], low: str) -> list[str]:
    """The parts besides the value that any of `cells` has; `low` is the name of an interval's lower bound."""
    parts = [part for part in ("sd", low, "high", "n") if any(getattr(cell, part) is not None for cell in cells)]
    return [*parts, *(["why"] if any(cell.why for cell in cells) else [])]
