"""Turns answers from other tools into votes: checks values, merges repeated ones and reports contradictions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.database.models import ImportedVote
from benchbuilder.annotation.formats.models import ExportInput, ParsedVotes, Rater
from benchbuilder.annotation.values import is_allowed_value, parse_value
from benchbuilder.config import GuidingQuestion
from benchbuilder.core import escape_invisible, head_excerpt, show_invisible


def shown_positions(tasks: Sequence[Task]) -> dict[str, tuple[Task, int]]:
    """Task and number of the paragraph (0 for the task itself) by key."""
    positions: dict[str, tuple[Task, int]] = {}
    for task in tasks:
        positions.setdefault(task.key, (task, 0))
        for number, paragraph in enumerate(task.paragraphs, start=1):
            positions.setdefault(paragraph.key, (task, number))
    return positions


class VoteCollector:
    """Collects the votes of one file on current tasks in `parsed`."""

    def __init__(self, export: ExportInput) -> None:
        self.parsed = ParsedVotes()
        self.tasks: Mapping[str, Task] = {task.key: task for task in export.tasks}
        self.people: Mapping[str, Rater] = {rater.code: rater for rater in export.all_raters()}
        self.positions = shown_positions(export.tasks)
        self._asked = export.judgement_requests()
        self._questions = export.project.spec.questions_about()
        self._first: dict[tuple[str, Subject], ImportedVote] = {}
        self._former = {(vote.code, vote.subject): vote for vote in export.votes}

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
        request = self._asked.get(subject)
        return self._questions[request.question] if request else None

    def add_answer(
        self, rater: Rater, subject: Subject, raw: object, *, where: str, label: str, **details: Any
    ) -> None:  # fmt: skip
        """Add `raw` as the answer of `rater` about `subject`; an empty value is not an answer.

        `label` names the answer in messages; `details` are further fields of the imported vote.
        """
        request = self._asked.get(subject)
        if request is None:
            self.parsed.stale += not _is_empty(raw)
            return
        try:
            value = parse_raw_value(self._questions[request.question], raw)
        except ValueError as error:
            shown = repr(head_excerpt(str(raw), 60)) if isinstance(raw, str | int | float) else "several answers"
            self.add_problem(where, f"{label} is {shown}; {error}")
            return
        if value is None:
            return
        former = self._former.get((rater.code, subject))
        value = _as_stored(value, former and former.value)
        details |= {"note": _as_stored(details["note"], former and former.note)} if "note" in details else {}
        vote = ImportedVote(rater.person, subject, value, rater.role, where=where, **details)
        before = self._first.setdefault((rater.code or rater.person, subject), vote)
        if before is vote:
            self.parsed.votes.append(vote)
        elif before.value != value:
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


def load_json_rows(name: str, data: bytes, parsed: ParsedVotes) -> list[dict[str, Any]]:
    """The objects of a JSON file (a list, or a single object); other values are problems."""
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        parsed.problems.append(f"{name}: it is not JSON in UTF-8 ({head_excerpt(str(error), 120)})")
        return []
    rows: list[Any] = content if isinstance(content, list) else [content]
    parsed.problems += [
        f"{name}:{number}: it is no object" for number, row in enumerate(rows, start=1) if not isinstance(row, dict)
    ]
    return [row if isinstance(row, dict) else {} for row in rows]


def load_json_lines(name: str, data: bytes, parsed: ParsedVotes) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON Lines with the numbers of their lines."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            parsed.problems.append(f"{name}:{number}: it is not JSON in UTF-8 ({head_excerpt(str(error), 120)})")
            continue
        if isinstance(row, dict):
            rows.append((number, row))
        else:
            parsed.problems.append(f"{name}:{number}: it is no object")
    return rows


def json_bytes(data: object) -> bytes:
    """JSON in UTF-8, indented, for tools that show its texts: invisible characters are written as code points."""
    return (json.dumps(shown_data(data), ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass")


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
