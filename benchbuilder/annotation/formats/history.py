"""The full history as JSON Lines: the project, every event and every vote, in the order in which they happened."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.database.models import Event, VoteEvent
from benchbuilder.annotation.formats.models import Brought, Export, Loss, Material
from benchbuilder.annotation.formats.parse_votes import Collector, line_bytes, load_lines
from benchbuilder.annotation.formats.user_table import Users
from benchbuilder.annotation.tasks import wording_key

LINES = "history.jsonl"


def write_history(material: Material, users: Users | None = None) -> Export:  # noqa: ARG001 - as every door
    """The history of `material`, which must hold `history` and `events`."""
    lines = history_lines(material)
    losses = [Loss("names of people: they stand by code"), Loss("drafts, sessions and invite links")]
    return Export({LINES: b"".join(lines)}, losses)


def history_lines(material: Material) -> Iterator[bytes]:
    """The lines one by one, by the ids of votes and events. An event comes before the votes that it brought.

    Before them stand the project, every wording that was ever asked, and the tasks, ``live`` or not any more.
    """
    project = material.project
    questions = {
        name: {"wording": wording_key(question)} | question.model_dump(mode="json")
        for name, question in project.spec.asked().items()
    }
    yield line_bytes(
        {"type": "project", "name": project.name, "language": project.language, "guideline": project.guideline,
         "questions": questions}
    )  # fmt: skip
    for wording in material.wordings:
        yield line_bytes(
            {"type": "wording", "wording": wording.key, "question": wording.question,
             "since": wording.since.isoformat(), "definition": dict(wording.definition)}
        )  # fmt: skip
    for live, tasks in ((True, material.tasks), (False, material.retired)):
        for task in tasks:
            yield line_bytes({"type": "task", "live": live} | asdict(task) | {
                part: dict(getattr(task, part)) for part in ("fields", "about", "expected")})  # fmt: skip
    happened = ((event.at, 0, event.id, _event(event)) for event in material.events)
    given = ((vote.at, 1, vote.id, _vote(vote)) for vote in material.history)
    for _, _, _, line in heapq.merge(happened, given, key=lambda item: item[:3]):
        yield line_bytes(line)


def _event(event: Event) -> dict[str, Any]:
    return {
        "type": "event", "id": event.id, "project": event.project, "task": event.task, "code": event.code,
        "kind": event.kind, "at": event.at.isoformat(), "seconds": event.seconds,
        "active_seconds": event.active_seconds, "detail": dict(event.detail),
    }  # fmt: skip


def _vote(vote: VoteEvent) -> dict[str, Any]:
    return {
        "type": "vote", "id": vote.id, "project": vote.project, "task": vote.task, "key": vote.subject.key,
        "wording": vote.subject.wording, "question": vote.question, "code": vote.code, "role": vote.role,
        "value": vote.value, "note": vote.note, "at": vote.at.isoformat(), "door": vote.door, "event": vote.event,
    }  # fmt: skip


def read_history(name: str, data: bytes, material: Material, users: Users | None = None) -> Brought:  # noqa: ARG001
    """The votes that count by a history: for each person and subject the last one by its id, people by their code."""
    collector = Collector(material)
    last: dict[tuple[str, Subject], tuple[int, Mapping[str, Any]]] = {}
    count = 0
    for number, row in load_lines(name, data, collector.brought):
        if row.get("type") != "vote":
            continue
        count += 1
        key, wording, code, place = row.get("key"), row.get("wording"), row.get("code"), row.get("id")
        if not (isinstance(key, str) and isinstance(wording, str) and isinstance(code, str) and isinstance(place, int)):
            collector.problem(f"{name}:{number}", "a vote has an id, a code, a key and a wording")
            continue
        before = last.get((code, Subject(key, wording)))
        if before is None or before[1]["id"] < place:
            last[code, Subject(key, wording)] = (number, row)
    for (code, subject), (number, row) in last.items():
        rater = collector.people.get(code)
        if rater is None:
            collector.problem(f"{name}:{number}", f"nobody here has the code {code!r}")
        elif row.get("role", rater.role) != rater.role:
            collector.problem(f"{name}:{number}", f"{code} is {rater.role} here, not {row['role']}")
        else:
            note, where, what = row.get("note"), f"{name}:{number}", str(row.get("question", ""))
            note = note if isinstance(note, str) else ""
            collector.answer(rater, subject, row.get("value"), where=where, what=what, note=note)
    if given_up := count - len(last):
        collector.brought.leave_out("votes that were given up for later ones, or taken back", given_up)
    return collector.brought
