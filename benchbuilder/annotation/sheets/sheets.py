"""Makes annotation sheets: the cells, the columns, the rows for one person, and the CSV file.

A sheet has one row per claim, followed by one row per paragraph of its evidence. Sheets of other rows have the fields
that the recipe names; the first one is ``[text]``. The header of each column ends in a marker in square brackets that
identifies it: ``[text]``, ``[key]``, and for a guiding question ``[q:NAME:WORDING]`` with the hash of its wording.
``[key]`` hashes what the row shows. A vote is identified by the key of its row and the wording of its column. Of the
other cells, only notes are read, and the text, to find rows with misplaced keys.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Annotated

from pydantic import Field

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.annotation.values import parse_value
from benchbuilder.config import AnnotationSpec, GuidingQuestion, Spec

TextLabel = Annotated[str, Field(min_length=1, max_length=60)]
SheetName = Annotated[str, Field(pattern=r"^[^\[\]:*?/\\']{1,31}$")]

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
_ESCAPED_STARTS = (*FORMULA_STARTS, "'")
CLOSED_CELL = "—"
"""The content of a cell that must not be filled."""

_BLANK = re.compile(r"[\x00-\x20\N{REPLACEMENT CHARACTER}]+")
_EMPTY = {"", CLOSED_CELL, "–", "-", "'-"}


def escape_formula(text: str) -> str:
    """`text` with a leading apostrophe if a spreadsheet could read it as a formula.

    >>> escape_formula("=1+1"), escape_formula("plain")
    ("'=1+1", 'plain')
    """
    return "'" + text if text.startswith(_ESCAPED_STARTS) else text


def unescape_formula(text: str) -> str:
    """The inverse of `escape_formula`; other texts are returned unchanged."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_ESCAPED_STARTS) else text


def fold_whitespace(cell: str) -> str:
    """The text of a cell, with runs of white space and of characters that XLSX cannot hold as one space.

    >>> fold_whitespace(" '=1 +\\r\\n1 ")
    '=1 + 1'
    """
    return " ".join(_BLANK.sub(" ", unescape_formula(cell.strip())).split())


def parse_answer_cell(question: GuidingQuestion, text: str) -> Value | None:
    """Parse the answer in a cell; ``None`` if it is empty or closed. ValueError says what is allowed."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if plain in _EMPTY or text.strip() in _EMPTY:
        return None
    return parse_value(question, unescape_formula(text.strip()) if question.answer == "text" else text)


class SheetLabels(Spec):
    """Names of sheets and columns, and instructions; labels from `part` to `paragraph` are only used for candidates."""

    sheet: SheetName
    guide: SheetName
    item: TextLabel
    note: TextLabel
    annotator: TextLabel
    key: TextLabel
    instructions: tuple[str, ...]
    part: TextLabel | None = None
    text: TextLabel | None = None
    right: TextLabel | None = None
    wrong: TextLabel | None = None
    source: TextLabel | None = None
    claim: TextLabel | None = None
    """The `part` cell of a claim."""
    paragraph: TextLabel | None = None
    """The `part` cell of a paragraph, before its number."""

    def lacking(self) -> list[str]:
        """The labels for candidates that are missing."""
        names = ("part", "text", "right", "wrong", "source", "claim", "paragraph")
        return [name for name in names if getattr(self, name) is None]


@dataclass(frozen=True)
class AnnotationColumn:
    """A column: its label, the marker that identifies it, and its width in characters."""

    label: str
    marker: str
    width: int

    @property
    def title(self) -> str:
        """The header cell."""
        return f"{self.label} [{self.marker}]"


@dataclass(frozen=True)
class SheetRow:
    """A row: its texts by column marker, and for each wording "" (to fill), an answer, or `CLOSED_CELL`."""

    key: str
    texts: Mapping[str, str]
    cells: Mapping[str, str]
    is_whole: bool = False
    """Whether it is about a task as a whole, not about one of its paragraphs."""


def question_marker(name: str, question: GuidingQuestion) -> str:
    """The marker of a guiding question's column."""
    return f"q:{name}:{wording_key(question)}"


def sheet_columns(spec: AnnotationSpec, labels: SheetLabels) -> list[AnnotationColumn]:
    """All columns in order; annotator and key are last, as nobody needs to see them."""
    fields = spec.display_fields()
    text_columns = [(labels.part, "part", 10), (labels.text, "text", 62), (labels.right, "right", 34),
             (labels.wrong, "wrong", 34), (labels.source, "source", 18)]  # fmt: skip
    if fields:
        text_columns = [(fields[name], marker, 48) for name, marker in _field_markers(spec).items()]
    return [
        AnnotationColumn(labels.item, "item", 7),
        *(AnnotationColumn(label, marker, width) for label, marker, width in text_columns if label is not None),
        *(
            AnnotationColumn(question.label, question_marker(name, question), 15)
            for name, question in spec.questions_about().items()
        ),
        AnnotationColumn(labels.note, "note", 24),
        AnnotationColumn(labels.annotator, "annotator", 12),
        AnnotationColumn(labels.key, "key", 24),
    ]


