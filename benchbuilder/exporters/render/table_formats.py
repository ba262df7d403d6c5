"""Writes tables of results as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from benchbuilder.core import escape_cell
from benchbuilder.exporters.render.tables import (
    ResultTable,
    TableCell,
    TableColumn,
    TableLine,
    described_parts,
    format_cell,
    format_interval,
)
from benchbuilder.exporters.render.templates import markdown_text

_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "±": r"$\pm$", "–": "--", "\N{MINUS SIGN}": "$-$", "²": r"$^2$",
    "\n": " ", "\r": " ",
}  # fmt: skip


def escape_latex(text: str) -> str:
    r"""`text` with the special characters of LaTeX escaped.

    >>> escape_latex("a_b & 5 %")
    'a\\_b \\& 5 \\%'
    """
    return "".join(_TEX.get(char, char) for char in text)


def table_as_markdown(result_table: ResultTable) -> str:
    """The table as GitHub Markdown, with intervals in parentheses."""
    rows = [
        [_cell_with_interval(result_table, line, index) for index in range(len(result_table.columns))]
        for line in result_table.lines
    ]
    head = [markdown_text(column.label) or " " for column in result_table.columns]
    rule = [":--" if column.format == "words" else "--:" for column in result_table.columns]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)) + "\n"


def _cell_with_interval(result_table: ResultTable, line: TableLine, index: int) -> str:
    cell, column = line.cells[index], result_table.columns[index]
    text = markdown_text(format_cell(cell, column.format))
    if spread := format_interval(cell, column.format):
        text += f" ({spread})"
    return f"{text} ({markdown_text(line.tag)})" if line.tag and index == 0 else text


def table_as_latex(result_table: ResultTable, stamp: Mapping[str, str]) -> str:
    """The table with booktabs; an interval is in small type below its value."""
    shape = "".join("l" if column.format == "words" else "r" for column in result_table.columns)
    details = "; ".join(f"{name} {value}" for name, value in stamp.items())
    lines = [
        f"% {_one_line(result_table.title)} ({_one_line(details)})",
        r"% \usepackage{booktabs}; names in Chinese characters need XeLaTeX or LuaLaTeX with a font that has them",
        f"\\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        _row(escape_latex(column.label) for column in result_table.columns),
    ]
    for _, rows in result_table.blocks():
        lines += [r"\midrule", *(text for line in rows for text in _latex_line(result_table.columns, line))]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex_line(columns: Sequence[TableColumn], line: TableLine) -> list[str]:
    cells = [escape_latex(format_cell(cell, column.format)) for cell, column in zip(line.cells, columns, strict=True)]
    if line.tag:
        cells[0] += f" ({escape_latex(line.tag)})"
    below = [format_interval(cell, column.format) for cell, column in zip(line.cells, columns, strict=True)]
    if not any(below):
        return [_row(cells)]
    return [_row(cells), _row(f"{{\\scriptsize {escape_latex(text)}}}" if text else "" for text in below)]


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def table_as_csv(result_table: ResultTable, stamp: Mapping[str, str]) -> str:
    """The table with all decimals; intervals, counts and the like have columns of their own.

    Every line ends with its group and with `stamp`, for instance the benchmark and the recipe.
    """
    parts = [[] if c.format == "words" else described_parts([line.cells[i] for line in result_table.lines], "low")
             for i, c in enumerate(result_table.columns)]  # fmt: skip
    names = [name for column, more in zip(result_table.columns, parts, strict=True)
             for name in (column.key, *(f"{column.key}_{part}" for part in more))]  # fmt: skip
    rows = [
        [text for cell, more in zip(line.cells, parts, strict=True) for text in _texts(cell, more)]
        + [line.group, line.block, *stamp.values()]
        for line in result_table.lines
    ]
    return csv_table([*names, "group", "block", *stamp], rows)


def _texts(cell: TableCell, more: Sequence[str]) -> list[str]:
    first = cell.words if cell.value is None else _exact(cell.value)
    return [first, *(_exact(getattr(cell, part)) for part in more)]


def _exact(value: float | str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    return str(value)


def csv_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Comma-separated lines; text that looks like a formula is escaped, numbers stay numbers."""
    return "".join(csv_lines(head, rows))


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of `csv_table`, some at a time."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([escape_cell(name) for name in head])
    for row in rows:
        writer.writerow([_safe(cell) for cell in row])
        if stream.tell() > _CSV_PIECE:
            yield stream.getvalue()
            stream.seek(0)
            stream.truncate()
    yield stream.getvalue()


_CSV_PIECE = 1 << 16
"""Characters of a piece of comma-separated lines."""


def _safe(cell: object) -> str:
    if isinstance(cell, float):
        return _exact(cell)
    return "" if cell is None else _safe_text(str(cell))


@lru_cache(maxsize=8192)  # names stand in many lines
def _safe_text(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return escape_cell(text)
    return text
