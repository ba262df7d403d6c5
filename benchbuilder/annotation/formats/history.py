"""The full history as JSON Lines in chronological order, and the input of exports, which is built from it."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.annotation.database.models import AnnotationEvent, Project, QuestionWording, VoteEvent
from benchbuilder.annotation.formats.models import (
    AdjudicationNote,
    ExportInput,
    ExportLoss,
    ParsedVotes,
    Rater,
    SkipRecord,
    VoteExport,
    VoteRecord,
    write_files,
)
from benchbuilder.annotation.formats.parse_votes import VoteCollector, json_line_bytes, load_json_lines
from benchbuilder.annotation.formats.user_table import UserTable
from benchbuilder.annotation.formats.vote_index import vote_mark
from benchbuilder.annotation.spool import MappedSequence, Spool
from benchbuilder.annotation.tasks import wording_key

HISTORY_FILE = "history.jsonl"


def write_history(export: ExportInput, users: UserTable | None, folder: Path) -> VoteExport:  # noqa: ARG001 - as every format
    """Write the history of `export`, which must hold `history` and `events`."""
    write_files(folder, {HISTORY_FILE: history_lines(export)})
    losses = [ExportLoss("names of people: codes replace them"), ExportLoss("drafts, sessions and invite links")]
    return VoteExport([HISTORY_FILE], losses)


def history_lines(export: ExportInput) -> Iterator[bytes]:
    """Yield the project, all wordings ever asked, all tasks with ``live``, then the events, each before its votes."""
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


def read_history(name: str, file: IO[bytes], export: ExportInput, users: UserTable | None = None) -> ParsedVotes:  # noqa: ARG001
    """Read the votes that count from a history: the last one by id for each person and subject; people by code."""
    collector = VoteCollector(export)
    votes, ids = Spool[tuple[int, dict[str, Any]]](), list[int]()
    last: dict[bytes, int] = {}
    for number, row in load_json_lines(name, file, collector.parsed):
        if row.get("type") != "vote":
            continue
        key, wording, code, id_ = row.get("key"), row.get("wording"), row.get("code"), row.get("id")
        if isinstance(key, str) and isinstance(wording, str) and isinstance(code, str) and isinstance(id_, int):
            mark = vote_mark(code, Subject(key, wording))
            before = last.get(mark)
            if before is None or ids[before] < id_:
                last[mark] = len(ids)
        else:
            collector.add_problem(f"{name}:{number}", "a vote needs an id, a code, a key and a wording")
            id_ = 0
        ids.append(id_)
        votes.append((number, row))
    places = array("q", last.values())
    last.clear()
    for place in places:
        number, row = votes[place]
        where, note, label = f"{name}:{number}", row.get("note"), str(row.get("question", ""))
        if rater := collector.find_rater(where, row["code"], row.get("role", "")):
            note = note if isinstance(note, str) else ""
            subject = Subject(row["key"], row["wording"])
            collector.add_answer(rater, subject, row.get("value"), where=where, label=label, note=note)
    if replaced := len(votes) - len(places):
        collector.parsed.add_omitted("votes that were replaced or withdrawn", replaced)
    return collector.parsed


def build_export_input(
    project: Project, tasks: Sequence[Task], people: Sequence[Rater], history: Iterable[VoteEvent],
    events: Iterable[AnnotationEvent], *, retired: Sequence[Task] = (), wordings: Sequence[QuestionWording] = (),
) -> ExportInput:  # fmt: skip
    """All data of a project, for any export; `history` and `events` come in the order of their ids."""
    lines, kept_events = Spool(history), Spool(events)
    return ExportInput(
        project, tasks, vote_records(lines, kept_events), people,
        adjudication_notes=adjudication_notes(kept_events, people), skips=open_skips(kept_events, people),
        history=lines, events=kept_events, retired=retired, wordings=wordings,
    )  # fmt: skip


def vote_records(history: Sequence[VoteEvent], events: Iterable[AnnotationEvent]) -> Sequence[VoteRecord]:
    """The votes of the history, each with the seconds of its submission."""
    seconds = {event.id: event.seconds for event in events}

    def as_record(line: VoteEvent) -> VoteRecord:
        return VoteRecord(
            line.person, line.code, line.role, line.subject, line.question, line.value, line.note, line.created_at,
            seconds.get(line.event), line.channel,
        )  # fmt: skip

    return MappedSequence(history, as_record)


def adjudication_notes(events: Iterable[AnnotationEvent], people: Sequence[Rater]) -> list[AdjudicationNote]:
    """The latest notes of adjudicators on each task, without withdrawn ones."""
    raters = {rater.code: rater for rater in people if rater.role == "adjudicator"}
    notes: dict[int, AdjudicationNote] = {}
    for event in events:
        if event.kind == "undo":
            undone = event.detail.get("undone")
            notes.pop(undone if isinstance(undone, int) else -1, None)
        elif event.kind in ("submit", "import") and event.code in raters:
            notes[event.id] = _adjudication_note(event, raters[event.code])
    return list({note.task: note for note in notes.values()}.values())


def _adjudication_note(event: AnnotationEvent, rater: Rater) -> AdjudicationNote:
    detail: Mapping[str, object] = event.detail
    kinds = detail.get("error_kinds")
    return AdjudicationNote(
        rater, event.task, event.created_at, event.seconds,
        reason=str(detail.get("reason", "")), confidence=str(detail.get("confidence", "")),
        error_kinds=tuple(map(str, kinds)) if isinstance(kinds, list | tuple) else (),
        guideline_gap=detail.get("guideline_gap") is True,
    )  # fmt: skip


def open_skips(events: Iterable[AnnotationEvent], people: Sequence[Rater]) -> list[SkipRecord]:
    """Skipped tasks that were not taken up again."""
    raters = {rater.code: rater for rater in people}
    last = {
        (event.code, event.task): event if event.kind == "skip" else None
        for event in events
        if event.kind in ("submit", "import", "undo", "skip")
    }
    return [
        SkipRecord(raters[event.code], event.task, event.created_at, event.seconds)
        for event in last.values()
        if event is not None and event.code in raters
    ]
