"""Fine-tuning jobs: each is written down before it is asked for, so that none is made and paid for twice."""

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

from benchbuilder.core.errors import DataError, ServiceError, StoreError
from benchbuilder.models.base import BatchGoneError, TransientError
from benchbuilder.models.providers.openai import OpenAI
from benchbuilder.models.providers.openai_tuning import JobOrder, JobState, OpenAITuning

BOOK = "jobs.jsonl"
TRIES = 4
"""Attempts at what may succeed next time."""
LOOKS = 3
"""Looks for a job that may have been made before it counts as not made."""

_TOLD = ("ident", "phase", "told", "model", "trained_tokens")

T = TypeVar("T")
Note = Callable[[str], None]


class JobGone(ServiceError):
    """The service does not know a job any more."""


@dataclass(frozen=True)
class Standing:
    """What the book says of the last job of an order: `ident` is "" while nobody knows whether it was made."""

    mark: str
    attempt: int
    since: float
    endpoint: str
    ident: str = ""
    phase: str = "running"
    told: str = ""
    model: str = ""
    trained_tokens: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def ended(self) -> bool:
        """Whether it needs no more looks."""
        return self.phase != "running"


class JobBook:
    """What was asked of the service, an event a line, each on disk before the next step is taken."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / BOOK

    @contextmanager
    def held(self) -> Any:
        """Nobody else may ask for a job of this judge meanwhile; StoreError if somebody does."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(self._folder / f"{BOOK}.lock").acquire(timeout=0):
                yield
        except Timeout as error:
            raise StoreError(
                "another process is busy with the jobs of this judge", where=str(self._path), next="wait for it to end"
            ) from error

    def add(self, event: str, mark: str, **more: Any) -> None:
        """Write an event down, for good."""
        line = json.dumps({"event": event, "mark": mark, "at": time.time(), **more}, ensure_ascii=False)
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as stream:
            if stream.tell() and not self._whole():
                stream.write(b"\n")  # what a kill cut off stands alone, and is passed over
            stream.write(line.encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def _whole(self) -> bool:
        with self._path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) == b"\n"

    def events(self) -> list[dict[str, Any]]:
        """Every event in order; a line that a kill cut off is passed over."""
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        found: list[dict[str, Any]] = []
        for number, line in enumerate(lines, 1):
            try:
                event: Any = json.loads(line) if line.strip() else None
            except ValueError:
                continue
            if isinstance(event, dict):
                if not isinstance(event.get("mark"), str):
                    raise DataError(f"{self._path.name}:{number} is no event", where=str(self._path))
                found.append(event)
        return found

    def standing(self, part: str = "", content: str = "") -> Standing | None:
        """The last job for a `part`, or for what is trained on (`content`, a hash); ``None`` if there is none."""
        found: dict[str, Standing] = {}
        for event in self.events():
            mark = event["mark"]
            if event["event"] == "intended":
                found[mark] = Standing(mark, event["attempt"], event["at"], event["endpoint"], details=event)
            elif mark in found:
                found[mark] = replace(found[mark], **{name: event[name] for name in _TOLD if name in event})
        fitting = [
            standing
            for standing in found.values()
            if part in ("", standing.details["part"]) and content in ("", standing.details["content"])
        ]
        return fitting[-1] if fitting else None


@dataclass(frozen=True)
class Wanted:
    """A job that somebody wants: of what (`content` is the hash of files and settings), on which files."""

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
        """The job by this mark."""
        return JobOrder(
            mark, f"{self.suffix}-{mark}", self.model, self.hyperparameters, self.seed, metadata=self.metadata
        )


