"""The file of pairs that a speaker fills in, and the list of rules whose outputs were accepted."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.config import display_path
from benchbuilder.core import (
    DataError,
    LengthUnit,
    Problem,
    RecipeError,
    comparison_form,
    escape_cell,
    normalise_space,
    read_given_text,
    unescape_cell,
)
from benchbuilder.steps.pairs.rules import StatementPair
from benchbuilder.steps.pairs.tokens import find_tokens, tokens_of, without_final_stop

PAIR_COLUMNS = ("question", "answer", "statement")
ACCEPTED_COLUMNS = ("rule", "shape", "first", "second", "third")


@dataclass(frozen=True)
class PairsFile:
    """The pairs with a statement, all rows of the file (each with its line), and repeated questions by their lines."""

    pairs: tuple[StatementPair, ...]
    rows: tuple[StatementPair, ...]
    repeated: tuple[tuple[int, int], ...] = ()


def read_pairs(path: Path, unit: LengthUnit) -> PairsFile:
    """The pairs in `path`: a table with the columns question, answer and statement, and comments after ``#``.

    Raises:
        DataError: The file cannot be read.
        RecipeError: An answer does not stand in its statement; with every such line.
    """
    rows = [StatementPair(*map(normalise_space, cells), line=line) for line, cells in _table(path, PAIR_COLUMNS)]
    filled = [row for row in rows if row.statement]
    problems = [
        Problem(f'the answer "{row.answer}" does not stand in the statement', where=f"{display_path(path)}:{row.line}",
                actual=row.statement, hint="write the answer as it is, or leave the statement empty")
        for row in filled
        if find_tokens(tokens_of(without_final_stop(row.answer), unit), tokens_of(row.statement, unit)) < 0
    ]  # fmt: skip
    if problems:
        raise RecipeError(problems)
    first: dict[str, StatementPair] = {}
    repeated: list[tuple[int, int]] = []
    for row in filled:
        known = first.setdefault(comparison_form(row.question), row)
        if known is not row and known.statement != row.statement:
            repeated.append((known.line, row.line))
    return PairsFile(tuple(first.values()), tuple(rows), tuple(repeated))


def read_accepted(path: Path) -> frozenset[str]:
    """The digests of the rules in `path` whose outputs were accepted; DataError if the file cannot be read."""
    return frozenset(cells[0] for _, cells in _table(path, ACCEPTED_COLUMNS))


def render_rows(columns: Sequence[str], blocks: Iterable[tuple[str, Sequence[Sequence[str]]]]) -> str:
    """A table with a comment above each block of rows."""
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
    writer.writerow(columns)
    for comment, rows in blocks:
        lines.write("".join(f"# {line}\n" for line in comment.splitlines()))
        writer.writerows([escape_cell(cell) for cell in row] for row in rows)
    return lines.getvalue()


def _table(path: Path, columns: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
    """The cells of the columns of `path`, each row with its line."""
    try:
        text = read_given_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        hint = "`benchbuild stem-shapes recipe=NAME` writes it"
        raise DataError("the file of pairs cannot be read", where=str(path), why=str(error), next=hint) from error
    lines = [
        (number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("# ")
    ]
    rows = [row for _, line in lines for row in csv.reader([line], delimiter="\t")]
    if not rows:
        return []
    header: Mapping[str, int] = {name.strip(): position for position, name in enumerate(rows[0])}
    if missing := [name for name in columns if name not in header]:
        raise DataError(f"the file of pairs has no column {missing[0]!r}", where=f"{display_path(path)}:{lines[0][0]}",
                        why=f"its columns are {', '.join(rows[0])}",
                        next=f"begin with the line {'<tab>'.join(columns)}")  # fmt: skip
    found: list[tuple[int, tuple[str, ...]]] = []
    for (number, _), row in zip(lines[1:], rows[1:], strict=True):
        cells = (*row, *[""] * len(columns))
        found.append((number, tuple(unescape_cell(cells[header[name]]) for name in columns)))
    return found
