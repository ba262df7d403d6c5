"""All votes in one long table, a row a vote, as CSV and XLSX; and the table read back.

Columns: what the vote is on (``project``, ``task``, ``text_FIELD``, ``about_NAME`` of what was not shown, ``paragraph``
with its number and ``paragraph_text``, ``question``), ``value`` and ``note``, who gave it (``code`` and ``role``, no
name), ``at``, ``seconds``, ``door``, whether it ``counts`` (1; 0 for one that was given up for a later one, or taken
back), and ``key`` and ``wording``, to which it is bound.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.formats.lossiness import about_judging
from benchbuilder.annotation.formats.models import Brought, Export, Loss, Material, Vote
from benchbuilder.annotation.formats.parse_votes import Collector, places, plain
from benchbuilder.annotation.formats.user_table import Users
from benchbuilder.annotation.sheets.cells import escape, unescape
from benchbuilder.annotation.sheets.sheets import csv_bytes
from benchbuilder.annotation.sheets.workbook import table_bytes
from benchbuilder.core.errors import DataError
from benchbuilder.core.text.tables import csv_lines

CSV, XLSX = "votes.csv", "votes.xlsx"
LONGEST_CELL = 32_767
"""Characters that a cell of XLSX holds."""
MOST_ROWS = 2**20

_TAIL = ("question", "value", "note", "code", "role", "at", "seconds", "door", "counts", "key", "wording")
_NEEDED = ("task", "question", "value", "code", "key", "wording")
_TOO_LONG = "[…]"
_EXPONENT = re.compile(r"[0-9](\.[0-9]{1,20})?[eE]-[0-9]{1,3}")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\uFFFE\uFFFF]|_(?=x[0-9A-Fa-f]{4}_)")


def write_csv(material: Material, users: Users | None = None) -> Export:  # noqa: ARG001 - every door takes a table
    """All votes as CSV."""
    lines = [[escape(cell) for cell in line] for line in _lines(material)]
    return Export({CSV: csv_bytes(lines)}, _losses(material))


def write_xlsx(material: Material, users: Users | None = None) -> Export:  # noqa: ARG001
    """All votes as XLSX. A text that no cell can hold is left out, and told."""
    lines = _lines(material)
    if len(lines) > MOST_ROWS:
        raise DataError(f"{len(lines) - 1} votes are more than a sheet of XLSX has rows", next="export them as csv")
    value, note = lines[0].index("value"), lines[0].index("note")
    long = 0
    for line in lines[1:]:
        for index, cell in enumerate(line):
            if len(xlsx_text(cell)) > LONGEST_CELL:
                long += 1
                line[index] = "" if index in (value, note) else _TOO_LONG
    numbers = {lines[0].index(name) for name in ("paragraph", "seconds", "counts")}
    numeric = [[index in numbers or (index == value and _is_number(material, line)) for index in range(len(line))]
               for line in lines]  # fmt: skip
    cells = [
        [cell if plain_number else xlsx_text(cell) for cell, plain_number in zip(line, marks, strict=True)]
        for line, marks in zip(lines, numeric, strict=True)
    ]
    book = table_bytes("votes", cells, numeric)
    losses = _losses(material)
    if long:
        losses.append(Loss("texts that are too long for a cell: they are left out, and stand in CSV", long))
    return Export({XLSX: book}, losses)


def xlsx_text(text: str) -> str:
    """A text as a cell: no formula; what XML forbids, and carriage returns, written as ``_xHHHH_`` as Excel does.

    >>> xlsx_text("=1"), xlsx_text("a\\rb_x000D_")
    ("'=1", 'a_x000D_b_x005F_x000D_')
    """
    return _UNSAFE.sub(lambda match: f"_x{ord(match[0]):04X}_", escape(text))


def _from_xlsx(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def _is_number(material: Material, line: Sequence[str]) -> bool:
    question = material.project.spec.asked().get(line[-len(_TAIL)])
    return question is not None and question.answer != "text" and bool(line[1 - len(_TAIL)])


def _lines(material: Material) -> list[list[str]]:
    """The table, header first; cells are as they are."""
    fields = list(material.project.spec.shown())
    fields += [name for task in material.tasks for name, _ in task.fields if name not in fields]
    fields = list(dict.fromkeys(fields))
    about = list(dict.fromkeys(name for task in material.tasks for name, _ in task.about))
    header = [
        "project", "task", *(f"text_{name}" for name in fields), *(f"about_{name}" for name in about), "paragraph",
        "paragraph_text", *_TAIL,
    ]  # fmt: skip
    place = places(material.tasks)
    counting = {id(vote) for vote in material.counting()}
    lines = [header]
    for vote in material.votes:
        task, number = place.get(vote.subject.key, (None, 0))
        texts = dict(task.fields) if task else {}
        hidden = dict(task.about) if task else {}
        shown = task.paragraphs[number - 1].text if task and number else ""
        lines.append(
            [
                material.project.name, task.key if task else "", *(texts.get(name, "") for name in fields),
                *(hidden.get(name, "") for name in about), str(number) if number else "", shown,
                *_tail(vote, counts=id(vote) in counting),
            ]
        )  # fmt: skip
    return lines


def _tail(vote: Vote, *, counts: bool) -> list[str]:
    seconds = "" if vote.seconds is None else plain(vote.seconds)
    value = "" if vote.value is None else plain(vote.value)
    return [
        vote.question, value, vote.note, vote.code, vote.role, vote.at.isoformat(), seconds, vote.door,
        str(int(counts)), vote.subject.key, vote.subject.wording,
    ]  # fmt: skip


def _losses(material: Material) -> list[Loss]:
    place = places(material.tasks)
    losses = [Loss("names of people: they stand by code"), *about_judging(material, hides=False)]
    counted = [
        Loss("votes about what is not shown any more: they stand without its text", sum(
            vote.subject.key not in place for vote in material.votes)),
        Loss("tasks without a vote", len(material.tasks) - len({
            place[vote.subject.key][0].key for vote in material.votes if vote.subject.key in place})),
        Loss("tasks that were skipped", len(material.skips)),
        Loss("what adjudicators said of their decisions besides the remark", len(material.rulings)),
        Loss("suggestions of models", len(material.suggestions)),
    ]  # fmt: skip
    return losses + [loss for loss in counted if loss.count]


def read_sheet(name: str, data: bytes, material: Material, users: Users | None = None) -> Brought:  # noqa: ARG001
    """The votes in a long table, CSV or XLSX: people by their code, rows that do not count left out."""
    collector = Collector(material)
    excel = name.lower().endswith(".xlsx")
    lines = _excel_lines(name, data, collector) if excel else _csv_lines(name, data, collector)
    if not lines:
        return collector.brought
    header = [cell.strip().lower() for cell in lines[0]]
    if missing := [column for column in _NEEDED if header.count(column) != 1]:
        collector.problem(f"{name}:1", f"there must be one column of each of these: {', '.join(missing)}")
        return collector.brought
    for number, line in enumerate(lines[1:], start=2):
        cells = dict(zip(header, line, strict=False))
        if any(cells.values()):
            _read_row(f"{name}:{number}", {key: unescape(cell) for key, cell in cells.items()}, collector)
    return collector.brought


def _read_row(where: str, cells: Mapping[str, str], collector: Collector) -> None:
    if cells.get("counts", "1").strip() == "0":
        collector.brought.leave_out("votes that were given up for later ones, or taken back")
        return
    rater = collector.people.get(cells.get("code", "").strip())
    subject = Subject(cells.get("key", "").strip(), cells.get("wording", "").strip())
    if rater is None:
        collector.problem(where, f"nobody here has the code {cells.get('code', '')!r}")
    elif cells.get("role", "").strip() not in ("", rater.role):
        collector.problem(where, f"{rater.code} is {rater.role} here, not {cells['role']}")
    elif changed := _changed(cells, subject, collector):
        collector.problem(where, f"{changed} is not the text that {subject.key} stands for: were cells moved?")
    else:
        collector.answer(
            rater, subject, _value(cells.get("value", ""), subject, collector),
            where=where, what=cells.get("question", ""), note=cells.get("note", ""),
            seconds=to_seconds(cells.get("seconds", "")),
        )  # fmt: skip


def _value(cell: str, subject: Subject, collector: Collector) -> str:
    """The cell of a value; a number with an exponent, as spreadsheet programs write small ones, without it."""
    question = collector.question(subject)
    if question is None or question.answer == "text" or not _EXPONENT.fullmatch(cell.strip()):
        return cell
    return plain(float(cell))


def to_seconds(text: str) -> float | None:
    """A number of seconds, ``None`` if it is none."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _changed(cells: Mapping[str, str], subject: Subject, collector: Collector) -> str:
    """The name of a column whose text is another than that of what the row is bound to."""
    place = collector.places.get(subject.key)
    if place is None:
        return ""
    task, number = place
    texts = {f"text_{name}": text for name, text in task.fields}
    if number:
        texts["paragraph_text"] = task.paragraphs[number - 1].text
    for name, text in texts.items():
        there = cells.get(name)
        if there is not None and there != _TOO_LONG and there.split() != text.split():
            return name
    return ""


def _csv_lines(name: str, data: bytes, collector: Collector) -> list[list[str]]:
    lines = csv_lines(data, lambda header: "wording" in [cell.strip().lower() for cell in header])
    if lines is None:
        collector.problem(name, "it is text in neither UTF-8 nor GB18030, or no CSV")
    return lines or []


def _excel_lines(name: str, data: bytes, collector: Collector) -> list[list[str]]:
    from benchbuilder.annotation.sheets.workbook import UnreadableWorkbookError, read_workbook

    try:
        sheets = list(read_workbook(data).values())
    except UnreadableWorkbookError as error:
        collector.problem(name, str(error))
        return []
    return [[_from_xlsx(cell) for cell in line] for line in sheets[0]] if sheets else []
