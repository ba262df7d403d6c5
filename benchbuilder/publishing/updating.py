"""Keeps a benchmark true: the items that are due, the sheet on which experts check them, and the log of checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchbuilder.annotation import csv_bytes, escape_formula, unescape_formula
from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import DataError, Problem, RecipeError, raise_row_errors, read_row_file
from benchbuilder.pipeline import CheckedFact, ItemDays, append_checks
from benchbuilder.publishing.errata.reports import AddedErrata, ErratumReport, add_errata
from benchbuilder.publishing.release.item_checks import days_of_items

_GIVEN = ("item", "question", "answer", "source", "unit", "checked_on", "recheck_by", "changed")
_ASKED = ("still_right", "who", "text")
_WORDS = {"yes": True, "1": True, "true": True, "no": False, "0": False, "false": False, "": None}
_NEXT = "still_right is yes or no; a row with no needs a text that says what is true now"


@dataclass(frozen=True)
class ReadChecks:
    """What a sheet said: the checks that are new in the log, the errata of items that are out of date, and rows left.

    `left` counts the rows that nobody has filled in.
    """

    log: Path
    checks: tuple[CheckedFact, ...]
    errata: AddedErrata | None
    left: int


def due_sheet(items: Sequence[ItemDays]) -> bytes:
    """A sheet (CSV) of items, on which experts say whether each is still right."""
    rows = (
        (
            one.item,
            one.text,
            one.answer,
            one.source,
            one.unit,
            one.days.checked_on,
            one.days.recheck_by,
            " ".join(one.changed),
        )
        for one in items
    )
    return csv_bytes([(*_GIVEN, *_ASKED), *([*map(escape_formula, row), "", "", ""] for row in rows)])


def read_due_sheet(loaded: LoadedRecipe, cwd: Path, file: Path, on: date | None = None) -> ReadChecks:
    """Take over what experts said on a sheet, all of it or nothing; `on` is the day of the check (default: today).

    A fact that still holds goes into the log of checks. An item that does not is reported as outdated, as
    ``benchbuild errata add`` does.

    Raises:
        RecipeError: The recipe names no log of checks, or no log of errata and an item is out of date.
        DataError: Rows of the sheet cannot be used; all are listed.
    """
    log = loaded.whole.release.checks
    if log is None:
        raise RecipeError(
            [
                Problem(
                    "this recipe names no log of checks",
                    key="release.checks",
                    actual="null",
                    hint="write release: {checks: checks.jsonl} into your recipe, and put that file "
                    "under version control",
                )
            ]
        )
    known = {one.item: one for one in days_of_items(loaded, cwd)}
    day = (on or date.today()).isoformat()
    checks: dict[str, CheckedFact] = {}
    reports: list[ErratumReport] = []
    problems: list[str] = []
    left = 0
    for line, row in read_row_file(file):
        cells = {
            str(name).strip(): unescape_formula("" if cell is None else str(cell).strip()) for name, cell in row.items()
        }
        if missing := [name for name in ("item", *_ASKED) if name not in cells]:
            raise DataError(
                f"the sheet has no column {missing[0]!r}",
                where=f"{display_path(file)}:{line}",
                why=f"it has {', '.join(cells)}",
                next="begin from a sheet of benchbuild due --output",
            )
        said, one = cells["still_right"].lower(), known.get(cells["item"])
        if said == "":
            left += 1
        elif fault := _fault(said, one, cells["text"]):
            problems.append(f"{display_path(file)}:{line}: {fault}")
        elif one is not None and _WORDS[said]:
            checks[one.fact] = CheckedFact(fact=one.fact, checked_on=day, by=cells["who"])
        elif one is not None:
            reports.append(ErratumReport(one.item, "outdated", cells["text"], cells["who"], day, line=line))
    if both := [report for report in reports if known[report.item].fact in checks]:
        problems += [f"{display_path(file)}:{one.line}: another row says that the same fact holds" for one in both]
    raise_row_errors(problems, "rows of the sheet cannot be used, and none was taken over", _NEXT)
    errata = add_errata(loaded, cwd, reports, file=file) if reports else None
    if checks:
        append_checks(log.file, list(checks.values()))
    return ReadChecks(log.file, tuple(checks.values()), errata, left)


def _fault(said: str, item: ItemDays | None, text: str) -> str:
    """What is wrong with a row that is filled in; empty if nothing is."""
    if item is None:
        return "no item of the build has this id"
    if said not in _WORDS:
        return f"still_right is {said[:40]!r}"
    if item.changed and _WORDS[said]:
        return f"its source changed ({item.changed[0]}): build again first, which asks experts about it"
    return "" if _WORDS[said] or text else "it says no without a text"
