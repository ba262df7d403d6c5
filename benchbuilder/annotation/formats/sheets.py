"""Writes and reads all votes as one table with a row per vote, as CSV and XLSX, and reads filled annotation sheets.

Columns: the task (``project``, ``task``, ``text_FIELD``, ``about_NAME`` of metadata, ``paragraph`` with its number and
``paragraph_text``), ``question``, ``value`` and ``note``, the person (``code`` and ``role``, no name), ``at``,
``seconds``, ``channel``, whether it ``counts`` (1, or 0 if it was replaced or withdrawn), and its ``key`` and
``wording``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.formats.models import (
    ExportInput,
    ExportLoss,
    ParsedVotes,
    VoteExport,
    VoteRecord,
    judging_losses,
)
from benchbuilder.annotation.formats.parse_votes import VoteCollector, same_shown, shown_positions, value_text
from benchbuilder.annotation.formats.user_table import UserTable
from benchbuilder.annotation.sheets.reading import SheetContents, read_vote_sheet
from benchbuilder.annotation.sheets.sheets import csv_bytes, escape_formula, unescape_formula
from benchbuilder.annotation.sheets.workbook_support import UnreadableWorkbookError
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.core import DataError, csv_rows, show_invisible

CSV_FILE, XLSX_FILE = "votes.csv", "votes.xlsx"
MAX_CELL_CHARS = 32_767
"""Characters that a cell of XLSX holds."""
MAX_ROWS = 2**20

_VOTE_COLUMNS = ("question", "value", "note", "code", "role", "at", "seconds", "channel", "counts", "key", "wording")
_REQUIRED_COLUMNS = ("task", "question", "value", "code", "key", "wording")
_TOO_LONG = "[…]"
_EXPONENT = re.compile(r"[0-9](\.[0-9]{1,20})?[eE]-[0-9]{1,3}")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\uFFFE\uFFFF]|_(?=x[0-9A-Fa-f]{4}_)")


def write_vote_csv(export: ExportInput, users: UserTable | None = None) -> VoteExport:  # noqa: ARG001 - as every format
    """All votes as CSV."""
    lines = [[escape_formula(cell) for cell in line] for line in _table_lines(export)]
    return VoteExport({CSV_FILE: csv_bytes(lines)}, _losses(export))


def write_vote_xlsx(export: ExportInput, users: UserTable | None = None) -> VoteExport:  # noqa: ARG001
    """All votes as XLSX. Texts that are too long for a cell are left out and reported as a loss."""
    from benchbuilder.annotation.sheets.workbook import table_workbook_bytes  # needs the extra `xlsx`

    lines = _table_lines(export)
    if len(lines) > MAX_ROWS:
        raise DataError(f"{len(lines) - 1} votes are more than a sheet of XLSX has rows", next="export them as csv")
    value, note = lines[0].index("value"), lines[0].index("note")
    long = 0
    for line in lines[1:]:
        for index, cell in enumerate(line):
            if len(xlsx_cell_text(cell)) > MAX_CELL_CHARS:
                long += 1
                line[index] = "" if index in (value, note) else _TOO_LONG
    numbers = {lines[0].index(name) for name in ("paragraph", "seconds", "counts")}
    numeric = [[index in numbers or (index == value and _is_number(export, line)) for index in range(len(line))]
               for line in lines]  # fmt: skip
    cells = [
        [cell if plain_number else xlsx_cell_text(cell) for cell, plain_number in zip(line, marks, strict=True)]
        for line, marks in zip(lines, numeric, strict=True)
    ]
    book = table_workbook_bytes("votes", cells, numeric)
    too_long = ExportLoss("texts that are too long for a cell: they are only in the CSV export", long)
    return VoteExport({XLSX_FILE: book}, [*_losses(export), too_long])


def xlsx_cell_text(text: str) -> str:
    """A text as a cell that is not a formula; characters that XML forbids are written as ``_xHHHH_``, as in Excel.

    >>> xlsx_cell_text("=1"), xlsx_cell_text("a\\rb_x000D_")
    ("'=1", 'a_x000D_b_x005F_x000D_')
    """
    return _UNSAFE.sub(lambda match: f"_x{ord(match[0]):04X}_", escape_formula(text))


def _from_xlsx_text(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _is_number(export: ExportInput, line: Sequence[str]) -> bool:
    question = export.project.spec.questions_about().get(line[-len(_VOTE_COLUMNS)])
    return question is not None and question.answer != "text" and bool(line[1 - len(_VOTE_COLUMNS)])


def _table_lines(export: ExportInput) -> list[list[str]]:
    """The table, header first; cells show invisible characters, and are not escaped."""
    fields = list(export.project.spec.display_fields())
    fields += [name for task in export.tasks for name, _ in task.fields if name not in fields]
    fields = list(dict.fromkeys(fields))
    about = list(dict.fromkeys(name for task in export.tasks for name, _ in task.about))
    header = [
        "project", "task", *(f"text_{name}" for name in fields), *(f"about_{name}" for name in about), "paragraph",
        "paragraph_text", *_VOTE_COLUMNS,
    ]  # fmt: skip
    place = shown_positions(export.tasks)
    counting = {id(vote) for vote in export.counting_votes()}
    lines = [header]
    for vote in export.votes:
        task, number = place.get(vote.subject.key, (None, 0))
        texts = dict(task.fields) if task else {}
        hidden = dict(task.about) if task else {}
        shown = task.paragraphs[number - 1].text if task and number else ""
        lines.append(
            [
                export.project.name, task.key if task else "", *(texts.get(name, "") for name in fields),
                *(hidden.get(name, "") for name in about), str(number) if number else "", shown,
                *_vote_cells(vote, counts=id(vote) in counting),
            ]
        )  # fmt: skip
    return [[show_invisible(cell) for cell in line] for line in lines]


def _vote_cells(vote: VoteRecord, *, counts: bool) -> list[str]:
    seconds = "" if vote.seconds is None else value_text(vote.seconds)
    value = "" if vote.value is None else value_text(vote.value)
    return [
        vote.question, value, vote.note, vote.code, vote.role, vote.created_at.isoformat(), seconds, vote.channel,
        str(int(counts)), vote.subject.key, vote.subject.wording,
    ]  # fmt: skip


def _losses(export: ExportInput) -> list[ExportLoss]:
    place = shown_positions(export.tasks)
    return [
        ExportLoss("names of people: codes replace them"),
        *judging_losses(export, hides_metadata=False),
        ExportLoss("votes on texts that are no longer shown: the text is missing", sum(
            vote.subject.key not in place for vote in export.votes)),
        ExportLoss("tasks without a vote", len(export.tasks) - len({
            place[vote.subject.key][0].key for vote in export.votes if vote.subject.key in place})),
        ExportLoss("tasks that were skipped", len(export.skips)),
        ExportLoss("adjudicators' details of their decisions besides the remark", len(export.adjudication_notes)),
    ]  # fmt: skip


def read_vote_table(name: str, data: bytes, export: ExportInput, users: UserTable | None = None) -> ParsedVotes:  # noqa: ARG001
    """Read the votes of a table, CSV or XLSX: people by code, without rows that do not count."""
    collector = VoteCollector(export)
    excel = name.lower().endswith(".xlsx")
    lines = _excel_lines(name, data, collector) if excel else _csv_lines(name, data, collector)
    if not lines:
        return collector.parsed
    header = [cell.strip().lower() for cell in lines[0]]
    if missing := [column for column in _REQUIRED_COLUMNS if header.count(column) != 1]:
        collector.add_problem(f"{name}:1", f"these columns must occur exactly once: {', '.join(missing)}")
        return collector.parsed
    for number, line in enumerate(lines[1:], start=2):
        cells = dict(zip(header, line, strict=False))
        if any(cells.values()):
            _read_row(f"{name}:{number}", {key: unescape_formula(cell) for key, cell in cells.items()}, collector)
    return collector.parsed


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
    place = collector.positions.get(subject.key)
    if place is None:
        return ""
    task, number = place
    texts = {f"text_{name}": text for name, text in task.fields}
    if number:
        texts["paragraph_text"] = task.paragraphs[number - 1].text
    for name, text in texts.items():
        cell = cells.get(name)
        if cell is not None and cell != _TOO_LONG and not same_shown(cell, text):
            return name
    return ""


def _csv_lines(name: str, data: bytes, collector: VoteCollector) -> list[list[str]]:
    lines = csv_rows(data, lambda header: "wording" in [cell.strip().lower() for cell in header])
    if lines is None:
        collector.add_problem(name, "it is not CSV in UTF-8 or GB18030")
    return lines or []


def _excel_lines(name: str, data: bytes, collector: VoteCollector) -> list[list[str]]:
    from benchbuilder.annotation.sheets.workbook import read_workbook  # needs the extra `xlsx`

    try:
        sheets = list(read_workbook(data).values())
    except UnreadableWorkbookError as error:
        collector.add_problem(name, str(error))
        return []
    return [[_from_xlsx_text(cell) for cell in line] for line in sheets[0]] if sheets else []


def read_annotation_sheet(name: str, data: bytes, export: ExportInput, users: UserTable | None = None) -> ParsedVotes:  # noqa: ARG001
    """Read the votes of an annotation sheet; its ``[annotator]`` is the name of a person."""
    people = {rater.person: rater for rater in export.all_raters() if rater.role != "lead"}
    reading = SheetContents(people, {wording_key(q): q for q in export.project.spec.questions_about().values()})
    read_vote_sheet(name, data, reading)
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
