"""Votes from Label Studio: its exports JSON and JSON_MIN, read back into votes on what is shown now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.formats.label_studio import GOLD
from benchbuilder.annotation.formats.models import Brought, Material, Rater
from benchbuilder.annotation.formats.parse_votes import Collector, load_rows
from benchbuilder.annotation.formats.questions import NOTE, bind
from benchbuilder.annotation.formats.user_table import Users, number_of, users_of

_DEEPEST = 4
"""How many lists and objects may lie around an answer."""


class _Answers(NamedTuple):
    """What one user said about one task, by control."""

    where: str
    user: object
    seconds: float | None
    answers: Mapping[str, object]


def read_label_studio(name: str, data: bytes, material: Material, users: Users | None = None) -> Brought:
    """The votes in the export `name`, JSON or JSON_MIN.

    `users` says who its users are; without it, ids are those that `write_label_studio` makes from codes. Skipped
    annotations, drafts, predictions and the expected answers of planted tasks are left out. A control without an
    answer is no vote.
    """
    collector = Collector(material)
    table = users or users_of([*material.everyone(), Rater(GOLD, GOLD, "lead")], number_of)
    for number, row in enumerate(load_rows(name, data, collector.brought), start=1):
        if row:
            _read_row(f"{name}:{number}", row, table, collector)
    return collector.brought


def _read_row(where: str, row: Mapping[str, Any], table: Users, collector: Collector) -> None:
    full = isinstance(row.get("data"), dict)
    parts = list(_annotations(where, row, collector) if full else [_minimal(where, row)])
    if not parts:
        return
    try:
        bound = bind(row["data"] if full else row, collector.tasks)
    except ValueError as error:
        collector.problem(where, str(error))
        return
    for part in parts:
        if not any(unwrapped(part.answers.get(control)) is not None for control in (*bound.subjects, NOTE)):
            continue  # of a task without annotations JSON_MIN has a row, whose user is nobody
        user = table.find(part.user)
        if user is None:
            collector.problem(part.where, f"nobody here is user {part.user!r}; put them into the table of users")
        elif user.rater.code == GOLD:
            collector.brought.leave_out("expected answers of planted tasks")
        else:
            _take(part, user.rater, bound.subjects, collector)


def _take(part: _Answers, rater: Rater, subjects: Mapping[str, Subject], collector: Collector) -> None:
    remark = unwrapped(part.answers.get(NOTE))
    lines = remark if isinstance(remark, list) else [remark]
    note = "\n".join(line for line in lines if isinstance(line, str))
    said = False
    for control, raw in part.answers.items():
        if control not in subjects:
            continue
        answer = unwrapped(raw)
        said = said or answer is not None
        collector.answer(
            rater, subjects[control], answer, where=part.where, what=control, note=note, seconds=part.seconds
        )
    if note and not said:
        collector.brought.leave_out("remarks without an answer")


def _annotations(where: str, row: Mapping[str, Any], collector: Collector) -> Iterator[_Answers]:
    """The annotations of a task of JSON."""
    annotations = row.get("annotations", row.get("completions"))
    if drafts := row.get("drafts"):
        collector.brought.leave_out("drafts", len(drafts))
    for number, annotation in enumerate(annotations if isinstance(annotations, list) else [], start=1):
        place = f"{where}, annotation {number}"
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result", []), list | None):
            collector.problem(place, "it is no annotation")
        elif annotation.get("was_cancelled") or annotation.get("skipped"):
            collector.brought.leave_out("skipped annotations")
        else:
            answers = _results(place, annotation.get("result") or [], collector)
            yield _Answers(place, annotation.get("completed_by"), _seconds(annotation), answers)


def _results(where: str, results: list[Any], collector: Collector) -> dict[str, object]:
    """What an annotation says by control; one that answers a control twice is a problem unless it says the same."""
    answers: dict[str, object] = {}
    for result in results:
        control = result.get("from_name") if isinstance(result, dict) else None
        if not isinstance(control, str) or "value" not in result:
            continue
        answer = unwrapped(result["value"])
        if answers.setdefault(control, answer) != answer:
            collector.problem(where, f"{control} is answered twice; keep one answer")
    return answers


def _minimal(where: str, row: Mapping[str, Any]) -> _Answers:
    """The one annotation of a row of JSON_MIN."""
    return _Answers(where, row.get("annotator", row.get("completed_by")), _seconds(row), row)


def _seconds(found: Mapping[str, Any]) -> float | None:
    seconds = found.get("lead_time")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        return None
    return float(seconds)


def unwrapped(raw: object) -> object:
    """What an answer is without the lists and objects that Label Studio wraps it in; ``None`` if it is empty.

    >>> unwrapped([{"number": 3}]), unwrapped({"choices": ["1"]}), unwrapped("1"), unwrapped([])
    (3, '1', '1', None)

    Several texts, or several choices, stay a list.
    """
    for _ in range(_DEEPEST):
        if isinstance(raw, dict):
            found: dict[str, Any] = raw
            inner = [found[key] for key in ("choices", "number", "text", "rating") if key in found]
            raw = inner[0] if len(inner) == 1 else None
        elif isinstance(raw, list) and len(raw) <= 1:
            parts: list[Any] = raw
            raw = parts[0] if parts else None
    return None if isinstance(raw, str) and not raw else raw
