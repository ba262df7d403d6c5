"""The days on which the facts of a source were checked and are due again, as the columns of its files say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Literal

from benchbuilder.core import DataError, raise_row_errors
from benchbuilder.sources.base import Source, SourceSpec
from benchbuilder.sources.unit_source import RowSource

DayField = Literal["checked_on", "recheck_by"]


@dataclass(frozen=True)
class FactDays:
    """The day of the last check and the day by which the next is due (ISO 8601); empty if nothing says one.

    `said_by` is what said them: ``expert``, ``column`` or ``recipe``.
    """

    checked_on: str = ""
    recheck_by: str = ""
    said_by: str = ""

    def with_due(self, after: int | None) -> FactDays:
        """These days; without a day by which it is due, that is `after` days behind the check.

        >>> FactDays("2026-01-31", said_by="column").with_due(28).recheck_by
        '2026-02-28'
        """
        if self.recheck_by or not self.checked_on or after is None:
            return self
        return replace(self, recheck_by=(date.fromisoformat(self.checked_on) + timedelta(days=after)).isoformat())


def days_of_units(source: Source) -> dict[tuple[str, int], FactDays]:
    """The days that the columns of a source say, by file and number of the unit; units without a day are left out.

    Raises:
        DataError: The kind of source has no columns, a column is missing, or cells hold no day; all are listed.
    """
    spec: SourceSpec = source.spec
    columns = None if spec.updating is None else spec.updating.columns
    named: dict[DayField, str | int] = {}
    if columns is not None and columns.checked_on is not None:
        named["checked_on"] = columns.checked_on
    if columns is not None and columns.recheck_by is not None:
        named["recheck_by"] = columns.recheck_by
    if not named:
        return {}
    key = f"sources.{source.name}.updating.columns"
    if not isinstance(source, RowSource):
        raise DataError(
            f"{key}: a source of the kind {source.kind} has no columns of days",
            where=key,
            next=f"set sources.{source.name}.updating.checked_on, which holds for all of its facts",
        )
    found: dict[tuple[str, int], FactDays] = {}
    problems: list[str] = []
    rows: RowSource[Any] = source  # pyright: ignore[reportUnknownVariableType]
    for file in rows.select_files()[0]:
        for field, column in named.items():
            for raw in rows.read_columns(file, [column]):
                cell = raw.values[0] if raw.values else None
                try:
                    day = _day(cell)
                except ValueError:
                    problems.append(f"{file.name}:{raw.line}: {column}: {str(cell)[:40]!r} is no day")
                    continue
                if day:
                    place = (file.name, raw.line)
                    found[place] = replace(found.get(place, FactDays(said_by="column")), **{field: day})
    raise_row_errors(problems, f"{key}: cells hold no day", "write days as 2026-01-31, or leave the cell empty")
    return found


def _day(cell: object) -> str:
    """The day in a cell, empty if there is none; ValueError if it holds something else."""
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    text = "" if cell is None else str(cell).strip()
    return date.fromisoformat(text).isoformat() if text else ""
