"""The standing of projects for the lead: worked out when they look, and not too often."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.annotation.database.models import Event, Project
from benchbuilder.annotation.database.models import Standing as Staff
from benchbuilder.annotation.database.store import Ballots
from benchbuilder.annotation.progress.project import Standing, standing
from benchbuilder.annotation.tasks import Asked, everything_asked

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

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._turn = threading.Lock()

    def of(self, ballots: Ballots, project: Project) -> Snapshot:
        """The snapshot of `project`; `ballots` is always the same database."""
        with self._turn:
            kept = self._kept.setdefault(project.name, _Kept())
        with kept.turn:
            held = kept.snapshot
            if held is not None and held.project == project and time.monotonic() < kept.until:
                return held
            started = time.monotonic()
            kept.snapshot = found = _take(ballots, project, kept)
            now = time.monotonic()
            kept.until = now + _REST * (now - started) if now - started > _COSTLY_S else 0.0
            return found


def _take(ballots: Ballots, project: Project, kept: _Kept) -> Snapshot:
    at, spec = datetime.now(UTC), project.spec
    everything = [task for _, task in ballots.tasks(project.name)]
    tasks = tuple(task for task in everything if not task.expected)
    if kept.snapshot is None or kept.snapshot.project != project or tasks != kept.tasks:
        kept.tasks, kept.asked = tasks, everything_asked(tasks, spec)
    samples = min(FEW, spec.bootstrap.samples) if len(kept.asked) > MANY else spec.bootstrap.samples
    staff = ballots.standing(project.name)
    marked = any(share.progress.flagged for share in staff.shares)
    return Snapshot(
        project=project,
        standing=standing(spec, tasks, ballots.ballot(project.name), samples=samples, asked=kept.asked),
        staff=staff,
        flags=flags_of(ballots.events(project.name), everything) if marked else (),
        at=at,
    )


def flags_of(events: Iterable[Event], tasks: Iterable[Task]) -> tuple[Flag, ...]:
    """The marks on `tasks` that nobody took away, newest first."""
    texts = {task.key: task.text for task in tasks}
    marked: dict[tuple[str, str], Event] = {}
    for event in events:
        if event.kind == "flag":
            marked[event.task, event.code] = event
        elif event.kind == "unflag":
            marked.pop((event.task, event.code), None)
    newest = sorted(marked.values(), key=lambda event: -event.id)
    return tuple(
        Flag(event.task, texts[event.task], event.person, str(event.detail.get("why", "")), event.at)
        for event in newest
        if event.task in texts
    )


_by_ballots: WeakKeyDictionary[Ballots, Standings] = WeakKeyDictionary()
_turn = threading.Lock()


def standings_of(ballots: Ballots) -> Standings:
    """The snapshots of a database, the same for all requests."""
    with _turn:
        if ballots not in _by_ballots:
            _by_ballots[ballots] = Standings()
        return _by_ballots[ballots]
