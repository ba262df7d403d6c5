"""Packets as people and their spreadsheet programs give them back."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from benchbuilder.authoring.dry_run.blind_ratings import (
    RATERS,
    BlindRating,
    BlindRatings,
    TextToRate,
    read_blind_ratings,
    write_rating_sheets,
)
from benchbuilder.core.errors import DataError

TEXTS = [
    TextToRate("问题：什么可以预防贫血", "补铁可以预防贫血。"),
    TextToRate("=cmd", "@SUM(1)\nand more"),
    TextToRate("a", 'b, "c"; d'),
]
ALL = {"fluent": 1, "consistent": 1, "no_leak": 1}


def lines(folder: Path, rater: str = "rater_1") -> list[list[str]]:
    text = (folder / "packets" / f"{rater}.csv").read_text(encoding="utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def save(folder: Path, rows: list[list[str]], *, encoding: str = "utf-8-sig", delimiter: str = ",") -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    (folder / "packets/rater_1.csv").write_bytes(stream.getvalue().encode(encoding))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rating_sheets(tmp_path, TEXTS, BlindRatings(), 7, "zh")
    return tmp_path


def test_nothing_in_a_packet_is_a_formula(folder: Path) -> None:
    cells = [cell for line in lines(folder) for cell in line]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    assert any(cell.startswith("'=cmd") for cell in cells)
    assert not [cell for cell in cells if "\n" in cell]


def test_the_columns_are_in_the_language_of_the_recipe(tmp_path: Path) -> None:
    write_rating_sheets(tmp_path, TEXTS, BlindRatings(), 7, "en-GB")
    assert lines(tmp_path)[0][0] == "Number [id]"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_packets_are_read_as_programs_save_them(folder: Path, encoding: str, delimiter: str) -> None:
    head, *rows = lines(folder)
    save(folder, [head, *([*row[:3], "1", "1.0", "０", "好"] for row in rows)], encoding=encoding, delimiter=delimiter)
    found = read_blind_ratings(folder)
    assert len(found.by_rater_and_text) == 3
    assert found.complete_rating("rater_1", TEXTS[1].id) == BlindRating(ALL | {"no_leak": 0}, "好")
    assert found.complete_rating("rater_2", TEXTS[1].id) is None


def test_columns_may_be_moved_and_others_added(folder: Path) -> None:
    save(folder, [[*reversed(row), "mine"] for row in lines(folder)])
    assert read_blind_ratings(folder).by_rater_and_text == {}
    head, *rows = lines(folder)
    place = next(i for i, cell in enumerate(head) if "[fluent]" in cell)
    rows[0][place] = "1"
    save(folder, [head, *rows])
    assert list(read_blind_ratings(folder).by_rater_and_text.values()) == [BlindRating({"fluent": 1})]


def _no_column(rows: list[list[str]]) -> list[list[str]]:
    return [row[:3] + row[4:] for row in rows]


def _no_id(rows: list[list[str]]) -> list[list[str]]:
    return [row[1:] for row in rows]


def _moved(rows: list[list[str]]) -> list[list[str]]:
    head, one, two, *more = rows
    return [head, [one[0], *two[1:3], "1", "1", "1", ""], [two[0], *one[1:3], "1", "1", "1", ""], *more]


def _strange(rows: list[list[str]]) -> list[list[str]]:
    return [rows[0], [*rows[1][:3], "2", "", "x", ""]]


def _nothing(_: list[list[str]]) -> list[list[str]]:
    return []


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_no_column, r"packets/rater_1.csv:2: the columns \[fluent\] are missing"),
        (_no_id, r"no column is headed \[id\]"),
        (_moved, "2 places.*rater_1.csv:2: the text is not the one of"),
        (_strange, "2 places.*fluent is '2'.*no_leak is 'x'"),
        (_nothing, "is empty"),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, spoil: Callable[..., list[list[str]]], message: str) -> None:
    save(folder, spoil(lines(folder)))
    with pytest.raises(DataError) as caught:
        read_blind_ratings(folder)
    found = " ".join(str(caught.value).split())
    assert re.search(message, found), found


def test_verdicts_outlive_their_packets(folder: Path) -> None:
    verdicts = BlindRatings(
        {("rater_1", TEXTS[0].id): BlindRating(ALL, "=note"), ("rater_2", TEXTS[1].id): BlindRating({"fluent": 0})}
    )
    write_rating_sheets(folder, TEXTS[2:], verdicts, 7, "zh")
    assert read_blind_ratings(folder).by_rater_and_text == verdicts.by_rater_and_text
    write_rating_sheets(folder, TEXTS, read_blind_ratings(folder), 7, "zh")
    row = next(line for line in lines(folder) if line[0] == TEXTS[0].id)
    assert row[3:] == ["1", "1", "1", "'=note"]
    # a cell that is emptied takes its verdict back
    save(folder, [lines(folder)[0], [*row[:3], "", "", "", ""]])
    assert list(read_blind_ratings(folder).by_rater_and_text) == [("rater_2", TEXTS[1].id)]


def test_raters_see_different_orders(tmp_path: Path) -> None:
    texts = [TextToRate("asked", str(number)) for number in range(30)]
    write_rating_sheets(tmp_path, texts, BlindRatings(), 7, "zh")
    one, two = ([line[0] for line in lines(tmp_path, rater)[1:]] for rater in RATERS)
    assert one != two
    assert sorted(one) == sorted(two) == sorted(text.id for text in texts)
