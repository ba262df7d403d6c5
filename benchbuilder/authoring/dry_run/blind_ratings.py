"""Packets of texts for people to judge without knowing who wrote them, and their verdicts read back."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchbuilder.core import DataError, decode_text, escape_cell, unescape_cell
from benchbuilder.exporters import ReportTexts, nearest_language

RATING_CRITERIA = ("fluent", "consistent", "no_leak")
"""What a text is judged by: 0 or 1 each, and right if all are 1."""
RATERS = ("rater_1", "rater_2")
_COLUMNS = ("id", "asked", "text", *RATING_CRITERIA, "note")
_MARKER = re.compile(r"\[([a-z_]+)\]\s*$")
_VALUES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "０": 0, "１": 1}
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class TextToRate:
    """A text that people judge, with what the model was given for it."""

    prompt_input: str
    text: str

    @property
    def id(self) -> str:
        """Hash of what is shown, white space aside: a verdict is bound to it."""
        folded = "\0".join(" ".join(part.split()) for part in (self.prompt_input, self.text))
        return "t" + hashlib.blake2b(folded.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class BlindRating:
    """What one person says of one text: 0 or 1 by criterion, as far as given."""

    marks: Mapping[str, int]
    note: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every criterion was judged."""
        return all(name in self.marks for name in RATING_CRITERIA)

    @property
    def is_right(self) -> bool:
        """Whether it passes all criteria."""
        return self.is_complete and all(self.marks.values())


@dataclass
class BlindRatings:
    """All verdicts so far, by rater and id of the text."""

    by_rater_and_text: dict[tuple[str, str], BlindRating] = field(default_factory=dict[tuple[str, str], BlindRating])

    def complete_rating(self, rater: str, text: str) -> BlindRating | None:
        """The verdict on a text, if every criterion was judged."""
        verdict = self.by_rater_and_text.get((rater, text))
        return verdict if verdict is not None and verdict.is_complete else None


def read_blind_ratings(folder: Path) -> BlindRatings:
    """What was remembered, brought up to date by the packets in `folder`: what stands in a packet counts.

    DataError, with file and line, for cells that are neither 0, 1 nor empty, and for rows whose text was changed.
    """
    verdicts = BlindRatings()
    problems: list[str] = []
    memory = folder / "verdicts.tsv"
    if memory.exists():
        _read_ratings(memory.name, _lines(memory, "\t"), verdicts, problems)
    for rater in RATERS:
        packet = folder / "packets" / f"{rater}.csv"
        if packet.exists():
            _read_ratings(f"packets/{packet.name}", _lines(packet), verdicts, problems, rater)
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        raise DataError(
            f"{len(problems)} places in the packets cannot be read",
            where=str(folder),
            why="; ".join(problems[:_MOST_PROBLEMS]) + (f"; {more} more" if more > 0 else ""),
            next="a criterion is 0, 1 or empty, and the other columns stay as they are; correct this and run again",
        )
    return verdicts


def write_rating_sheets(
    folder: Path, texts_to_rate: Sequence[TextToRate], ratings: BlindRatings, seed: int, language: str
) -> list[Path]:
    """Write a packet for each rater, in an order of their own, and remember every verdict.

    A packet that holds just these texts is left as it is.
    """
    wording = ReportTexts(nearest_language(language))
    texts = {one.id: one for one in texts_to_rate}
    packets = folder / "packets"
    packets.mkdir(parents=True, exist_ok=True)
    _save_ratings(folder / "verdicts.tsv", ratings)
    written: list[Path] = []
    for rater in RATERS:
        path = packets / f"{rater}.csv"
        written.append(path)
        if path.exists() and sorted(line.get("id", "") for _, line in _lines(path)) == sorted(texts):
            continue
        order = sorted(texts, key=lambda name: hashlib.sha256(f"{seed}:{rater}:{name}".encode()).digest())
        lines = [[f"{wording(f'compare.{name}')} [{name}]" for name in _COLUMNS]]
        for name in order:
            verdict = ratings.by_rater_and_text.get((rater, name), BlindRating({}))
            marks = [str(verdict.marks.get(criterion, "")) for criterion in RATING_CRITERIA]
            lines.append(
                [
                    name,
                    escape_cell(texts[name].prompt_input),
                    escape_cell(texts[name].text),
                    *marks,
                    escape_cell(verdict.note),
                ]
            )
        stream = io.StringIO(newline="")
        csv.writer(stream, lineterminator="\r\n").writerows(lines)
        _write(path, stream.getvalue().encode("utf-8-sig"))
    return written


def _save_ratings(path: Path, ratings: BlindRatings) -> None:
    if not ratings.by_rater_and_text:
        return
    lines = ["\t".join(f"[{name}]" for name in ("rater", "id", *RATING_CRITERIA, "note"))]
    for (rater, name), verdict in sorted(ratings.by_rater_and_text.items()):
        marks = [str(verdict.marks.get(criterion, "")) for criterion in RATING_CRITERIA]
        lines.append("\t".join([rater, name, *marks, escape_cell(verdict.note)]))
    _write(path, ("\n".join(lines) + "\n").encode())


def _write(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}.draft")
    draft.write_bytes(data)
    draft.replace(path)


def _read_ratings(
    file: str,
    lines: Sequence[tuple[int, Mapping[str, str]]],
    ratings: BlindRatings,
    problems: list[str],
    rater: str = "",
) -> None:
    """Take the verdicts of a file's lines; where `rater` is given, it is a packet, which holds texts too."""
    for number, line in lines:
        where = f"{file}:{number}"
        if lacking := [name for name in ("id", *RATING_CRITERIA) if name not in line]:
            problems.append(f"{where}: the columns {', '.join(f'[{name}]' for name in lacking)} are missing")
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


def _lines(path: Path, delimiter: str = "") -> list[tuple[int, dict[str, str]]]:
    """The lines of a sheet by the markers of its columns, each with its number as spreadsheets count."""
    text = _decoded(path)
    grids = [list(csv.reader(io.StringIO(text, newline=""), delimiter=mark)) for mark in delimiter or ",;\t"]
    grid = max(grids, key=lambda lines: len(lines[0]) if lines else 0)
    if not grid:
        raise DataError(f"{path} is empty", next="delete it: a new one is written")
    found = {place: match[1] for place, cell in enumerate(grid[0]) if (match := _MARKER.search(cell))}
    if "id" not in found.values():
        raise DataError(
            f"{path} is no packet", where=f"{path.name}:1", why="no column is headed [id]",
            next="put the header of the packet back, or delete the file: a new one is written",
        )  # fmt: skip
    return [
        (number, {name: line[place] if place < len(line) else "" for place, name in found.items()})
        for number, line in enumerate(grid[1:], 2)
        if any(cell.strip() for cell in line)
    ]


def _decoded(path: Path) -> str:
    """Text as spreadsheet programs save it."""
    text = decode_text(path.read_bytes())
    if text is None:
        raise DataError(f"{path} is text in neither UTF-8 nor GB18030", next="save it as CSV in UTF-8")
    return text
