"""Rows whose outputs people judged, beside the rules: the set on which a change of rules is tried."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock

from benchbuilder.config import display_path
from benchbuilder.core import DataError, Row, escape_cell, make_folder, read_given_text, unescape_cell, write_atomically
from benchbuilder.explorer.workbench.trial_bench import TriedRow

Judgement = Literal["good", "bad", "unsure"]
Drawing = Literal["drawn", "picked"]
"""Whether chance chose a row to judge, or a person: only rows that were drawn stand for all."""
JudgedVerdict = Literal["kept", "broken", "mended", "still_wrong", "look_again", "open", "absent"]
COLUMNS = ("step", "row", "judged", "chosen", "at", "question", "answer", "made", "data")


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """A judgement: the row that a step got, by its content id, what the rules made of it, and whether that was right.

    `data` is the whole row, so that it can be tried where no build has it.
    """

    step: str
    row: str
    judged: Judgement
    chosen: Drawing
    at: str
    question: str
    answer: str
    made: str
    data: str


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """A judgement and what became of it under other rules, which made `now`."""

    judged: JudgedRow
    verdict: JudgedVerdict
    now: str


@dataclass(frozen=True, slots=True)
class JudgedShare:
    """How many judged rows are as people want them; `decided` leaves out those that a person must look at."""

    counts: Mapping[JudgedVerdict, int]

    @property
    def decided(self) -> int:
        """The rows that are right or wrong."""
        return sum(self.counts.get(name, 0) for name in ("kept", "mended", "broken", "still_wrong"))

    @property
    def right(self) -> int:
        """The rows that are right: good ones as they were, and bad ones that are not made any more."""
        return self.counts.get("kept", 0) + self.counts.get("mended", 0)

    @property
    def wrong(self) -> int:
        """The rows that are wrong."""
        return self.decided - self.right


def verdict_of(judged: JudgedRow, now: str | None) -> JudgedVerdict:
    """What became of a judgement; `now` is what the rules make, empty if nothing, None if nobody knows.

    A good row with another text must be looked at, and so must a bad one: another text may be right or wrong.
    """
    if now is None:
        return "absent"
    if judged.judged == "unsure":
        return "open"
    if judged.judged == "good":
        return "kept" if now == judged.made else "look_again" if now else "broken"
    return "still_wrong" if now == judged.made else "look_again" if now else "mended"


def judge_again(rows: Iterable[JudgedRow], tried: Callable[[JudgedRow], TriedRow | None]) -> list[JudgedResult]:
    """Every judgement with what becomes of it; `tried` gives what the rules make of a row."""
    results: list[JudgedResult] = []
    for judged in rows:
        now = tried(judged)
        text = None if now is None else now.text
        results.append(JudgedResult(judged, verdict_of(judged, text), text or ""))
    return results


def share_of(results: Iterable[JudgedResult]) -> JudgedShare:
    """The counts of verdicts."""
    return JudgedShare(dict(Counter(result.verdict for result in results)))


def read_judged(path: Path, step: str = "") -> list[JudgedRow]:
    """The judgements in a file, of one step or of all; none if there is no file. DataError if it cannot be read."""
    if not path.is_file():
        return []
    try:
        lines = read_given_text(path, "utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("the file of judged rows cannot be read", where=display_path(path), why=str(error),
                        next="restore it from your version control, or remove it") from error  # fmt: skip
    table = [next(csv.reader([line], delimiter="\t"), []) for line in lines]
    if not table or tuple(table[0]) != COLUMNS:
        raise DataError("this is no file of judged rows", where=f"{display_path(path)}:1",
                        why=f"its columns are {', '.join(table[0]) if table else 'none'}",
                        next=f"begin with the line {'<tab>'.join(COLUMNS)}")  # fmt: skip
    found = [_judged_row(cells, f"{display_path(path)}:{number}") for number, cells in enumerate(table[1:], 2)]
    return [row for row in found if not step or row.step == step]


def _judged_row(cells: Sequence[str], where: str) -> JudgedRow:
    if len(cells) != len(COLUMNS) or cells[2] not in get_args(Judgement) or cells[3] not in get_args(Drawing):
        raise DataError("this line is no judgement", where=where, why=f"{len(cells)} cells: {cells[:4]}",
                        next=f"judged is one of {', '.join(get_args(Judgement))}")  # fmt: skip
    values: list[Any] = [unescape_cell(cell) for cell in cells]
    return JudgedRow(*values)


def add_judged(path: Path, new: JudgedRow) -> None:
    """Write a judgement into a file, sorted by step and row; a later one of the same row counts.

    Others may write at the same time: each reads what the one before it wrote.
    """
    make_folder(path.parent)
    with FileLock(path.with_name(f".{path.name}.lock")):
        _add_judged(path, new)


def _add_judged(path: Path, new: JudgedRow) -> None:
    rows = {(row.step, row.row): row for row in read_judged(path)}
    before = rows.get((new.step, new.row))
    if before is not None and before.chosen == "drawn" and new.chosen == "picked" and before.made == new.made:
        new = replace(new, chosen="drawn")
    rows[new.step, new.row] = new
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for key in sorted(rows):
        writer.writerow([escape_cell(str(getattr(rows[key], name))) for name in COLUMNS])
    write_atomically(path, lines.getvalue())


def row_data(row: Row) -> str:
    """A row as text."""
    return json.dumps(row.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def row_of(judged: JudgedRow, cls: type[Row]) -> Row:
    """The row of a judgement; DataError if it is no row of this class."""
    try:
        return cls.model_validate_json(judged.data)
    except ValueError as error:
        raise DataError("the row of a judgement does not fit the step", where=f"{judged.step} {judged.row}",
                        why=str(error).partition("\n")[0], next="judge it again") from error  # fmt: skip