def needed_columns(layout: Sequence[AnnotationColumn], rows: Sequence[SheetRow]) -> list[AnnotationColumn]:
    """The columns without those that no row needs, as of paragraphs where none was found for any question."""
    unused = {"source": ""} | {column.marker: CLOSED_CELL for column in layout if column.marker.startswith("q:")}
    return [
        column
        for column in layout
        if column.marker not in unused or any(_cell(row, column.marker) != unused[column.marker] for row in rows)
    ]


def guide_lines(layout: Sequence[AnnotationColumn], spec: AnnotationSpec, labels: SheetLabels) -> list[tuple[str, str]]:
    """How to fill in a sheet, as names and texts: what holds for all of it, then each question that it asks in full."""
    lines = [("", line) for line in labels.instructions]
    lines += [("", "")] if lines else []
    markers = {column.marker for column in layout}
    for name, question in spec.questions_about().items():
        if question_marker(name, question) in markers:
            lines.append((question.label, question.text))
            lines += [(str(value), meaning) for value, meaning in sorted(question.options.items())]
            lines += [(f"{band.low:g} – {band.high:g}", band.text) for band in question.anchors()]
    return lines


def _field_markers(spec: AnnotationSpec) -> dict[str, str]:
    """The marker of each displayed field; the first one is the text."""
    return {name: f"f:{name}" if place else "text" for place, name in enumerate(spec.display_fields())}


def sheet_rows(
    tasks: Sequence[Task], subjects: Collection[Subject], spec: AnnotationSpec, labels: SheetLabels,
    *, annotator: str, seed: int,
) -> list[SheetRow]:  # fmt: skip
    """The rows in which `annotator` judges exactly `subjects`, with claims in an order of the person's own.

    If only paragraphs of a claim are requested, the claim is shown with closed cells. Other paragraphs are left out.
    """
    questions = {name: (question.subject, wording_key(question)) for name, question in spec.questions_about().items()}
    markers = _field_markers(spec)
    rows: list[SheetRow] = []
    number = 0
    for claim in sorted(tasks, key=lambda task: _sort_key(seed, annotator, task.key)):
        keys = {claim.key: "claim"} | {paragraph.key: "evidence" for paragraph in claim.paragraphs}
        cells = {
            key: {
                wording: "" if subject == about and Subject(key, wording) in subjects else CLOSED_CELL
                for subject, wording in questions.values()
            }
            for key, about in keys.items()
        }
        if all(cell == CLOSED_CELL for row in cells.values() for cell in row.values()):
            continue
        number += 1
        common = {"item": str(number), "annotator": annotator}
        shown = {"part": labels.claim or ""} | {markers.get(name, name): text for name, text in claim.fields}
        rows.append(SheetRow(claim.key, common | shown, cells[claim.key], is_whole=True))
        for index, paragraph in enumerate(claim.paragraphs, start=1):
            if any(cell != CLOSED_CELL for cell in cells[paragraph.key].values()):
                source = " · ".join(part for part in (paragraph.base, paragraph.title) if part)
                shown = {"part": f"{labels.paragraph} {index}", "text": paragraph.text, "source": source}
                rows.append(SheetRow(paragraph.key, common | shown, cells[paragraph.key]))
    return rows


def _sort_key(seed: int, annotator: str, key: str) -> str:
    """The pseudo-random position of a claim in an annotator's sheet, independent of the other claims."""
    return hashlib.blake2b(f"{seed}:{annotator}:{key}".encode(), digest_size=8).hexdigest()


def sheet_grid(layout: Sequence[AnnotationColumn], rows: Sequence[SheetRow]) -> list[list[str]]:
    """The cells, header first, with formula-like texts escaped."""
    lines = [[escape_formula(column.title) for column in layout]]
    for row in rows:
        lines.append([escape_formula(_cell(row, column.marker)) for column in layout])
    return lines


def _cell(row: SheetRow, marker: str) -> str:
    if marker == "key":
        return row.key
    if marker.startswith("q:"):
        return row.cells[marker.rpartition(":")[2]]
    return row.texts.get(marker, "")


def csv_bytes(lines: Iterable[Sequence[str]]) -> bytes:
    """A grid as CSV in UTF-8 with a byte-order mark, so that Excel detects the encoding."""
    stream = io.BytesIO()
    write_csv(stream, lines)
    return stream.getvalue()


def write_csv(file: IO[bytes], lines: Iterable[Sequence[str]]) -> None:
    """Write a grid as `csv_bytes` makes it, line by line; `file` stays open."""
    file.write(codecs.BOM_UTF8)
    stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        csv.writer(stream, lineterminator="\r\n").writerows(lines)
    finally:
        stream.detach()
