"""Writes and reads all votes as one table with a row per vote, as CSV and XLSX, and reads filled annotation sheets.

Columns: the task (``project``, ``task``, ``text_FIELD``, ``about_NAME`` of metadata, ``paragraph`` with its number and
``paragraph_text``), ``question``, ``value`` and ``note``, the person (``code`` and ``role``, no name), ``at``,
``seconds``, ``channel``, whether it ``counts`` (1, or 0 if it was replaced or withdrawn), and its ``key`` and
``wording``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.annotation.formats.models import (
    ExportInput,
    ExportLoss,
    ParsedVotes,
    VoteExport,
    VoteRecord,
    export_file,
    judging_losses,
)
from benchbuilder.annotation.formats.parse_votes import VoteCollector, same_shown, value_text
from benchbuilder.annotation.formats.user_table import UserTable
from benchbuilder.annotation.sheets.reading import SheetContents, read_vote_sheet
from benchbuilder.annotation.sheets.sheets import escape_formula, unescape_formula, write_csv
from benchbuilder.annotation.sheets.workbook_support import UnreadableWorkbookError
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.core import DataError, read_csv_rows, show_invisible

CSV_FILE, XLSX_FILE = "votes.csv", "votes.xlsx"
MAX_CELL_CHARS = 32_767
"""Characters that a cell of XLSX holds."""
MAX_ROWS = 2**20
_HELD_TEXTS = 256

_VOTE_COLUMNS = ("question", "value", "note", "code", "role", "at", "seconds", "channel", "counts", "key", "wording")
_REQUIRED_COLUMNS = ("task", "question", "value", "code", "key", "wording")
_TOO_LONG = "[…]"
_EXPONENT = re.compile(r"[0-9](\.[0-9]{1,20})?[eE]-[0-9]{1,3}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{0,20}[1-9])?")
"""A number as `value_text` writes it. A vote from before its question asked for a number may be another text."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\uFFFE\uFFFF]|_(?=x[0-9A-Fa-f]{4}_)")


def write_vote_csv(export: ExportInput, users: UserTable | None, folder: Path) -> VoteExport:  # noqa: ARG001 - as every format
    """Write all votes as CSV."""
    with export_file(folder / CSV_FILE) as file:
        write_csv(file, _table_lines(export, lambda text: escape_formula(show_invisible(text))))
    return VoteExport([CSV_FILE], _losses(export))


def write_vote_xlsx(export: ExportInput, users: UserTable | None, folder: Path) -> VoteExport:  # noqa: ARG001
    """Write all votes as XLSX. Texts that are too long for a cell are left out and reported as a loss."""
    from benchbuilder.annotation.sheets.workbook import write_table_workbook  # needs the extra `xlsx`

    if len(export.votes) >= MAX_ROWS:
        raise DataError(f"{len(export.votes)} votes are more than a sheet of XLSX has rows", next="export them as csv")
    cells = _XlsxCells(export)
    with export_file(folder / XLSX_FILE) as file:
        write_table_workbook(file, "votes", cells.lines(), freeze="A2")
    too_long = ExportLoss("texts that are too long for a cell: they are only in the CSV export", cells.long)
    return VoteExport([XLSX_FILE], [*_losses(export), too_long])


class _XlsxCells:
    """The lines of the table for XLSX; `long` counts the texts that were left out."""

    def __init__(self, export: ExportInput) -> None:
        self.long = 0
        self._export = export
        questions = export.project.spec.questions_about()
        self._numeric_questions = {name for name, question in questions.items() if question.answer != "text"}

    def lines(self) -> Iterator[list[str | float]]:
        """The lines, header first; numbers are cells of numbers."""
        lines = _table_lines(self._export, show_invisible)
        header = next(lines)
        yield [xlsx_cell_text(cell) for cell in header]
        question, value, note = (header.index(name) for name in ("question", "value", "note"))
        own = (value, note)
        numbers = {header.index(name) for name in ("paragraph", "seconds", "counts")}
        for line in lines:
            is_number = line[question] in self._numeric_questions and _NUMBER.fullmatch(line[value])
            numeric = {*numbers, value} if is_number else numbers
            yield [
                float(cell) if index in numeric and cell else self._text(cell, "" if index in own else _TOO_LONG)
                for index, cell in enumerate(line)
            ]

    def _text(self, cell: str, instead: str) -> str:
        text = xlsx_cell_text(cell)
        if len(text) <= MAX_CELL_CHARS:
            return text
        self.long += 1
        return instead


