"""Turns answers from other tools into votes: checks values, merges repeated ones and reports contradictions."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import IO, Any, cast

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database.models import ImportedVote
from benchbuilder.annotation.formats.json_list import json_elements
from benchbuilder.annotation.formats.models import ExportInput, ParsedVotes, Rater
from benchbuilder.annotation.formats.vote_index import vote_mark
from benchbuilder.annotation.values import is_allowed_value, parse_value
from benchbuilder.config import GuidingQuestion
from benchbuilder.core import escape_invisible, head_excerpt, parse_json, show_invisible


class VoteCollector:
    """Collects the votes of one file on current tasks in `parsed`."""

    def __init__(self, export: ExportInput) -> None:
        self.parsed = ParsedVotes()
        self.task_with = export.task_with
        self.people: Mapping[str, Rater] = {rater.code: rater for rater in export.all_raters()}
        self._export = export
        self._questions = export.project.spec.questions_about()
        self._first: dict[bytes, int] = {}

    def add_problem(self, where: str, description: str) -> None:
        """Add a problem at `where`."""
        self.parsed.problems.append(f"{where}: {description}")

    def find_rater(self, where: str, code: object, role: object) -> Rater | None:
        """The person with `code`; a problem if there is none, or if their role is not `role` (empty for any)."""
        rater = self.people.get(code) if isinstance(code, str) else None
        if rater is None:
            self.add_problem(where, f"nobody in this project has the code {code!r}")
        elif role not in ("", rater.role):
            self.add_problem(where, f"{rater.code} is {rater.role} here, not {role}")
            return None
        return rater

    def question_for(self, subject: Subject) -> GuidingQuestion | None:
        """The guiding question about `subject`; ``None`` if it is not asked now."""
        name = self._export.subjects.question(subject)
        return None if name is None else self._questions[name]

    def add_answer(
        self, rater: Rater, subject: Subject, raw: object, *, where: str, label: str, **details: Any
    ) -> None:
        """Add `raw` as the answer of `rater` about `subject`; an empty value is not an answer.

        `label` names the answer in messages; `details` are further fields of the imported vote.
        """
        question = self.question_for(subject)
        if question is None:
            self.parsed.stale += not _is_empty(raw)
            return
        try:
            value = parse_raw_value(question, raw)
        except ValueError as error:
            shown = repr(head_excerpt(str(raw), 60)) if isinstance(raw, str | int | float) else "several answers"
            self.add_problem(where, f"{label} is {shown}; {error}")
            return
        if value is None:
            return
        if isinstance(value, str) or details.get("note"):
            former = self._export.last_vote(rater.code, subject)
            value = _as_stored(value, former and former.value)
            details |= {"note": _as_stored(details["note"], former and former.note)} if "note" in details else {}
        vote = ImportedVote(rater.person, subject, value, rater.role, where=where, **details)
        place = self._first.setdefault(vote_mark(rater.code or rater.person, subject), len(self.parsed.votes))
        if place == len(self.parsed.votes):
            self.parsed.votes.append(vote)
        elif (before := self.parsed.votes[place]).value != value:
            said, says = head_excerpt(str(before.value), 60), head_excerpt(str(value), 60)
            self.add_problem(where, f"{rater.person} says {says} to {label}, but {said} at {before.where}; keep one")


def _as_stored(value: Value, stored: Value | None) -> Value:
    """The stored text if `value` is how an export shows it, else `value`."""
    if isinstance(value, str) and isinstance(stored, str) and value.strip() == show_invisible(stored).strip():
        return stored
    return value


def _is_empty(raw: object) -> bool:
    return raw is None or (isinstance(raw, str) and not raw.strip())


def parse_raw_value(question: GuidingQuestion, raw: object) -> Value | None:
    """The answer in `raw`, a string or a number from JSON; ``None`` if it is empty. ValueError says what is allowed."""
    if _is_empty(raw):
        return None
    if question.answer == "text":
        if isinstance(raw, list) and all(isinstance(part, str) for part in raw):
            raw = "\n".join(raw)
        if not isinstance(raw, str):
            raise ValueError("allowed is a text")
        return parse_value(question, raw)
    if isinstance(raw, str):
        return parse_value(question, raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not is_allowed_value(question, raw):
        return parse_value(question, "-")  # raises, and says what is allowed
    return round(float(raw), 6) if question.answer == "scalar" else int(raw)


def value_text(value: Value) -> str:
    """A value as text; numbers without an exponent, and whole.

    >>> value_text(0.00001), value_text(1.0), value_text(3), value_text("x")
    ('0.00001', '1', '3', 'x')
    """
    if not isinstance(value, float):
        return str(value)
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def load_json_rows(name: str, file: IO[bytes], parsed: ParsedVotes) -> Iterator[dict[str, Any]]:
    """The objects of a JSON file (a list, or a single object); other values are problems, and empty objects here.

    These problems come first. If the file is not JSON, this is the only problem.
    """
    broken: list[str] = []
    try:
        for number, row in enumerate(json_elements(file), start=1):
            is_object = isinstance(row, dict)
            if not is_object:
                broken.append(f"{name}:{number}: it is no object")
            yield row if is_object else {}
        parsed.problems[:0] = broken
    except (ValueError, RecursionError) as error:
        parsed.problems[:] = [f"{name}: it is not JSON in UTF-8 ({head_excerpt(str(error), 120)})"]


def load_json_lines(name: str, file: IO[bytes], parsed: ParsedVotes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON Lines with the numbers of their lines; problems of other lines come first."""
    broken: list[str] = []
    for number, ended_line in enumerate(file, start=1):
        line = ended_line.removesuffix(b"\n")
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        try:
            row = parse_json(line.decode("utf-8"))
        except ValueError as error:
            broken.append(f"{name}:{number}: it is not JSON in UTF-8 ({head_excerpt(str(error), 120)})")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            broken.append(f"{name}:{number}: it is no object")
    parsed.problems[:0] = broken


def json_bytes(data: object) -> bytes:
    """JSON in UTF-8, indented, for tools that show its texts: invisible characters are written as code points."""
    return (json.dumps(shown_data(data), ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass")


def json_list_bytes(rows: Iterable[object]) -> Iterator[bytes]:
    """A list as `json_bytes` writes it, in pieces."""
    start = b"[\n "
    for row in rows:
        yield start + json_bytes(row).removesuffix(b"\n").replace(b"\n", b"\n ")
        start = b",\n "
    yield b"[]\n" if start.startswith(b"[") else b"\n]\n"


def json_line_bytes(data: object) -> bytes:
    """One line of JSON in UTF-8; invisible characters are JSON escapes, so that its data is exact."""
    return (escape_invisible(json.dumps(data, ensure_ascii=False)) + "\n").encode("utf-8", "surrogatepass")


def shown_data(data: object) -> object:
    """Plain JSON data with every text as `show_invisible` writes it."""
    if isinstance(data, str):
        return show_invisible(data)
    if isinstance(data, Mapping):
        return {key: shown_data(value) for key, value in cast("Mapping[str, object]", data).items()}
    if isinstance(data, list | tuple):
        return [shown_data(value) for value in cast("list[object]", data)]
    return data


def same_shown(cell: str, text: str) -> bool:
    """Whether a cell holds `text`, apart from white space and from how invisible characters are written."""
    return show_invisible(cell).split() == show_invisible(text).split()
