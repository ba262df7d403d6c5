"""The page of published tables: its rows, and what is missing where a row says that a table is."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "published-tables.md"
PRINTED = "printed"


@dataclass(frozen=True)
class PublishedRow:
    """A table of a paper: the words of its command, its place below the folder of the build, and its columns."""

    name: str
    command: tuple[str, ...]
    place: str
    columns: tuple[str, ...]

    def missing(self, build: Path, run: Callable[[tuple[str, ...]], str]) -> list[str]:
        """The columns that are not there; `run` runs the command and gives what it printed."""
        printed = run(self.command)
        if self.place == PRINTED:
            words = set(re.findall(r"\w+", printed))
            return [column for column in self.columns if column not in words]
        file, _, section = self.place.partition("#")
        text = (build / file).read_text("utf-8-sig")
        if section:
            found = re.search(rf'<section id="{section}".*?</section>', text, re.DOTALL)
            shown = re.findall(r">([^<>]+)<", found[0]) if found else []
            return [column for column in self.columns if column not in shown]
        delimiter = {".csv": ",", ".tsv": "\t", ".md": "|"}[Path(file).suffix]
        lines = [line for line in text.splitlines() if delimiter in line]
        cells = {cell.strip() for cell in next(csv.reader(lines[:1], delimiter=delimiter))}
        return [column for column in self.columns if column not in cells]


def published_rows(recipe: str) -> Iterator[PublishedRow]:
    """The rows of the page whose commands name a recipe."""
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) == 5 and f"recipe={recipe}`" in cells[2]:
            words = tuple(cells[2].strip("`").split())[1:]
            columns = tuple(re.findall(r"`([^`]+)`", cells[4]))
            yield PublishedRow(cells[0], words, cells[3].strip("`"), columns)