class JobDesk:
    """Asks a service for jobs and after them; `pause` waits so many seconds."""

    def __init__(self, book: JobBook, model: OpenAI, note: Note, pause: Callable[[float], None] = time.sleep) -> None:
        self._book, self._model, self._note, self._pause = book, model, note, pause

    def submit(self, wanted: Wanted, *, again: bool = False) -> Standing:
        """The job for what is wanted: the one that there is, or a new one.

        An intention comes before anything is sent. Where the book has one whose outcome it does not know (a kill, a
        broken connection), the service is asked for the job with its mark first. `again` makes another one after a job
        that failed or was cancelled. ServiceError if the service cannot say whether there is a job.
        """
        with self._book.held():
            last = self._book.standing(wanted.part, wanted.content)
            if last is None:
                return self._make(wanted, self._intend(wanted, 1))
            if not last.ident:
                return self._found(wanted, last) or self._make(wanted, last)
            last = self._gone_or_looked_at(last) if again else self.look(last)
            if last.phase not in ("failed", "cancelled"):
                return last
            if not again:
                raise ServiceError(
                    f"the job {last.ident} for these files has {last.told}", where=last.endpoint,
                    next="mend what it says, or give --again to make another job of the same files",
                )  # fmt: skip
            return self._make(wanted, self._intend(wanted, last.attempt + 1))

    def _gone_or_looked_at(self, last: Standing) -> Standing:
        try:
            return self.look(last)
        except JobGone:
            return replace(last, phase="failed", told="gone")

    def _intend(self, wanted: Wanted, attempt: int) -> Standing:
        mark = f"{wanted.content[:12]}-{attempt}"
        self._book.add(
            "intended", mark, part=wanted.part, content=wanted.content, attempt=attempt,
            endpoint=self._model.endpoint, base=wanted.model, **wanted.details,
        )  # fmt: skip
        found = self._book.standing(wanted.part, wanted.content)
        assert found is not None
        return found

    def _make(self, wanted: Wanted, last: Standing) -> Standing:
        order = wanted.order(last.mark)
        files = [self._uploaded(path, last.mark) for path in (wanted.training, wanted.validation) if path is not None]
        validation = files[1] if len(files) > 1 else None
        for attempt in range(1, TRIES + 1):
            try:
                ident = self._now(lambda tuning: tuning.create(order, files[0], validation))
            except TransientError as error:
                if (found := self._found(wanted, last)) is not None:
                    return found
                if not error.throttled or attempt == TRIES:
                    raise ServiceError(
                        "nobody knows whether the service made the job", where=last.endpoint, why=str(error),
                        next="give the same command again: it looks for the job before it makes one",
                    ) from error  # fmt: skip
                self._wait(error, attempt)
            else:
                return self._created(last, ident)
        raise AssertionError

    def _uploaded(self, path: Path, mark: str) -> str:
        name = f"{mark}-{path.name}"
        self._note(f"hands in {name}")
        return self._patiently(lambda tuning: tuning.upload(path, name))

    def _found(self, wanted: Wanted, last: Standing) -> Standing | None:
        """The job that may have been made, if the service has one of its mark."""
        order = wanted.order(last.mark)
        for look in range(LOOKS):
            if look:
                self._pause(2.0)
            ident = self._patiently(lambda tuning: tuning.find(order, last.since))
            if ident is not None:
                self._note(f"found the job {ident}, which was made before")
                return self._created(last, ident)
        return None

    def _created(self, last: Standing, ident: str) -> Standing:
        self._book.add("created", last.mark, ident=ident)
        return replace(last, ident=ident)

    def look(self, last: Standing) -> Standing:
        """How a job is getting on; written down when it has ended."""
        if last.ended or not last.ident:
            return last
        try:
            state = self._patiently(lambda tuning: tuning.look(last.ident))
        except BatchGoneError as error:
            raise JobGone(
                f"the service does not know the job {last.ident} any more", where=last.endpoint, why=str(error),
                next="give --again with submit to make another one",
            ) from error  # fmt: skip
        return self._written(last, state)

    def cancel(self, last: Standing) -> Standing:
        """End a job."""
        if last.ended or not last.ident:
            return last
        return self._written(last, self._patiently(lambda tuning: tuning.cancel(last.ident)))

    def last_event(self, last: Standing) -> str:
        """What the service said last of a job."""
        return self._patiently(lambda tuning: tuning.last_event(last.ident)) if last.ident else ""

    def _written(self, last: Standing, state: JobState) -> Standing:
        changed = {"phase": state.phase, "told": state.told}
        if state.phase != "running":
            self._book.add(
                "ended", last.mark, **changed, model=state.model, trained_tokens=state.trained_tokens
            )  # fmt: skip
        return replace(last, **changed, model=state.model, trained_tokens=state.trained_tokens)

    # --- calls

    def _patiently(self, work: Callable[[OpenAITuning], Awaitable[T]]) -> T:
        """The result of a call that may be repeated, tried again after what may succeed next time."""
        for attempt in range(1, TRIES + 1):
            try:
                return self._now(work)
            except TransientError as error:
                if attempt == TRIES:
                    raise ServiceError(
                        "the service does not answer", where=self._model.endpoint, why=str(error),
                        next="give the same command again",
                    ) from error  # fmt: skip
                self._wait(error, attempt)
        raise AssertionError

    def _wait(self, error: TransientError, attempt: int) -> None:
        self._pause(min(error.retry_after_s or 2.0**attempt, 60.0))

    def _now(self, work: Callable[[OpenAITuning], Awaitable[T]]) -> T:
        return asyncio.run(self._called(work))

    async def _called(self, work: Callable[[OpenAITuning], Awaitable[T]]) -> T:
        try:
            return await work(self._model.tuning())
        finally:
            await self._model.close()


def wait_for(desk: JobDesk, last: Standing, every_s: float, note: Note, pause: Callable[[float], None]) -> Standing:
    """Look at a job until it has ended."""
    told = ""
    while True:
        last = desk.look(last)
        if last.told != told:
            told = last.told
            note(f"{last.ident}: {told}")
        if last.ended:
            return last
        pause(every_s)


def content_of(parts: Sequence[str]) -> str:
    """The hash of what makes two jobs the same: their files, the model, the settings."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
