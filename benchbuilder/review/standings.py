"""The standing of projects for the lead: worked out when they look, and not too often."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from benchbuilder.ballots.database import Ballots
from benchbuilder.ballots.records import Event, Project
from benchbuilder.ballots.records import Standing as Staff
from benchbuilder.judging.shown import Asked, everything_asked
from benchbuilder.judging.standing import Standing, standing
from benchbuilder.ports.votes import Subject, Task

MANY = 20_000
"""With more judgements than this, intervals are drawn from `FEW` resamples."""
FEW = 200
_COSTLY_S = 0.5
_REST = 8


@dataclass(frozen=True)
class Flag:
    """A task that somebody marked for the lead, and why."""

    task: str
    text: str
    person: str
    why: str
    at: datetime


@dataclass(frozen=True)
class Snapshot:
    """Where a project stands `at` a moment: what its votes come to, who works on it, and what they marked."""

    project: Project
    standing: Standing
    staff: Staff
    flags: tuple[Flag, ...]
    at: datetime


@dataclass
class _Kept:
    """What is known of one project, and until when that will do."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    snapshot: Snapshot | None = None
    until: float = 0.0
    tasks: tuple[Task, ...] = ()
    asked: Mapping[Subject, Asked] = field(default_factory=dict[Subject, Asked])


class Standings:
    """The snapshots of the projects of one database.

    Each look takes a new one, except where that takes more than half a second: then it holds for eight times as long
    as it took, so that those who look do not slow down those who judge.
    """

    def __init__(self, ballots: Ballots) -> None:
        self._ballots = ballots
        self._kept: dict[str, _Kept] = {}
        self._turn = threading.Lock()

    def of(self, project: Project) -> Snapshot:
        """The snapshot of `project`."""
        with self._turn:
            kept = self._kept.setdefault(project.name, _Kept())
        with kept.turn:
            held = kept.snapshot
            if held is not None and held.project == project and time.monotonic() < kept.until:
                return held
            started = time.monotonic()
            kept.snapshot = found = self._take(project, kept)
            now = time.monotonic()
            kept.until = now + _REST * (now - started) if now - started > _COSTLY_S else 0.0
            return found

    def _take(self, project: Project, kept: _Kept) -> Snapshot:
        at = datetime.now(UTC)
        tasks = tuple(task for _, task in self._ballots.tasks(project.name) if not task.expected)
        if kept.snapshot is None or kept.snapshot.project != project or tasks != kept.tasks:
            kept.tasks, kept.asked = tasks, everything_asked(tasks, project.spec)
        samples = FEW if len(kept.asked) > MANY else project.spec.bootstrap.samples
        ballot = self._ballots.ballot(project.name)
        return Snapshot(
            project=project,
            standing=standing(
                project.spec, tasks, ballot, samples=min(samples, project.spec.bootstrap.samples), asked=kept.asked
            ),
            staff=self._ballots.standing(project.name),
            flags=flags_of(self._ballots.events(project.name), tasks),
            at=at,
        )


def flags_of(events: Iterable[Event], tasks: Iterable[Task]) -> tuple[Flag, ...]:
    """The marks that nobody took away, newest first."""
    texts = {task.key: task.text for task in tasks}
    marked: dict[tuple[str, str], Event] = {}
    for event in events:
        if event.kind == "flag":
            marked[event.task, event.code] = event
        elif event.kind == "unflag":
            marked.pop((event.task, event.code), None)
    newest = sorted(marked.values(), key=lambda event: -event.id)
    return tuple(
        Flag(event.task, texts.get(event.task, ""), event.person, str(event.detail.get("why", "")), event.at)
        for event in newest
    )


_by_ballots: WeakKeyDictionary[Ballots, Standings] = WeakKeyDictionary()
_turn = threading.Lock()


def standings_of(ballots: Ballots) -> Standings:
    """The snapshots of a database, the same for all requests."""
    with _turn:
        if ballots not in _by_ballots:
            _by_ballots[ballots] = Standings(ballots)
        return _by_ballots[ballots]
