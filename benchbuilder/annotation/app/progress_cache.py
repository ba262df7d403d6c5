"""Caches the progress of projects for the pages of the project owner."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.annotation.database.models import AnnotationEvent, Project, StaffProgress
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.annotation.progress.project import ProjectProgress, project_progress
from benchbuilder.annotation.tasks import JudgementRequest, judgement_requests

MANY_JUDGEMENTS = 20_000
"""With more judgements than this, intervals use `REDUCED_RESAMPLES` resamples."""
REDUCED_RESAMPLES = 200
_COSTLY_SECONDS = 0.5
_REST_FACTOR = 8


@dataclass(frozen=True)
class TaskFlag:
    """A task flagged for the project owner, with the reason."""

    task: str
    text: str
    person: str
    reason: str
    created_at: datetime


@dataclass(frozen=True)
class ProjectSnapshot:
    """The progress, people and flags of a project at the time `taken_at`."""

    project: Project
    progress: ProjectProgress
    staff: StaffProgress
    flags: tuple[TaskFlag, ...]
    taken_at: datetime


@dataclass
class _CachedSnapshot:
    """The latest snapshot of a project, and until when it is valid."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    snapshot: ProjectSnapshot | None = None
    valid_until: float = 0.0
    tasks: tuple[Task, ...] = ()
    requests: Mapping[Subject, JudgementRequest] = field(default_factory=dict[Subject, JudgementRequest])


class SnapshotCache:
    """The snapshots of the projects of one database.

    Every request takes a new snapshot. If that takes more than half a second, the snapshot is reused for eight times
    as long, so that project owners do not slow down annotators.
    """

    def __init__(self) -> None:
        self._kept: dict[str, _CachedSnapshot] = {}
        self._turn = threading.Lock()

    def snapshot_of(self, store: AnnotationStore, project: Project) -> ProjectSnapshot:
        """The snapshot of `project`; `store` must always be the same database."""
        with self._turn:
            cached = self._kept.setdefault(project.name, _CachedSnapshot())
        with cached.lock:
            snapshot = cached.snapshot
            if snapshot is not None and snapshot.project == project and time.monotonic() < cached.valid_until:
                return snapshot
            started = time.monotonic()
            cached.snapshot = taken = _take_snapshot(store, project, cached)
            now = time.monotonic()
            cached.valid_until = now + _REST_FACTOR * (now - started) if now - started > _COSTLY_SECONDS else 0.0
            return taken


def _take_snapshot(store: AnnotationStore, project: Project, cached: _CachedSnapshot) -> ProjectSnapshot:
    taken_at, spec = store.now(), project.spec
    everything = [task for _, task in store.tasks(project.name)]
    tasks = tuple(task for task in everything if not task.expected)
    if cached.snapshot is None or cached.snapshot.project != project or tasks != cached.tasks:
        cached.tasks, cached.requests = tasks, judgement_requests(tasks, spec)
    samples = (
        min(REDUCED_RESAMPLES, spec.bootstrap.samples)
        if len(cached.requests) > MANY_JUDGEMENTS
        else spec.bootstrap.samples
    )
    staff = store.staff_progress(project.name)
    has_flags = any(share.progress.flagged for share in staff.people)
    return ProjectSnapshot(
        project=project,
        progress=project_progress(
            spec, tasks, store.current_votes(project.name), samples=samples, requests=cached.requests
        ),
        staff=staff,
        flags=open_flags(store.events(project.name), everything) if has_flags else (),
        taken_at=taken_at,
    )


def open_flags(events: Iterable[AnnotationEvent], tasks: Iterable[Task]) -> tuple[TaskFlag, ...]:
    """The flags on `tasks` that were not removed, newest first."""
    texts = {task.key: task.text for task in tasks}
    flags: dict[tuple[str, str], AnnotationEvent] = {}
    for event in events:
        if event.kind == "flag":
            flags[event.task, event.code] = event
        elif event.kind == "unflag":
            flags.pop((event.task, event.code), None)
    newest = sorted(flags.values(), key=lambda event: -event.id)
    return tuple(
        TaskFlag(event.task, texts[event.task], event.person, str(event.detail.get("why", "")), event.created_at)
        for event in newest
        if event.task in texts
    )
