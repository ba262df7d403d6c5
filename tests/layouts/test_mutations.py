"""Three hundred damaged files: no right answer changes, and every row is an item or has a line that says why not."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gallery import LETTERS, QUESTIONS, choices, table

from benchbuilder.core import DataError, Dropped, Kept, SourceUnit, find_kind

FILES = 300
HEADER = ["question", *LETTERS, "answer"]
COLUMNS = {"question": "question", "options": list(LETTERS), "answer_key": "answer"}
RIGHT = {question: right for question, right, _ in QUESTIONS}

Grid = list[list[str]]
Damage = Callable[[Grid, random.Random], None]


def grid(by_number: bool) -> Grid:
    return [list(HEADER), *choices(lambda _, q, o, p: [q, *o, str(p) if by_number else LETTERS[p]])]


def row_of(rows: Grid, draw: random.Random) -> list[str]:
    return rows[draw.randrange(1, len(rows))]


def put(place: int | None, *values: str) -> Damage:
    """Puts one of some texts into a cell of some row: the column `place`, or any."""

    def damage(rows: Grid, draw: random.Random) -> None:
        row = row_of(rows, draw)
        row[draw.randrange(len(row)) if place is None else place] = draw.choice(values)

    return damage


def change(form: str, *, everywhere: bool = False, place: int | None = None) -> Damage:
    """Writes cells in another form, which has their text in place of ``{}``."""

    def damage(rows: Grid, draw: random.Random) -> None:
        for row in rows[1:] if everywhere else [row_of(rows, draw)]:
            at = draw.randrange(len(row)) if place is None else place
            row[at] = form.replace("{}", row[at])

    return damage


def shuffle_columns(rows: Grid, draw: random.Random) -> None:
    order = draw.sample(range(len(rows[0])), len(rows[0]))
    for row in rows:
        row[:] = [row[at] for at in order]


def rename(rows: Grid, draw: random.Random) -> None:
    """Gives a column the name of another one, or none, or puts white space around it."""
    at = draw.randrange(len(rows[0]))
    rows[0][at] = draw.choice([*rows[0], "", f"{rows[0][at]}\u00a0", f" {rows[0][at]}", rows[0][at].upper()])


IN_CELLS: list[Damage] = [
    put(None, "", " ", "NaN", "null", "#N/A", "None"), put(-1, "", "NaN", "E", "0", "9", "-1", "A, B", "AB", "\u00c1"),
    put(1, ""), put(2, ""), change("{}.0", place=-1), change("({})", place=-1, everywhere=True), change(" {}\u00a0"),
    change("{}\n{}"), change("{}, so"), change("\u00ad{}\u200b"), change("{}", place=-1, everywhere=True),
    lambda rows, draw: row_of(rows, draw).pop(), lambda rows, draw: row_of(rows, draw).append("more"),
    lambda rows, draw: row_of(rows, draw).insert(draw.randrange(5), "more"),
    lambda rows, draw: rows.insert(draw.randrange(1, len(rows)), list(row_of(rows, draw))),
    lambda rows, draw: rows.insert(draw.randrange(1, len(rows)), [""] * len(rows[0])),
    lambda rows, draw: rows.insert(draw.randrange(1, len(rows)), list(rows[0])), lambda rows, _: rows.pop(0),
    shuffle_columns, rename, rename,
]  # fmt: skip
IN_BYTES: list[Callable[[bytes, random.Random], bytes]] = [
    lambda data, _: b"\xef\xbb\xbf" + data, lambda data, _: data.replace(b"\n", b"\r\n"),
    lambda data, _: data.decode().encode("utf-16"), lambda data, _: data.replace(b"the ", b"the\xa0"),
    lambda data, _: data.replace(b",", b";").replace(b"\t", b";"), lambda data, draw: data[: -draw.randrange(1, 60)],
    lambda data, draw: inserted(data, draw, b'"'), lambda data, draw: inserted(data, draw, b'"'),
    lambda data, draw: inserted(data, draw, b'"\n'), lambda data, draw: inserted(data, draw, b"\x00"),
    lambda data, draw: inserted(data, draw, b"\xff"), lambda data, draw: inserted(data, draw, b"\n"),
    lambda data, draw: inserted(data, draw, b","), lambda data, draw: inserted(data, draw, b"\t"),
]  # fmt: skip


def inserted(data: bytes, draw: random.Random, piece: bytes) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + piece + data[at:]


def damaged(number: int) -> tuple[str, bytes, dict[str, Any], int]:
    """The name, the content and the settings of a damaged file, and how many rows its table had."""
    draw = random.Random(number)
    form, by_number = ("csv", "tsv", "jsonl")[number % 3], draw.random() < 0.5
    rows = grid(by_number)
    in_cells = draw.random() < 0.6
    if in_cells:
        draw.choice(IN_CELLS)(rows, draw)
    if form == "jsonl":
        pairs = [zip(rows[0], row, strict=False) for row in rows[1:]]  # a name may stand twice
        lines = [", ".join(f"{json.dumps(name)}: {json.dumps(cell)}" for name, cell in row) for row in pairs]
        data = "".join(f"{{{line}}}\n" for line in lines).encode()
    else:
        data = table(rows, delimiter="\t" if form == "tsv" else ",")
    if not in_cells:
        data = draw.choice(IN_BYTES)(data, draw)
    settings = {"quoting": True, "key_as": "index" if by_number else "letter"}
    return f"q.{form}", data, settings, len(rows) - 1


def plain(text: str) -> str:
    """A text without what the damage itself put into it."""
    return re.sub(r'["\s\u00a0\u00ad\u200b\x00\ufffd,]|so$|\\', "", text)


def is_right(question: str, answer: str) -> bool:
    """Whether an answer is that of the undamaged row of its question, whose beginning a line end may have cut off."""
    asked = plain(question)
    rights = [
        plain(right) for known, right in RIGHT.items() if asked and f"{plain(known)}{plain(known)}".endswith(asked)
    ]
    return plain(answer) in {form for right in rights for form in (right, right * 2)}


@pytest.mark.push
@pytest.mark.parametrize("start", range(0, FILES, 50))
def test_no_right_answer_changes_and_no_row_vanishes(start: int, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    cls = find_kind("source", "multiple_choice").load()
    read, told = 0, list[str]()
    for number in range(start, start + 50):
        name, data, settings, count = damaged(number)
        (tmp_path / name).write_bytes(data)
        source = cls(cls.spec_class(kind="multiple_choice", path=name, columns=COLUMNS, **settings), "q", "en")
        try:
            units = [unit for unit in source.read() if isinstance(unit, SourceUnit)]
        except DataError as error:
            told.append(error.next)
            continue
        read += 1
        rows = [unit.outcome.row for unit in units if isinstance(unit.outcome, Kept)]
        for row in rows:
            asked, answer = row.payload.question, row.payload.answer
            assert is_right(asked, answer), f"file {number}: {asked!r} has the right answer {answer!r}"
        drops = [unit.outcome for unit in units if isinstance(unit.outcome, Dropped)]
        assert all(drop.reason in source.reasons for drop in drops)
        lines = data.decode("utf-8", errors="replace").split("\n")
        if not any("\n" in cell for row in csv.reader(io.StringIO(data.decode("utf-8", "replace"))) for cell in row):
            expected = sum(bool(line.strip(' ,\t\r"')) for line in lines) - (not name.endswith("jsonl"))
            assert len(rows) + len(drops) >= min(expected, count), f"file {number}: rows vanish"
    assert all(told), "an error says what to do"
    assert read >= 25, "most damaged files are read in part"