def xlsx_cell_text(text: str) -> str:
    """A text as a cell that is not a formula; characters that XML forbids are written as ``_xHHHH_``, as in Excel.

    >>> xlsx_cell_text("=1"), xlsx_cell_text("a\\rb_x000D_")
    ("'=1", 'a_x000D_b_x005F_x000D_')
    """
    return _UNSAFE.sub(lambda match: f"_x{ord(match[0]):04X}_", escape_formula(text))


def _from_xlsx_text(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _table_lines(export: ExportInput, as_cell: Callable[[str], str]) -> Iterator[list[str]]:
    """The table, header first, with each text as `as_cell` makes it."""
    cell_of = lru_cache(_HELD_TEXTS)(as_cell)  # most cells of votes repeat
    fields = dict.fromkeys(export.project.spec.display_fields()) | export.summary.fields
    about = export.summary.about

    @lru_cache(_HELD_TEXTS)
    def shown(key: str) -> list[str]:
        task = export.task_with(key)
        if task is None:
            return ["", *("" for _ in fields), *("" for _ in about), "", ""]
        number, text = _paragraph(task, key)
        texts, hidden = dict(task.fields), dict(task.about)
        cells = [task.key, *(texts.get(name, "") for name in fields), *(hidden.get(name, "") for name in about)]
        return [as_cell(cell) for cell in (*cells, str(number) if number else "", text)]

    columns = ["project", "task", *(f"text_{name}" for name in fields), *(f"about_{name}" for name in about)]
    yield [as_cell(name) for name in (*columns, "paragraph", "paragraph_text", *_VOTE_COLUMNS)]
    project = as_cell(export.project.name)
    for vote, counts in zip(export.votes, export.vote_index.counts.tolist(), strict=True):
        yield [project, *shown(vote.subject.key), *map(cell_of, _vote_cells(vote, counts=counts))]


def _paragraph(task: Task, key: str) -> tuple[int, str]:
    """Number and text of the paragraph with the key `key`; 0 and an empty text if `key` is the task as a whole."""
    found = ((number, one.text) for number, one in enumerate(task.paragraphs, start=1) if one.key == key)
    return (0, "") if key == task.key else next(found)


def _vote_cells(vote: VoteRecord, *, counts: bool) -> list[str]:
    seconds = "" if vote.seconds is None else value_text(vote.seconds)
    value = "" if vote.value is None else value_text(vote.value)
    return [
        vote.question, value, vote.note, vote.code, vote.role, vote.created_at.isoformat(), seconds, vote.channel,
        str(int(counts)), vote.subject.key, vote.subject.wording,
    ]  # fmt: skip


def _losses(export: ExportInput) -> list[ExportLoss]:
    index = export.vote_index
    return [
        ExportLoss("names of people: codes replace them"),
        *judging_losses(export, hides_metadata=False),
        ExportLoss("votes on texts that are no longer shown: the text is missing", index.unplaced),
        ExportLoss("tasks without a vote", len(export.tasks) - index.voted_tasks),
        ExportLoss("tasks that were skipped", len(export.skips)),
        ExportLoss("adjudicators' details of their decisions besides the remark", len(export.adjudication_notes)),
    ]


def read_vote_table(name: str, file: IO[bytes], export: ExportInput, users: UserTable | None = None) -> ParsedVotes:  # noqa: ARG001
    """Read the votes of a table, CSV or XLSX: people by code, without rows that do not count."""
    collector = VoteCollector(export)
    if name.lower().endswith(".xlsx"):
        from benchbuilder.annotation.sheets.workbook import first_sheet_lines  # needs the extra `xlsx`

        try:
            lines = first_sheet_lines(file)
            _read_lines(name, ([_from_xlsx_text(cell) for cell in line] for line in lines), collector)
        except UnreadableWorkbookError as error:
            return ParsedVotes(problems=[f"{name}: {error}"])
        return collector.parsed
    lines = read_csv_rows(file, lambda header: "wording" in [cell.strip().lower() for cell in header])
    if lines is None:
        collector.add_problem(name, "it is not CSV in UTF-8 or GB18030")
    else:
        _read_lines(name, _unchanged_lines(name, lines, collector), collector)
    return collector.parsed


def _unchanged_lines(name: str, lines: Iterable[list[str]], collector: VoteCollector) -> Iterator[list[str]]:
    """The lines of CSV that could be read once before; a problem if somebody changes the file meanwhile."""
    number = 1
    try:
        for line in lines:
            yield line
            number += 1
    except (UnicodeError, csv.Error) as error:
        reason = f"it changed while it was read ({error}); import it again when nobody writes it"
        collector.add_problem(f"{name}:{number}", reason)


def _read_lines(name: str, lines: Iterator[list[str]], collector: VoteCollector) -> None:
    header = [cell.strip().lower() for cell in next(lines, [])]
    if missing := [column for column in _REQUIRED_COLUMNS if header.count(column) != 1]:
        collector.add_problem(f"{name}:1", f"these columns must occur exactly once: {', '.join(missing)}")
        return
    for number, line in enumerate(lines, start=2):
        cells = dict(zip(header, line, strict=False))
        if any(cells.values()):
            _read_row(f"{name}:{number}", {key: unescape_formula(cell) for key, cell in cells.items()}, collector)


def _read_row(where: str, cells: Mapping[str, str], collector: VoteCollector) -> None:
    if cells.get("counts", "1").strip() == "0":
        collector.parsed.add_omitted("votes that were replaced or withdrawn")
        return
    rater = collector.find_rater(where, cells.get("code", "").strip(), cells.get("role", "").strip())
    subject = Subject(cells.get("key", "").strip(), cells.get("wording", "").strip())
    if rater is None:
        return
    if changed := _changed_column(cells, subject, collector):
        collector.add_problem(where, f"{changed} does not match the text of {subject.key}: were cells moved?")
    else:
        collector.add_answer(
            rater, subject, _value(cells.get("value", ""), subject, collector),
            where=where, label=cells.get("question", ""), note=cells.get("note", ""),
            seconds=parse_seconds(cells.get("seconds", "")),
        )  # fmt: skip


def _value(cell: str, subject: Subject, collector: VoteCollector) -> str:
    """The cell of a value; numbers with an exponent, as spreadsheets write small ones, without it."""
    question = collector.question_for(subject)
    if question is None or question.answer == "text" or not _EXPONENT.fullmatch(cell.strip()):
        return cell
    return value_text(float(cell))


def parse_seconds(text: str) -> float | None:
    """Parse a number of seconds; ``None`` if it is not one."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _changed_column(cells: Mapping[str, str], subject: Subject, collector: VoteCollector) -> str:
    """The name of a column whose text differs from the text of the row's subject, or an empty text."""
    task = collector.task_with(subject.key)
    if task is None:
        return ""
    number, paragraph = _paragraph(task, subject.key)
    texts = {f"text_{name}": text for name, text in task.fields} | ({"paragraph_text": paragraph} if number else {})
    for name, text in texts.items():
        cell = cells.get(name)
        if cell is not None and cell != _TOO_LONG and not same_shown(cell, text):
            return name
    return ""


def read_annotation_sheet(
    name: str,
    file: IO[bytes],
    export: ExportInput,
    users: UserTable | None = None,  # noqa: ARG001
) -> ParsedVotes:
    """Read the votes of an annotation sheet; its ``[annotator]`` is the name of a person."""
    people = {rater.person: rater for rater in export.all_raters() if rater.role != "lead"}
    reading = SheetContents(people, {wording_key(q): q for q in export.project.spec.questions_about().values()})
    read_vote_sheet(name, file.read(), reading)
    collector = VoteCollector(export)
    collector.parsed.problems += reading.problems
    notes = {(comment.annotator, comment.key): comment.text for comment in reading.comments}
    for vote in reading.votes:
        question = collector.question_for(vote.subject)
        collector.add_answer(
            people[vote.annotator], vote.subject, vote.value, where=vote.where,
            label="" if question is None else question.label, note=notes.get((vote.annotator, vote.subject.key), ""),
        )  # fmt: skip
    return collector.parsed
