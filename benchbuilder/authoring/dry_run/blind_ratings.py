"""Sheets of texts that people rate without knowing who wrote them, and their ratings."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchbuilder.core import (
    DataError,
    csv_rows,
    escape_cell,
    page_texts,
    read_given_file,
    unescape_cell,
    write_atomically,
)

RATING_CRITERIA = ("fluent", "consistent", "no_leak")
"""The criteria of a text: 0 or 1 each; a text is right if all are 1."""
RATERS = ("rater_1", "rater_2")
_COLUMNS = ("id", "asked", "text", *RATING_CRITERIA, "note")
_MARKER = re.compile(r"\[([a-z_]+)\]\s*$")
_VALUES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "０": 0, "１": 1}
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class TextToRate:
    """A text that people rate, with the input of the model."""

    prompt_input: str
    text: str

    @property
    def id(self) -> str:
        """The hash of what is shown, without white space: a rating belongs to it."""
        folded = "\0".join(" ".join(part.split()) for part in (self.prompt_input, self.text))
        return "t" + hashlib.blake2b(folded.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class BlindRating:
    """The rating of one text by one person: 0 or 1 by criterion, as far as given."""

    marks: Mapping[str, int]
    note: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every criterion has a value."""
        return all(name in self.marks for name in RATING_CRITERIA)

    @property
    def is_right(self) -> bool:
        """Whether the text meets all criteria."""
        return self.is_complete and all(self.marks.values())


@dataclass
class BlindRatings:
    """All ratings so far, by rater and id of the text."""

    by_rater_and_text: dict[tuple[str, str], BlindRating] = field(default_factory=dict[tuple[str, str], BlindRating])

    def complete_rating(self, rater: str, text: str) -> BlindRating | None:
        """The rating of a text, if it is complete."""
        rating = self.by_rater_and_text.get((rater, text))
        return rating if rating is not None and rating.is_complete else None


def read_blind_ratings(folder: Path) -> BlindRatings:
    """The saved ratings, updated by the sheets in `folder`; DataError for invalid cells and changed texts."""
    ratings = BlindRatings()
    problems: list[str] = []
    saved = folder / "verdicts.tsv"
    if saved.exists():
        _read_ratings(saved.name, _lines(saved), ratings, problems)
    for rater in RATERS:
        sheet = folder / "packets" / f"{rater}.csv"
        if sheet.exists():
            _read_ratings(f"packets/{sheet.name}", _lines(sheet), ratings, problems, rater)
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        raise DataError(
            f"{len(problems)} places in the sheets cannot be read",
            where=str(folder),
            why="; ".join(problems[:_MOST_PROBLEMS]) + (f"; {more} more" if more > 0 else ""),
            next="a criterion is 0, 1 or empty, and the other columns stay as they are; correct this and run again",
        )
    return ratings


def write_rating_sheets(
    folder: Path, texts_to_rate: Sequence[TextToRate], ratings: BlindRatings, seed: int, language: str
) -> list[Path]:
    """Write a sheet for each rater in an order of its own, drawn by `seed`, and save all ratings so far.

    A sheet that has exactly these texts stays as it is. Column headings are in `language`.
    """
    wording = page_texts(language)
    texts = {text.id: text for text in texts_to_rate}
    _save_ratings(folder / "verdicts.tsv", ratings)
    written: list[Path] = []
    for rater in RATERS:
        path = folder / "packets" / f"{rater}.csv"
        written.append(path)
        if path.exists() and sorted(line.get("id", "") for _, line in _lines(path)) == sorted(texts):
            continue
        lines = [[f"{wording(f'compare.{name}')} [{name}]" for name in _COLUMNS]]
        for name in sorted(texts, key=lambda name: hashlib.sha256(f"{seed}:{rater}:{name}".encode()).digest()):
            marks, note = _rating_cells(ratings.by_rater_and_text.get((rater, name), BlindRating({})))
            lines.append([name, escape_cell(texts[name].prompt_input), escape_cell(texts[name].text), *marks, note])
        stream = io.StringIO(newline="")
        csv.writer(stream, lineterminator="\r\n").writerows(lines)
        write_atomically(path, stream.getvalue().encode("utf-8-sig"))
    return written


def _save_ratings(path: Path, ratings: BlindRatings) -> None:
    if not ratings.by_rater_and_text:
        return
    lines = ["\t".join(f"[{name}]" for name in ("rater", "id", *RATING_CRITERIA, "note"))]
    for (rater, name), rating in sorted(ratings.by_rater_and_text.items()):
        marks, note = _rating_cells(rating)
        lines.append("\t".join([rater, name, *marks, note]))
    write_atomically(path, "\n".join(lines) + "\n")


def _rating_cells(rating: BlindRating) -> tuple[list[str], str]:
    return [str(rating.marks.get(criterion, "")) for criterion in RATING_CRITERIA], escape_cell(rating.note)


def _read_ratings(
    file: str, lines: Sequence[tuple[int, Mapping[str, str]]], ratings: BlindRatings, problems: list[str],
    rater: str = "",
) -> None:  # fmt: skip
    """Read the ratings of a file; with a `rater`, it is a sheet, which has texts too."""
    for number, line in lines:
        where = f"{file}:{number}"
        if missing := [name for name in ("id", *RATING_CRITERIA) if name not in line]:
            problems.append(f"{where}: the columns {', '.join(f'[{name}]' for name in missing)} are missing")
            return
        marks: dict[str, int] = {}
        for name in RATING_CRITERIA:
            cell = line[name].strip()
            if cell in _VALUES:
                marks[name] = _VALUES[cell]
            elif cell:
                problems.append(f"{where}: {name} is {cell!r}, allowed are 0, 1 and an empty cell")
        note = unescape_cell(line.get("note", "").strip())
        name = line["id"].strip()
        if rater and (marks or note):
            shown = TextToRate(unescape_cell(line.get("asked", "")), unescape_cell(line.get("text", "")))
            if shown.id != name:
                problems.append(f"{where}: the text is not the one of {name!r}: it was changed, or cells were moved")
                continue
        if marks or note:
            ratings.by_rater_and_text[rater or line.get("rater", ""), name] = BlindRating(marks, note)
        elif rater:
            ratings.by_rater_and_text.pop((rater, name), None)


def _lines(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The lines of a sheet by the markers of its columns, each with its number as spreadsheets count."""
    grid = csv_rows(read_given_file(path), lambda header: any(cell.rstrip().endswith("[id]") for cell in header))
    if grid is None:
        raise DataError(f"{path} is text in neither UTF-8 nor GB18030", next="save it as CSV in UTF-8")
    if not grid:
        raise DataError(f"{path} is empty", next="delete it: a new one is written")
    columns = {position: match[1] for position, cell in enumerate(grid[0]) if (match := _MARKER.search(cell))}
    if "id" not in columns.values():
        raise DataError(
            f"{path} is not a rating sheet", where=f"{path.name}:1", why="no column is headed [id]",
            next="put the header of the sheet back, or delete the file: a new one is written",
        )  # fmt: skip
    return [
        (number, {name: line[position] if position < len(line) else "" for position, name in columns.items()})
        for number, line in enumerate(grid[1:], 2)
        if any(cell.strip() for cell in line)
    ]
