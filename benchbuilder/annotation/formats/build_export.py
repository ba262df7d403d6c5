"""Builds the input of exports from the database: votes, adjudication notes and skips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchbuilder.annotation.base import Task
from benchbuilder.annotation.database.models import AnnotationEvent, Project, QuestionWording, VoteEvent
from benchbuilder.annotation.formats.models import AdjudicationNote, ExportInput, Rater, SkipRecord, VoteRecord


def build_export_input(
    project: Project, tasks: Sequence[Task], people: Sequence[Rater], history: Iterable[VoteEvent],
    events: Iterable[AnnotationEvent], *, retired: Sequence[Task] = (), wordings: Sequence[QuestionWording] = (),
) -> ExportInput:  # fmt: skip
    """All data of a project, for any export."""
    lines = sorted(history, key=lambda line: line.id)
    ordered_events = sorted(events, key=lambda event: event.id)
    return ExportInput(
        project, tasks, vote_records(lines, ordered_events), people,
        adjudication_notes=adjudication_notes(ordered_events, people), skips=open_skips(ordered_events, people),
        history=lines, events=ordered_events, retired=retired, wordings=wordings,
    )  # fmt: skip


def vote_records(history: Iterable[VoteEvent], events: Iterable[AnnotationEvent]) -> list[VoteRecord]:
    """The votes of the history in order, each with the seconds of its submission."""
    seconds = {event.id: event.seconds for event in events}
    return [
        VoteRecord(
            line.person, line.code, line.role, line.subject, line.question, line.value, line.note, line.created_at,
            seconds.get(line.event), line.channel,
        )
        for line in sorted(history, key=lambda line: line.id)
    ]  # fmt: skip


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
        rater, event.task, event.created_at, str(detail.get("reason", "")), str(detail.get("confidence", "")),
        tuple(map(str, kinds)) if isinstance(kinds, list | tuple) else (), detail.get("guideline_gap") is True,
        event.seconds,
    )  # fmt: skip


def open_skips(events: Iterable[AnnotationEvent], people: Sequence[Rater]) -> list[SkipRecord]:
    """Skipped tasks that were not taken up again."""
    raters = {rater.code: rater for rater in people}
    last = {(event.code, event.task): event for event in events if event.kind in ("submit", "import", "undo", "skip")}
    return [
        SkipRecord(raters[event.code], event.task, event.created_at, event.seconds)
        for event in last.values()
        if event.kind == "skip" and event.code in raters
    ]
