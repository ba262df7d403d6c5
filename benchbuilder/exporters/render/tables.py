"""Tables of results as data: one shape, from which HTML, Markdown, LaTeX, CSV and JSON are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.exporters.render.i18n import dollars

Form = Literal["words", "score", "signed", "count", "percent", "usd", "decimal"]
"""How a column's values read: a score with three decimals, the same with its sign, a whole number, a share in per cent,
US dollars, a number with one decimal."""
Block = Literal["reference", "own", "published"]
"""What a line is: a rule to measure others by, a result of this run, or a figure that others published."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name in data files, its heading, and the form of its values."""

    key: str
    label: str
    form: Form = "score"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value with what belongs to it, or `words`; where neither is there, `why` says why in words."""

    value: float | None = None
    words: str = ""
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `tag` is said behind the first cell, `group` names the kind of contender in data files."""

    cells: tuple[Cell, ...]
    group: str = ""
    tag: str = ""
    block: Block = "own"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table. `name` is unique and fit for a file name; the first `keys` columns say what a line is about."""

    name: str
    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    lead: str = ""
    notes: tuple[str, ...] = ()
    keys: int = 1

    def blocks(self) -> list[tuple[Block, list[Line]]]:
        """The lines by block, in the order in which blocks first occur."""
        names: dict[Block, None] = dict.fromkeys(line.block for line in self.lines)
        return [(name, [line for line in self.lines if line.block == name]) for name in names]


def words(text: str) -> Cell:
    """A cell that holds words."""
    return Cell(words=text)


def count(number: int) -> Cell:
    """A cell that holds a number of things."""
    return Cell(float(number))


def plain(value: float, form: Form) -> str:
    """A value as people read it.

    >>> plain(0.6712, "score"), plain(-0.02, "signed"), plain(1234.0, "count"), plain(0.5, "percent")
    ('0.671', '−0.020', '1,234', '50.0 %')
    """
    if form == "count":
        return f"{value:,.0f}"
    if form == "decimal":
        return f"{value:,.1f}"
    if form == "percent":
        return f"{value * 100:.1f} %".replace("-", "\N{MINUS SIGN}")
    if form == "usd":
        return dollars(value)
    text = f"{value:+.3f}" if form == "signed" else f"{value:.3f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", "\N{MINUS SIGN}")


def shown(cell: Cell, form: Form) -> str:
    """What a cell says, without its interval.

    >>> shown(Cell(0.5, sd=0.25), "score"), shown(Cell(words="a"), "words"), shown(Cell(), "score")
    ('0.500 ± 0.250', 'a', '–')
    """
    if cell.value is None:
        return cell.words or ("" if form == "words" else "–")
    text = plain(cell.value, form)
    return text if cell.sd is None else f"{text} ± {plain(cell.sd, form)}"


def interval(cell: Cell, form: Form) -> str:
    """The interval of a cell, or nothing.

    >>> interval(Cell(0.5, low=0.4, high=0.6), "score")
    '0.400 – 0.600'
    """
    if cell.value is None or cell.low is None or cell.high is None:
        return ""
    low, high = plain(cell.low, form), plain(cell.high, form)
    return f"{low.removesuffix(' %')} – {high}"


def as_data(sheet: Sheet) -> dict[str, Any]:
    """The table as plain data."""
    return {
        "name": sheet.name,
        "title": sheet.title,
        "keys": sheet.keys,
        "columns": [{"key": c.key, "label": c.label, "form": c.form} for c in sheet.columns],
        "lines": [
            {"group": line.group, "block": line.block, "cells": [_cell(cell) for cell in line.cells]}
            for line in sheet.lines
        ],
        "notes": list(sheet.notes),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    found = {name: getattr(cell, name) for name in ("value", "words", "sd", "low", "high", "n", "why")}
    return {
        name: round(value, 9) if isinstance(value, float) else value
        for name, value in found.items()
        if value not in (None, "")
    }


def described(cells: Sequence[Cell], low: str) -> list[str]:
    """Which parts besides the value any of `cells` has; `low` is the name of the first of an interval."""
    parts = [part for part in ("sd", low, "high", "n") if any(getattr(cell, part) is not None for cell in cells)]
    return [*parts, *(["why"] if any(cell.why for cell in cells) else [])]
