"""Reads votes from Label Studio's exports JSON and JSON_MIN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.formats.label_studio import GOLD_USER
from benchbuilder.annotation.formats.models import ExportInput, ParsedVotes, Rater
from benchbuilder.annotation.formats.parse_votes import VoteCollector, load_json_rows
from benchbuilder.annotation.formats.questions import NOTE, bind_row
from benchbuilder.annotation.formats.user_table import UserTable, make_user_table, number_id

_MAX_NESTING = 4
"""How many lists and objects may wrap an answer."""


class _UserAnswers(NamedTuple):
    """The answers of one user about one task, by control."""

    where: str
    user: object
    seconds: float | None
    answers: Mapping[str, object]


def read_label_studio(name: str, file: IO[bytes], export: ExportInput, users: UserTable | None = None) -> ParsedVotes:
    """Read the votes of an export, JSON or JSON_MIN.

    `users` identifies the users; without it, ids are those that `write_label_studio` makes from codes. Skipped
    annotations, drafts, predictions and expected answers of gold tasks are left out. A control without an answer is not
    a vote.
    """
    collector = VoteCollector(export)
    table = users or make_user_table([*export.all_raters(), Rater(GOLD_USER, GOLD_USER, "lead")], number_id)
    for number, row in enumerate(load_json_rows(name, file, collector.parsed), start=1):
        if row:
            _read_row(f"{name}:{number}", row, table, collector)
    return collector.parsed


def _read_row(where: str, row: Mapping[str, Any], table: UserTable, collector: VoteCollector) -> None:
    full = isinstance(row.get("data"), dict)
    user = row.get("annotator", row.get("completed_by"))
    parts = list(_annotations(where, row, collector)) if full else [_UserAnswers(where, user, _seconds(row), row)]
    if not parts:
        return
    try:
        subjects = bind_row(row["data"] if full else row, collector.task_with)
    except ValueError as error:
        collector.add_problem(where, str(error))
        return
    for part in parts:
        if not any(unwrap_answer(part.answers.get(control)) is not None for control in (*subjects, NOTE)):
            continue  # JSON_MIN has a row without a user for a task without annotations
        user = table.find(part.user)
        if user is None:
            collector.add_problem(
                part.where, f"there is no user {part.user!r} in this project; add them to the table of users"
            )
        elif user.rater.code == GOLD_USER:
            collector.parsed.add_omitted("expected answers of gold tasks")
        else:
            _collect_answers(part, user.rater, subjects, collector)


def _collect_answers(
    part: _UserAnswers, rater: Rater, subjects: Mapping[str, Subject], collector: VoteCollector
) -> None:
    remark = unwrap_answer(part.answers.get(NOTE))
    lines = remark if isinstance(remark, list) else [remark]
    note = "\n".join(line for line in lines if isinstance(line, str))
    has_answer = False
    for control, raw in part.answers.items():
        if control not in subjects:
            continue
        answer = unwrap_answer(raw)
        has_answer = has_answer or answer is not None
        collector.add_answer(
            rater, subjects[control], answer, where=part.where, label=control, note=note, seconds=part.seconds
        )
    if note and not has_answer:
        collector.parsed.add_omitted("remarks without an answer")


def _annotations(where: str, row: Mapping[str, Any], collector: VoteCollector) -> Iterator[_UserAnswers]:
    """The annotations of a task of JSON."""
    annotations = row.get("annotations", row.get("completions"))
    if drafts := row.get("drafts"):
        collector.parsed.add_omitted("drafts", len(drafts))
    for number, annotation in enumerate(annotations if isinstance(annotations, list) else [], start=1):
        place = f"{where}, annotation {number}"
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result", []), list | None):
            collector.add_problem(place, "it is not an annotation")
        elif annotation.get("was_cancelled") or annotation.get("skipped"):
            collector.parsed.add_omitted("skipped annotations")
        else:
            answers = _results(place, annotation.get("result") or [], collector)
            yield _UserAnswers(place, annotation.get("completed_by"), _seconds(annotation), answers)


def _results(where: str, results: list[Any], collector: VoteCollector) -> dict[str, object]:
    """The answers of an annotation by control; two different answers to one control are a problem."""
    answers: dict[str, object] = {}
    for result in results:
        control = result.get("from_name") if isinstance(result, dict) else None
        if not isinstance(control, str) or "value" not in result:
            continue
        answer = unwrap_answer(result["value"])
        if answers.setdefault(control, answer) != answer:
            collector.add_problem(where, f"{control} is answered twice; keep one answer")
    return answers


def _seconds(annotation: Mapping[str, Any]) -> float | None:
    seconds = annotation.get("lead_time")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        return None
    return float(seconds)


def unwrap_answer(raw: object) -> object:
    """An answer without the lists and objects around it; ``None`` if it is empty.

    >>> unwrap_answer([{"number": 3}]), unwrap_answer({"choices": ["1"]}), unwrap_answer("1"), unwrap_answer([])
    (3, '1', '1', None)

    Several texts, or several choices, stay a list.
    """
    for _ in range(_MAX_NESTING):
        if isinstance(raw, dict):
            mapping: dict[str, Any] = raw
            inner = [mapping[key] for key in ("choices", "number", "text", "rating") if key in mapping]
            raw = inner[0] if len(inner) == 1 else None
        elif isinstance(raw, list) and len(raw) <= 1:
            parts: list[Any] = raw
            raw = parts[0] if parts else None
    return None if isinstance(raw, str) and not raw else raw
