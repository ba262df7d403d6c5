"""The full history as JSON Lines: the project, every event and every vote in chronological order."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.database.models import AnnotationEvent, VoteEvent
from benchbuilder.annotation.formats.models import ExportInput, ExportLoss, ParsedVotes, VoteExport
from benchbuilder.annotation.formats.parse_votes import VoteCollector, json_line_bytes, load_json_lines
from benchbuilder.annotation.formats.user_table import UserTable
from benchbuilder.annotation.tasks import wording_key

HISTORY_FILE = "history.jsonl"


def write_history(export: ExportInput, users: UserTable | None = None) -> VoteExport:  # noqa: ARG001 - as every format
    """The history of `export`, which must hold `history` and `events`."""
    lines = history_lines(export)
    losses = [ExportLoss("names of people: codes replace them"), ExportLoss("drafts, sessions and invite links")]
    return VoteExport({HISTORY_FILE: b"".join(lines)}, losses)


def history_lines(export: ExportInput) -> Iterator[bytes]:
    """Yield the lines in order; an event precedes its votes.

    The first lines are the project, every wording that was ever asked, and the tasks with their state ``live``.
    """
    project = export.project
    questions = {
        name: {"wording": wording_key(question)} | question.model_dump(mode="json")
        for name, question in project.spec.questions_about().items()
    }
    yield json_line_bytes(
        {"type": "project", "name": project.name, "language": project.language, "guideline": project.guideline,
         "questions": questions}
    )  # fmt: skip
    for wording in export.wordings:
        yield json_line_bytes(
            {"type": "wording", "wording": wording.key, "question": wording.question,
             "since": wording.since.isoformat(), "definition": dict(wording.definition)}
        )  # fmt: skip
    for live, tasks in ((True, export.tasks), (False, export.retired)):
        for task in tasks:
            yield json_line_bytes({"type": "task", "live": live} | asdict(task) | {
                part: dict(getattr(task, part)) for part in ("fields", "about", "expected")})  # fmt: skip
    event_lines = ((event.created_at, 0, event.id, _event_line(event)) for event in export.events)
    vote_lines = ((vote.created_at, 1, vote.id, _vote_line(vote)) for vote in export.history)
    for _, _, _, line in heapq.merge(event_lines, vote_lines, key=lambda item: item[:3]):
        yield json_line_bytes(line)


def _event_line(event: AnnotationEvent) -> dict[str, Any]:
    return {
        "type": "event", "id": event.id, "project": event.project, "task": event.task, "code": event.code,
        "kind": event.kind, "at": event.created_at.isoformat(), "seconds": event.seconds,
        "active_seconds": event.active_seconds, "detail": dict(event.detail),
    }  # fmt: skip


def _vote_line(vote: VoteEvent) -> dict[str, Any]:
    return {
        "type": "vote", "id": vote.id, "project": vote.project, "task": vote.task, "key": vote.subject.key,
        "wording": vote.subject.wording, "question": vote.question, "code": vote.code, "role": vote.role,
        "value": vote.value, "note": vote.note, "at": vote.created_at.isoformat(), "channel": vote.channel,
        "event": vote.event,
    }  # fmt: skip


def read_history(name: str, data: bytes, export: ExportInput, users: UserTable | None = None) -> ParsedVotes:  # noqa: ARG001
    """Read the votes that count from a history: the last one by id for each person and subject; people by code."""
    collector = VoteCollector(export)
    last: dict[tuple[str, Subject], tuple[int, Mapping[str, Any]]] = {}
    count = 0
    for number, row in load_json_lines(name, data, collector.parsed):
        if row.get("type") != "vote":
            continue
        count += 1
        key, wording, code, place = row.get("key"), row.get("wording"), row.get("code"), row.get("id")
        if not (isinstance(key, str) and isinstance(wording, str) and isinstance(code, str) and isinstance(place, int)):
            collector.add_problem(f"{name}:{number}", "a vote needs an id, a code, a key and a wording")
            continue
        before = last.get((code, Subject(key, wording)))
        if before is None or before[1]["id"] < place:
            last[code, Subject(key, wording)] = (number, row)
    for (code, subject), (number, row) in last.items():
        rater = collector.people.get(code)
        if rater is None:
            collector.add_problem(f"{name}:{number}", f"nobody in this project has the code {code!r}")
        elif row.get("role", rater.role) != rater.role:
            collector.add_problem(f"{name}:{number}", f"{code} is {rater.role} here, not {row['role']}")
        else:
            note, where, what = row.get("note"), f"{name}:{number}", str(row.get("question", ""))
            note = note if isinstance(note, str) else ""
            collector.add_answer(rater, subject, row.get("value"), where=where, label=what, note=note)
    if replaced := count - len(last):
        collector.parsed.add_omitted("votes that were replaced or withdrawn", replaced)
    return collector.parsed
