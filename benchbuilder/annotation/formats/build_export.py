"""The material of exports out of what the database tells: votes in their order, rulings and skips by event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchbuilder.annotation.base import Task
from benchbuilder.annotation.database.models import Event, Project, VoteEvent, Wording
from benchbuilder.annotation.formats.models import Material, Rater, Ruling, Skip, Vote


def material_of(
    project: Project, tasks: Sequence[Task], people: Sequence[Rater], history: Iterable[VoteEvent],
    events: Iterable[Event], *, retired: Sequence[Task] = (), wordings: Sequence[Wording] = (),
) -> Material:  # fmt: skip
    """All that the database knows of a project, for any export."""
    lines = sorted(history, key=lambda line: line.id)
    happened = sorted(events, key=lambda event: event.id)
    return Material(
        project, tasks, votes_of(lines, happened), people,
        rulings=rulings_of(happened, people), skips=skips_of(happened, people), history=lines, events=happened,
        retired=retired, wordings=wordings,
    )  # fmt: skip


def votes_of(history: Iterable[VoteEvent], events: Iterable[Event]) -> list[Vote]:
    """The history of the database as votes in its order, each with the seconds of its submission."""
    seconds = {event.id: event.seconds for event in events}
    return [
        Vote(
            line.person, line.code, line.role, line.subject, line.question, line.value, line.note, line.at,
            seconds.get(line.event), line.door,
        )
        for line in sorted(history, key=lambda line: line.id)
    ]  # fmt: skip


def rulings_of(events: Iterable[Event], people: Sequence[Rater]) -> list[Ruling]:
    """What adjudicators said last beside their decisions on each task; what was taken back is not said."""
    raters = {rater.code: rater for rater in people if rater.role == "adjudicator"}
    said: dict[int, Ruling] = {}
    for event in events:
        if event.kind == "undo":
            undone = event.detail.get("undone")
            said.pop(undone if isinstance(undone, int) else -1, None)
        elif event.kind in ("submit", "import") and event.code in raters:
            said[event.id] = _ruling(event, raters[event.code])
    return list({ruling.task: ruling for ruling in said.values()}.values())


def _ruling(event: Event, rater: Rater) -> Ruling:
    detail: Mapping[str, object] = event.detail
    kinds = detail.get("error_kinds")
    return Ruling(
        rater, event.task, event.at, str(detail.get("reason", "")), str(detail.get("confidence", "")),
        tuple(map(str, kinds)) if isinstance(kinds, list | tuple) else (), detail.get("guideline_gap") is True,
        event.seconds,
    )  # fmt: skip


def skips_of(events: Iterable[Event], people: Sequence[Rater]) -> list[Skip]:
    """The tasks that somebody put aside and did not come back to."""
    raters = {rater.code: rater for rater in people}
    last = {(event.code, event.task): event for event in events if event.kind in ("submit", "import", "undo", "skip")}
    return [
        Skip(raters[event.code], event.task, event.at, event.seconds)
        for event in last.values()
        if event.kind == "skip" and event.code in raters
    ]
