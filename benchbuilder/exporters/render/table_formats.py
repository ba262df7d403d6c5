"""Tables of results as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from benchbuilder.core.text.cells import escape
from benchbuilder.exporters.render.tables import Cell, Column, Line, Sheet, described, interval, shown
from benchbuilder.exporters.render.templates import markdown

_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "±": r"$\pm$", "–": "--", "\N{MINUS SIGN}": "$-$", "²": r"$^2$",
    "\n": " ", "\r": " ",
}  # fmt: skip


def tex(text: str) -> str:
    r"""`text` as LaTeX that says just that.

    >>> tex("a_b & 5 %")
    'a\\_b \\& 5 \\%'
    """
    return "".join(_TEX.get(char, char) for char in text)


def as_markdown(sheet: Sheet) -> str:
    """The table as GitHub reads it; intervals stand in brackets."""
    rows = [[_in_one(sheet, line, index) for index in range(len(sheet.columns))] for line in sheet.lines]
    head = [markdown(column.label) or " " for column in sheet.columns]
    rule = [":--" if column.form == "words" else "--:" for column in sheet.columns]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)) + "\n"


def _in_one(sheet: Sheet, line: Line, index: int) -> str:
    cell, column = line.cells[index], sheet.columns[index]
    text = markdown(shown(cell, column.form))
    if spread := interval(cell, column.form):
        text += f" ({spread})"
    return f"{text} ({markdown(line.tag)})" if line.tag and index == 0 else text


def as_latex(sheet: Sheet, stamp: Mapping[str, str]) -> str:
    """The table with booktabs; an interval stands in small type below its value."""
    shape = "".join("l" if column.form == "words" else "r" for column in sheet.columns)
    said = "; ".join(f"{name} {value}" for name, value in stamp.items())
    lines = [
        f"% {_one_line(sheet.title)} ({_one_line(said)})",
        r"% \usepackage{booktabs}; names in Chinese characters want XeLaTeX or LuaLaTeX with a font that has them",
        f"\\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        _row(tex(column.label) for column in sheet.columns),
    ]
    for _, rows in sheet.blocks():
        lines += [r"\midrule", *(text for line in rows for text in _latex_line(sheet.columns, line))]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex_line(columns: Sequence[Column], line: Line) -> list[str]:
    cells = [tex(shown(cell, column.form)) for cell, column in zip(line.cells, columns, strict=True)]
    if line.tag:
        cells[0] += f" ({tex(line.tag)})"
    below = [interval(cell, column.form) for cell, column in zip(line.cells, columns, strict=True)]
    if not any(below):
        return [_row(cells)]
    return [_row(cells), _row(f"{{\\scriptsize {tex(text)}}}" if text else "" for text in below)]


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def as_csv(sheet: Sheet, stamp: Mapping[str, str]) -> str:
    """Every value with all its decimals; what belongs to a value stands in columns of its own.

    Every line ends with its group and with `stamp`: which benchmark, which recipe.
    """
    parts = [[] if c.form == "words" else described([line.cells[i] for line in sheet.lines], "low")
             for i, c in enumerate(sheet.columns)]  # fmt: skip
    names = [name for column, more in zip(sheet.columns, parts, strict=True)
             for name in (column.key, *(f"{column.key}_{part}" for part in more))]  # fmt: skip
    rows = [
        [text for cell, more in zip(line.cells, parts, strict=True) for text in _texts(cell, more)]
        + [line.group, line.block, *stamp.values()]
        for line in sheet.lines
    ]
    return table([*names, "group", "block", *stamp], rows)


def _texts(cell: Cell, more: Sequence[str]) -> list[str]:
    first = cell.words if cell.value is None else _exact(cell.value)
    return [first, *(_exact(getattr(cell, part)) for part in more)]


def _exact(value: float | str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    return str(value)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Comma-separated lines; no cell of text reads as a formula, numbers stay numbers."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([escape(name) for name in head])
    for row in rows:
        writer.writerow([_safe(cell) for cell in row])
    return stream.getvalue()


def _safe(cell: object) -> str:
    text = _exact(cell) if isinstance(cell, float) else "" if cell is None else str(cell)
    try:
        float(text)
    except ValueError:
        return escape(text)
    return text
