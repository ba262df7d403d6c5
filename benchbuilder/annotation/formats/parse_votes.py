"""Answers from another tool made votes: values are checked, the same one twice counts once, contradictions are told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.database.models import Imported
from benchbuilder.annotation.formats.models import Brought, Material, Rater
from benchbuilder.annotation.values import allowed, parse_value
from benchbuilder.config.spec.annotation import GuidingQuestion
from benchbuilder.core.display import clipped


def places(tasks: Sequence[Task]) -> dict[str, tuple[Task, int]]:
    """Task and number of the paragraph (0 for the task itself) by key."""
    found: dict[str, tuple[Task, int]] = {}
    for task in tasks:
        found.setdefault(task.key, (task, 0))
        for number, paragraph in enumerate(task.paragraphs, start=1):
            found.setdefault(paragraph.key, (task, number))
    return found


class Collector:
    """Gathers what one file says about what is asked now, into `brought`."""

    def __init__(self, material: Material) -> None:
        self.brought = Brought()
        self.tasks: Mapping[str, Task] = {task.key: task for task in material.tasks}
        self.people: Mapping[str, Rater] = {rater.code: rater for rater in material.everyone()}
        self.places = places(material.tasks)
        self._asked = material.asked()
        self._questions = material.project.spec.asked()
        self._first: dict[tuple[str, Subject], Imported] = {}

    def problem(self, where: str, what: str) -> None:
        """Note something wrong at `where`."""
        self.brought.problems.append(f"{where}: {what}")

    def question(self, subject: Subject) -> GuidingQuestion | None:
        """The guiding question about `subject`, ``None`` if it is not asked now."""
        asked = self._asked.get(subject)
        return self._questions[asked.question] if asked else None

    def answer(
        self, rater: Rater, subject: Subject, raw: object, *, where: str, what: str, **beside: Any
    ) -> None:  # fmt: skip
        """Take `raw` as what `rater` answers about `subject`; nothing at all is no answer. `what` names the answer,
        `beside` are further fields of an imported vote."""
        asked = self._asked.get(subject)
        if asked is None:
            self.brought.stale += not _empty(raw)
            return
        try:
            value = to_value(self._questions[asked.question], raw)
        except ValueError as error:
            found = repr(clipped(str(raw), 60)) if isinstance(raw, str | int | float) else "several answers"
            self.problem(where, f"{what} is {found}; {error}")
            return
        if value is None:
            return
        vote = Imported(rater.person, subject, value, rater.role, where=where, **beside)
        before = self._first.setdefault((rater.code or rater.person, subject), vote)
        if before is vote:
            self.brought.votes.append(vote)
        elif before.value != value:
            said, says = clipped(str(before.value), 60), clipped(str(value), 60)
            self.problem(where, f"{rater.person} says {says} to {what}, but {said} at {before.where}; keep one")


def _empty(raw: object) -> bool:
    return raw is None or (isinstance(raw, str) and not raw.strip())


def to_value(question: GuidingQuestion, raw: object) -> Value | None:
    """What `raw`, a string or a number out of JSON, answers; ``None`` if nothing. ValueError says what is allowed."""
    if _empty(raw):
        return None
    if question.answer == "text":
        if isinstance(raw, list) and all(isinstance(part, str) for part in raw):
            raw = "\n".join(raw)
        if not isinstance(raw, str):
            raise ValueError("allowed is a text")
        return parse_value(question, raw)
    if isinstance(raw, str):
        return parse_value(question, raw)
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not allowed(question, raw):
        return parse_value(question, "-")  # raises, and says what is allowed
    return round(float(raw), 6) if question.answer == "scalar" else int(raw)


def plain(value: Value) -> str:
    """A value as text; numbers without an exponent, and whole.

    >>> plain(0.00001), plain(1.0), plain(3), plain("x")
    ('0.00001', '1', '3', 'x')
    """
    if not isinstance(value, float):
        return str(value)
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def load_rows(name: str, data: bytes, into: Brought) -> list[dict[str, Any]]:
    """The objects of a JSON file (a list of them, or one); what is none is a problem."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        into.problems.append(f"{name}: it is no JSON in UTF-8 ({clipped(str(error), 120)})")
        return []
    rows: list[Any] = found if isinstance(found, list) else [found]
    into.problems += [
        f"{name}:{number}: it is no object" for number, row in enumerate(rows, start=1) if not isinstance(row, dict)
    ]
    return [row if isinstance(row, dict) else {} for row in rows]


def load_lines(name: str, data: bytes, into: Brought) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON Lines with the numbers of their lines."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            into.problems.append(f"{name}:{number}: it is no JSON in UTF-8 ({clipped(str(error), 120)})")
            continue
        if isinstance(row, dict):
            rows.append((number, row))
        else:
            into.problems.append(f"{name}:{number}: it is no object")
    return rows


def json_bytes(data: object) -> bytes:
    """JSON in UTF-8, indented."""
    return (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass")


def line_bytes(data: object) -> bytes:
    """One line of JSON in UTF-8."""
    return (json.dumps(data, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
