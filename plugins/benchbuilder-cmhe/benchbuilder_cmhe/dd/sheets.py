"""Sheets that people fill in: one row for each thing that is asked about, bound by a hash to what it shows.

The header of a column ends in a marker in square brackets, by which it is found again whatever it is called. ``[key]``
hashes what the row shows; what is filled in counts for just that. Sheets are written as CSV and XLSX below
``STEP/to_fill`` in the folder of the build for annotators, and read, filled, from ``STEP/filled`` and from what the
recipe ships.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from benchbuilder.annotation import (
    UnreadableWorkbookError,
    csv_bytes,
    escape_formula,
    fold_whitespace,
    read_workbook,
    strip_archive_dates,
    sync_sheet_folder,
)
from benchbuilder.config import FileRef
from benchbuilder.core import DataError, WaitingForPeople, csv_rows, to_half_width
from openpyxl import Workbook
from openpyxl.styles import Alignment, Font
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

_MARKER = re.compile(r"\[([a-z_]+)\]\s*\Z")
_MOST_PROBLEMS = 20
_EPOCH = datetime(2000, 1, 1)
_WIDE, _NARROW = 60, 18


@dataclass(frozen=True)
class SheetColumn:
    """A column: the `name` in its marker, its `label` for people, whether they fill it, whether it holds long text."""

    name: str
    label: str
    is_for_people: bool = False
    is_wide: bool = False


@dataclass(frozen=True)
class SheetLine:
    """A row: what it shows, and what stands in the cells that people fill before they do."""

    displayed: Mapping[str, str]
    initial_cells: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def key(self) -> str:
        """The hash of what is shown."""
        text = json.dumps(dict(self.displayed), ensure_ascii=False, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


@dataclass
class StepSheet:
    """The sheet of a step: where its packets go and filled ones come from, and which columns it has."""

    step: str
    workplace: Path
    columns: Sequence[SheetColumn]
    done_column: str
    """The column without which a row does not count as filled."""
    shipped_sheets: FileRef | None = None

    def files(self) -> Iterator[tuple[str, Path]]:
        """Every filled sheet by name: those that the recipe ships, then those of the build."""
        if self.shipped_sheets is not None:
            if not self.shipped_sheets.file.exists():
                raise DataError(f"the sheets of the step {self.step} are missing", where=str(self.shipped_sheets.file),
                                next=f"set steps.{self.step}.sheet to a filled sheet, or to null")  # fmt: skip
            yield from _sheets_in(self.shipped_sheets.file, self.shipped_sheets.path.rstrip("/"))
        yield from _sheets_in(self.workplace / self.step / "filled", f"{self.workplace.name}/{self.step}/filled")

    def external_inputs(self) -> dict[str, str]:
        """SHA-256 of every filled sheet."""
        return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in self.files()}

    def read(self) -> dict[str, dict[str, str]]:
        """What people filled in, by key and column; rows that are not done are left out.

        DataError for a file that is no such sheet, and for a row that two sheets fill differently.
        """
        found: dict[str, dict[str, str]] = {}
        where: dict[str, str] = {}
        problems: list[str] = []
        for name, path in self.files():
            for place, cells in self._rows(name, path, problems):
                key = cells.pop("key", "")
                if not key or not cells.get(self.done_column):
                    continue
                if key in found and found[key] != cells:
                    problems.append(f"{place}: the row is filled differently at {where[key]}; keep one")
                found.setdefault(key, cells)
                where.setdefault(key, place)
        raise_problems(problems)
        return found

    def write_unfilled(self, lines: Sequence[SheetLine]) -> None:
        """Write packets with `lines` alone, and take away those of before that nobody changed."""
        place = self.workplace / self.step
        packets: dict[str, bytes] = {}
        if lines:
            grid = self._grid(lines)
            text = csv_bytes(grid)
            stem = f"{self.step}-{hashlib.blake2b(text, digest_size=4).hexdigest()}"
            packets = {f"{stem}.csv": text, f"{stem}.xlsx": self._workbook(grid)}
            (place / "filled").mkdir(parents=True, exist_ok=True)
        sync_sheet_folder(place / "to_fill", {name: (lambda data=data: data) for name, data in packets.items()})

    def waiting_error(self, missing: int, what: str) -> WaitingForPeople:
        """The error that says how many rows are not filled, and what to do."""
        place = f"{self.workplace.name}/{self.step}"
        return WaitingForPeople(
            f"{missing} {what} {'is' if missing == 1 else 'are'} missing in the step {self.step}",
            missing={what: missing},
            where=f"{place}/to_fill in the folder of the build",
            next=f"fill in the sheet there (.xlsx or .csv), put it into {place}/filled, and run the same command again",
        )

    def _grid(self, lines: Sequence[SheetLine]) -> list[list[str]]:
        header = [f"{column.label} [{column.name}]" for column in self.columns]
        rows = [
            [
                (line.initial_cells if column.is_for_people else line.displayed).get(column.name, "")
                for column in self.columns
            ]
            for line in lines
        ]
        keys = ["[key]", *(line.key for line in lines)]
        return [[*(escape_formula(cell) for cell in row), key] for row, key in zip([header, *rows], keys, strict=True)]

    def _workbook(self, grid: Sequence[Sequence[str]]) -> bytes:
        book = Workbook()
        book.properties.creator, book.properties.created = "benchbuilder", _EPOCH
        sheet = book.active
        if not isinstance(sheet, Worksheet):
            raise TypeError("a new workbook has a worksheet")
        for line in grid:
            sheet.append(list(line))
        for number, column in enumerate(self.columns, start=1):
            sheet.column_dimensions[get_column_letter(number)].width = _WIDE if column.is_wide else _NARROW
        for row in sheet.iter_rows():
            for cell in row:
                cell.alignment = Alignment(wrap_text=True, vertical="top")
                cell.number_format = "@"
                if cell.row == 1:
                    cell.font = Font(bold=True)
        sheet.freeze_panes = "A2"
        stream = io.BytesIO()
        book.save(stream)
        return strip_archive_dates(stream.getvalue())

    def _rows(self, name: str, path: Path, problems: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
        """The rows of a sheet with their places; the columns that people fill, and the key."""
        kept = {"key", *(column.name for column in self.columns if column.is_for_people)}
        lines = _read_lines(path)
        if not lines:
            problems.append(f"{name}: the sheet cannot be read; save it as .xlsx or .csv")
            return
        markers = [match[1] if (match := _MARKER.search(cell)) else "" for cell in lines[0]]
        if missing := [column for column in sorted(kept) if column not in markers]:
            problems.append(f"{name}: row 1 has no column [{missing[0]}]; keep the header as it was written")
            return
        for number, line in enumerate(lines[1:], start=2):
            cells = {
                marker: fold_whitespace(cell) for marker, cell in zip(markers, line, strict=False) if marker in kept
            }
            yield f"{name}: row {number}", cells


def yes_or_no(cell: str) -> bool | None:
    """What a cell for 1 or 0 says, in any width and as spreadsheets may write it; ``None`` if it is neither.

    >>> yes_or_no("1"), yes_or_no("0.0"), yes_or_no("\uff11"), yes_or_no("yes")
    (True, False, True, None)
    """
    return {"1": True, "1.0": True, "0": False, "0.0": False}.get(to_half_width(cell).strip())


def raise_problems(problems: Sequence[str]) -> None:
    """DataError with all `problems`, if there are any."""
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        shown = [*problems[:_MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]
        raise DataError(f"{len(problems)} problem{'s' if len(problems) > 1 else ''} in filled sheets",
                        where=problems[0].partition(": ")[0], why="\n         ".join(shown),
                        next="correct the cells, then run the same command again; nothing was taken")  # fmt: skip


def _read_lines(path: Path) -> list[list[str]]:
    data = path.read_bytes()
    if path.suffix.lower() == ".xlsx":
        try:
            return next((lines for lines in read_workbook(data).values() if lines), [])
        except UnreadableWorkbookError:
            return []
    return csv_rows(data, lambda header: any(_MARKER.search(cell) for cell in header)) or []


def _sheets_in(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Sheets of `folder` (or the one that it is) in order; hidden ones and locks left out."""
    if folder.is_file():
        yield name, folder
        return
    for path in sorted(folder.rglob("*")) if folder.is_dir() else []:
        relative = path.relative_to(folder)
        hidden = any(part.startswith((".", "~$")) for part in relative.parts)
        if path.is_file() and path.suffix.lower() in (".csv", ".xlsx") and not hidden:
            yield f"{name}/{relative.as_posix()}", path
