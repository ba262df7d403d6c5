"""Reports of errors in items: from the command line, or from the file of a form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, get_args

from benchbuilder.config import LoadedRecipe, did_you_mean, display_path
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    content_id,
    raise_row_errors,
    read_row_file,
    replace_steering_characters,
)
from benchbuilder.publishing.errata.known_items import KnownItem, find_item, known_items
from benchbuilder.publishing.errata.log_file import append_errata, begin_log, log_of
from benchbuilder.steps import Corrections, Erratum, ErratumKind

ERRATUM_KINDS: tuple[str, ...] = get_args(ErratumKind)
LONGEST_TEXT = 10_000
"""Characters of a report, and of a text of a fixed item."""
_LONGEST_NAME = 200
_COLUMNS = ("item", "kind", "text", "who", "when", "version")
_NEXT = "a row has `item`, `kind` and `text`, and may have `who`, `when` and `version`"


@dataclass(frozen=True)
class ErratumReport:
    """What somebody says of an item: its id or the beginning of it, the kind of error, and the report.

    `when` is a date such as ``2026-01-31`` (empty: today). `version` is the release that was looked at (empty: the
    newest one with this item). `line` is the line of a file.
    """

    item: str
    kind: str
    text: str
    who: str = ""
    when: str = ""
    version: str = ""
    line: int = 0


@dataclass(frozen=True)
class AddedErrata:
    """The errata that are new in the log, and those that it had before."""

    log: Path
    added: tuple[Erratum, ...]
    known: tuple[Erratum, ...]


def read_reports(file: Path) -> list[ErratumReport]:
    """The reports in the file of a form: JSON Lines, CSV, TSV or Parquet. Other columns are left alone.

    Raises:
        DataError: The file cannot be read, or has no column of that name.
    """
    reports: list[ErratumReport] = []
    for line, row in read_row_file(file):
        cells = {str(name).strip().lower(): value for name, value in row.items()}
        if missing := [name for name in _COLUMNS[:3] if name not in cells]:
            raise DataError(f"a report has no {missing[0]!r}", where=f"{display_path(file)}:{line}",
                            why=f"it has {', '.join(map(str, row)) or 'nothing'}", next=_NEXT)  # fmt: skip
        values = {name: "" if cells.get(name) is None else str(cells[name]).strip() for name in _COLUMNS}
        reports.append(ErratumReport(**values, line=line))
    if not reports:
        raise DataError(f"{display_path(file)} holds no report", where=display_path(file), next=_NEXT)
    return reports


def add_errata(
    loaded: LoadedRecipe, cwd: Path, reports: Sequence[ErratumReport], *, release: Path | None = None,
    file: Path | None = None,
) -> AddedErrata:  # fmt: skip
    """Append reports to the log of the recipe, all or none; the log begins with the first of them.

    Args:
        loaded: The recipe.
        cwd: The current folder, with releases and builds.
        reports: The reports.
        release: Look for the items in the release of this folder only.
        file: The file that the reports come from, for messages.

    Raises:
        RecipeError: The recipe names no log, or a report from the command line cannot be used.
        DataError: There is nothing to report on, or reports of the file cannot be used; all are listed.
    """
    log = log_of(loaded)
    begin_log(log)
    items = known_items(loaded, cwd, release)
    known: list[Erratum] = []

    def change(errata: dict[str, Erratum]) -> list[Erratum]:
        new: dict[str, Erratum] = {}
        problems: list[str] = []
        reader = _ReportReader(items, errata)
        for report in reports:
            try:
                erratum = reader.erratum(report)
            except RecipeError as error:
                if file is None:
                    raise
                first = error.problems[0]
                problems.append(f"{display_path(file)}:{report.line}: {first.message}")
                continue
            if erratum.id in errata or erratum.id in new:
                known.append(errata.get(erratum.id) or new[erratum.id])
            else:
                new[erratum.id] = erratum
        raise_row_errors(problems, "reports cannot be used, and none was added", _NEXT)
        return list(new.values())

    return AddedErrata(log, tuple(append_errata(log, change)), tuple(known))


class _ReportReader:
    """Makes errata of reports, with what earlier decisions made of the items."""

    def __init__(self, items: Sequence[KnownItem], errata: Mapping[str, Erratum]) -> None:
        self._items, self._errata = items, errata
        self._corrections = Corrections(errata.values())
        self._fallen: dict[tuple[str, str, str], str] = {}
        for item in items if self._corrections.errata else ():
            corrected = self._corrections.apply(item.texts)
            if corrected.texts is None and item.family:
                self._fallen.setdefault((item.task, item.version, item.family), corrected.errata[-1])

    def erratum(self, report: ErratumReport) -> Erratum:
        """The erratum of a report; RecipeError if it cannot be used."""
        if report.kind not in ERRATUM_KINDS:
            allowed = ", ".join(ERRATUM_KINDS)
            raise _problem(f"{report.kind or 'no kind'!r} is no kind of error", "--kind", allowed=allowed,
                           hint=did_you_mean(report.kind, list(ERRATUM_KINDS)))  # fmt: skip
        text = clean_text(report.text)
        if not text.strip("\N{REPLACEMENT CHARACTER} \n\t"):
            raise _problem(
                "a report says what is wrong", "--text", hint="give --text 'what is wrong, and how you know'"
            )
        if len(text) > LONGEST_TEXT:
            raise _problem(f"a report has at most {LONGEST_TEXT} characters", "--text", actual=f"{len(text)}")
        item = find_item(self._items, report.item, report.version)
        self._check_current(item)
        return Erratum(
            id=content_id("erratum", [report.kind, text], item.id), item=item.id, task=item.task,
            version=report.version or item.version, who=person(report.who), when=_day(report.when), kind=report.kind,  # pyright: ignore[reportArgumentType]
            text=text, before=item.texts,
        )  # fmt: skip

    def _check_current(self, item: KnownItem) -> None:
        """RecipeError if the item was fixed or withdrawn by an earlier decision."""
        corrected = self._corrections.apply(item.texts)
        fallen = self._fallen.get((item.task, item.version, item.family), "")
        if corrected.texts is None or fallen:
            name = corrected.errata[-1] if corrected.texts is None else fallen
            how = "was withdrawn" if corrected.texts is None else "was withdrawn with its family"
            raise _problem(f"{item.id} {how} by {name}: {self._errata[name].reason}", item.id,
                           hint="nothing is left to report; `benchbuild errata ls` shows the decision")  # fmt: skip
        if corrected.texts != item.texts:
            after = next((other.id for other in self._items if other.texts == corrected.texts), "")
            hint = f"if it is still wrong, report {after}" if after else "build again, and report the fixed item"
            raise _problem(f"{item.id} was fixed by {corrected.errata[-1]}", item.id, hint=hint)


def clean_text(text: str) -> str:
    """`text` without control characters, and with line ends of one sort."""
    return replace_steering_characters(text.replace("\r\n", "\n").replace("\r", "\n"), frozenset("\n\t")).strip()


def person(name: str) -> str:
    """The name of a person, on one line; RecipeError if it is too long."""
    cleaned = " ".join(clean_text(name).split())
    if len(cleaned) > _LONGEST_NAME:
        raise _problem(f"a name has at most {_LONGEST_NAME} characters", "command line", actual=f"{len(cleaned)}")
    return cleaned


def _day(text: str) -> str:
    """A date as ISO 8601 writes it; of a date with a time, the date."""
    if not text:
        return date.today().isoformat()
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        raise _problem("a date has the form 2026-01-31", "--when", actual=text) from None


def _problem(message: str, where: str, **more: Any) -> RecipeError:
    return RecipeError([Problem(message, where=where if where.startswith("command") else f"errata: {where}", **more)])
