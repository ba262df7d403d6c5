"""Fine-tuning jobs: each is logged before it is requested, so that none is created and paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from benchbuilder.core import (
    DataError,
    ServiceError,
    StoreError,
    make_folder,
    name_file_in_errors,
    open_given_file,
    parse_json,
    read_given_file,
    sync_paths,
)
from benchbuilder.models import BatchGoneError, JobOrder, JobState, OpenAIModel, OpenAITuning, TransientError

JOB_LOG = "jobs.jsonl"
MAX_ATTEMPTS = 4
"""Attempts at calls that may succeed when repeated."""
MAX_LOOKUPS = 3
"""Searches for a job that may exist, before it counts as not created."""

_LOGGED_FIELDS = ("ident", "phase", "message", "model", "trained_tokens")

T = TypeVar("T")
Note = Callable[[str], None]


class JobGoneError(ServiceError):
    """The service no longer knows a job."""


@dataclass(frozen=True)
class JobStatus:
    """The logged state of a job. `ident` is empty while it is unknown whether the job was created."""

    mark: str
    attempt: int
    endpoint: str
    ident: str = ""
    phase: str = "running"
    message: str = ""
    model: str = ""
    trained_tokens: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def has_ended(self) -> bool:
        """Whether it no longer changes."""
        return self.phase != "running"


class JobLog:
    """The log of requests to the service: one event per line, each on disk before the next step."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / JOB_LOG

    @contextmanager
    def lock(self) -> Any:
        """Keep other processes from requesting jobs of this judge; StoreError if one holds the lock."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self._folder / f"{JOB_LOG}.lock").acquire(timeout=0):
                yield
        except Timeout as error:
            raise StoreError(
                "another process is busy with the jobs of this judge", where=str(self._path), next="wait for it to end"
            ) from error

    def add(self, event: str, mark: str, **more: Any) -> None:
        """Append an event and sync it to disk."""
        line = json.dumps({"event": event, "mark": mark, "at": time.time(), **more}, ensure_ascii=False)
        make_folder(self._folder)
        with name_file_in_errors(self._path), self._path.open("ab") as stream:
            new = not stream.tell()
            if not new and not self._whole():
                stream.write(b"\n")  # keeps a truncated line apart, so that it is skipped
            stream.write(line.encode() + b"\n")
        sync_paths([self._path, self._folder] if new else [self._path])

    def _whole(self) -> bool:
        with open_given_file(self._path, most_bytes=None) as stream:
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) == b"\n"

    def events(self) -> list[dict[str, Any]]:
        """Every event in order; a truncated line is skipped."""
        try:
            lines = read_given_file(self._path).split(b"\n")
        except FileNotFoundError:
            return []
        events: list[dict[str, Any]] = []
        for number, line in enumerate(lines, 1):
            try:
                event: Any = parse_json(line) if line.strip() else None
            except ValueError:
                continue
            if isinstance(event, dict):
                if not isinstance(event.get("mark"), str):
                    raise DataError(f"{self._path.name}:{number} is not an event", where=str(self._path))
                events.append(event)
        return events

    def last_job(self, part: str = "", content: str = "") -> JobStatus | None:
        """The last job for a `part`, or for the training data with the hash `content`; ``None`` if there is none."""
        jobs: dict[str, JobStatus] = {}
        for event in self.events():
            mark = event["mark"]
            if event["event"] == "intended":
                jobs[mark] = JobStatus(mark, event["attempt"], event["endpoint"], details=event)
            elif mark in jobs:
                jobs[mark] = replace(jobs[mark], **{name: event[name] for name in _LOGGED_FIELDS if name in event})
        fits = (
            job
            for job in reversed(jobs.values())
            if part in ("", job.details["part"]) and content in ("", job.details["content"])
        )
        return next(fits, None)


@dataclass(frozen=True)
class JobRequest:
    """A wanted job. `content` is the hash of its files and settings."""

    part: str
    content: str
    suffix: str
    model: str
    training: Path
    validation: Path | None
    hyperparameters: Mapping[str, int | float]
    seed: int
    metadata: bool
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def order(self, mark: str) -> JobOrder:
        """The order to the service, with `mark` as its identifier."""
        return JobOrder(
            mark, f"{self.suffix}-{mark}", self.model, self.hyperparameters, self.seed, metadata=self.metadata
        )


class JobClient:
    """Creates jobs at a service and polls them; `pause` waits for a number of seconds."""

    def __init__(
        self, log: JobLog, model: OpenAIModel, note: Note, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._log, self._model, self._note, self._pause = log, model, note, pause

    def submit(self, request: JobRequest, *, retry: bool = False) -> JobStatus:
        """Return the job for a request: the existing one, or a new one.

        An intention is logged before anything is sent. If the log has an intention with an unknown outcome (after a
        kill or a broken connection), the service is first asked for the job with its mark. `retry` creates another job
        after one that failed or was cancelled.

        Raises:
            ServiceError: The job failed before, or the service cannot say whether it exists.
        """
        with self._log.lock():
            last = self._log.last_job(request.part, request.content)
            if last is None:
                return self._create(request, self._log_intention(request, 1))
            if not last.ident:
                return self._find_created(request, last) or self._create(request, last)
            last = self._poll_or_gone(last) if retry else self.poll(last)
            if last.phase not in ("failed", "cancelled"):
                return last
            if not retry:
                raise ServiceError(
                    f"the job {last.ident} for these files has {last.message}",
                    where=last.endpoint,
                    next="correct what it says, or give --again to make another job of the same files",
                )
            return self._create(request, self._log_intention(request, last.attempt + 1))

    def _poll_or_gone(self, job: JobStatus) -> JobStatus:
        try:
            return self.poll(job)
        except JobGoneError:
            return replace(job, phase="failed", message="gone")

    def _log_intention(self, request: JobRequest, attempt: int) -> JobStatus:
        mark = f"{request.content[:12]}-{attempt}"
        self._log.add(
            "intended", mark, part=request.part, content=request.content, attempt=attempt,
            endpoint=self._model.endpoint, base=request.model, **request.details,
        )  # fmt: skip
        logged = self._log.last_job(request.part, request.content)
        assert logged is not None
        return logged

    def _create(self, request: JobRequest, job: JobStatus) -> JobStatus:
        order = request.order(job.mark)
        files = [self._upload(path, job.mark) for path in (request.training, request.validation) if path is not None]
        validation = files[1] if len(files) > 1 else None
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                ident = self._now(lambda tuning: tuning.create(order, files[0], validation))
            except TransientError as error:
                if (existing := self._find_created(request, job)) is not None:
                    return existing
                if not error.throttled or attempt == MAX_ATTEMPTS:
                    raise ServiceError(
                        "it is unknown whether the service made the job", where=job.endpoint, why=str(error),
                        next="repeat the command: it looks for the job before it makes one",
                    ) from error  # fmt: skip
                self._wait(error, attempt)
            else:
                return self._log_created(job, ident)
        raise AssertionError

    def _upload(self, path: Path, mark: str) -> str:
        name = f"{mark}-{path.name}"
        self._note(f"uploads {name}")
        return self._with_retries(lambda tuning: tuning.upload(path, name))

    def _find_created(self, request: JobRequest, job: JobStatus) -> JobStatus | None:
        """The job with this request's mark, if the service has one."""
        order = request.order(job.mark)
        for look in range(MAX_LOOKUPS):
            if look:
                self._pause(2.0)
            ident = self._with_retries(lambda tuning: tuning.find(order))
            if ident is not None:
                self._note(f"found the job {ident}, which was made before")
                return self._log_created(job, ident)
        return None

    def _log_created(self, job: JobStatus, ident: str) -> JobStatus:
        self._log.add("created", job.mark, ident=ident)
        return replace(job, ident=ident)

    def poll(self, job: JobStatus) -> JobStatus:
        """The current state of a job; its end is logged."""
        if job.has_ended or not job.ident:
            return job
        try:
            state = self._with_retries(lambda tuning: tuning.poll(job.ident))
        except BatchGoneError as error:
            raise JobGoneError(
                f"the service no longer knows the job {job.ident}", where=job.endpoint, why=str(error),
                next="give --again with submit to make another one",
            ) from error  # fmt: skip
        return self._log_state(job, state)

    def cancel(self, job: JobStatus) -> JobStatus:
        """Cancel a job."""
        if job.has_ended or not job.ident:
            return job
        return self._log_state(job, self._with_retries(lambda tuning: tuning.cancel(job.ident)))

    def last_event(self, job: JobStatus) -> str:
        """The service's last message about a job."""
        return self._with_retries(lambda tuning: tuning.last_event(job.ident)) if job.ident else ""

    def _log_state(self, job: JobStatus, state: JobState) -> JobStatus:
        changed: dict[str, Any] = {
            "phase": state.phase,
            "message": state.message,
            "model": state.model,
            "trained_tokens": state.trained_tokens,
        }
        if state.phase != "running":
            self._log.add("ended", job.mark, **changed)
        return replace(job, **changed)

    def _with_retries(self, work: Callable[[OpenAITuning], Awaitable[T]]) -> T:
        """The result of a call, which is repeated after transient errors."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return self._now(work)
            except TransientError as error:
                if attempt == MAX_ATTEMPTS:
                    raise ServiceError(
                        "the service does not answer", where=self._model.endpoint, why=str(error),
                        next="repeat the command",
                    ) from error  # fmt: skip
                self._wait(error, attempt)
        raise AssertionError

    def _wait(self, error: TransientError, attempt: int) -> None:
        self._pause(min(error.retry_after_s or 2.0**attempt, 60.0))

    def _now(self, work: Callable[[OpenAITuning], Awaitable[T]]) -> T:
        return asyncio.run(self._call(work))

    async def _call(self, work: Callable[[OpenAITuning], Awaitable[T]]) -> T:
        try:
            return await work(self._model.tuning())
        finally:
            await self._model.close()


def wait_for_job(
    client: JobClient, job: JobStatus, every_s: float, note: Note, pause: Callable[[float], None]
) -> JobStatus:
    """Poll a job until it has ended."""
    message = ""
    while True:
        job = client.poll(job)
        if job.message != message:
            message = job.message
            note(f"{job.ident}: {message}")
        if job.has_ended:
            return job
        pause(every_s)


def content_hash(parts: Sequence[str]) -> str:
    """The hash of what identifies a job: its files, model and settings."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
