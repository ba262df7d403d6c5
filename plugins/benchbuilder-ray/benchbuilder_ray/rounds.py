"""The shards of one step on their way over the cluster: inputs up, made there, outputs down."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any

from benchbuilder.core.errors import ServiceError
from benchbuilder.pipeline.executors.base import Work

from benchbuilder_ray.crew import Crew, Hand
from benchbuilder_ray.depot import Depot
from benchbuilder_ray.spec import RaySpec
from benchbuilder_ray.storage import Stored

_Inputs = list[tuple[Path, Stored]]


class Round:
    """One step. Shards move from `waiting` over `staged` (inputs on the storage) to a worker's, and come back."""

    def __init__(
        self, spec: RaySpec, crew: Crew, depot: Depot, movers: Executor, work: Work, indices: Sequence[int],
        folder: Path, workers: int,
    ) -> None:  # fmt: skip
        """`movers` carries files; `workers` is how many may work at the same time."""
        self._spec, self._crew, self._depot, self._movers = spec, crew, depot, movers
        self._work, self._indices, self._folder, self._workers = work, tuple(indices), folder, workers
        self._needs = spec.needs(work.step)
        self._waiting = deque(indices)
        self._staged = deque[tuple[int, _Inputs]]()
        self._inputs: dict[int, _Inputs] = {}
        self._hands: list[Hand] = []
        self._coming: list[Hand] = []
        self._moving = 0
        self._left = len(indices)
        self._lost = Counter[int]()
        self._false_starts = 0
        self._begun: tuple[Any, ...] = ()
        self._on: dict[Future[Any], Callable[[Future[Any]], int | None]] = {}
        self._calls: dict[int, Future[Any]] = {}
        """What was asked of workers last, by shard."""

    def run(self) -> Generator[int]:
        """Each index when its files are in the folder. However it ends, no worker goes on."""
        ended = False
        try:
            shared = self._share()
            self._begun = self._crew.told(self._work, self._indices, shared)
            while self._left:
                self._hire()
                self._stage()
                self._give()
                for future in self._next():
                    index = self._on.pop(future)(future)
                    if index is not None:
                        yield index
            ended = True
        finally:
            for future in self._on:
                future.cancel()
            for hand in self._hands:
                (self._crew.release if ended else self._crew.fire)(hand)
            for hand in self._coming:
                self._crew.fire(hand)

    def _share(self) -> list[tuple[Path, Stored | None]]:
        """What every shard needs, on the storage; folders with all that is in them."""
        found: list[tuple[Path, Future[Stored] | None]] = []
        for top in self._work.shared:
            paths = [top, *sorted(top.rglob("*"))] if top.is_dir() else [top]
            for path in paths:
                folder = path.is_dir()
                found.append((path, None if folder else self._movers.submit(self._depot.keep, path, shared=True)))
        return [(path, None if future is None else future.result()) for path, future in found]

    def _hire(self) -> None:
        """As many workers as there are shards for, and room."""
        while len(self._hands) + len(self._coming) < min(self._workers, self._left):
            hand = self._crew.hire(self._needs)
            self._coming.append(hand)
            future: Future[Any] = hand.actor.begin.remote(*self._begun).future()
            self._on[future] = lambda done, hand=hand: self._came(hand, done)

    def _came(self, hand: Hand, done: Future[Any]) -> None:
        loss = _outcome(done)
        self._coming.remove(hand)
        if loss is None:
            self._hands.append(hand)
            self._false_starts = 0
            return
        self._crew.fire(hand)
        self._false_starts += 1
        if self._false_starts > self._spec.retries + self._workers:
            raise ServiceError(
                f"the workers of step {self._work.step!r} die before they have begun",
                why=str(loss).strip()[:500],
                next="the logs of Ray on the machines say why; the same command goes on where it stopped",
            ) from loss

    def _stage(self) -> None:
        """Bring the inputs of the next shards to the storage."""
        ahead = self._spec.in_flight * max(1, len(self._hands))
        while self._waiting and self._moving + len(self._staged) < ahead:
            index = self._waiting.popleft()
            self._moving += 1
            future = self._movers.submit(self._upload, index)
            self._on[future] = lambda done, index=index: self._uploaded(index, done)

    def _upload(self, index: int) -> _Inputs:
        return [(path, self._depot.keep(path, shared=False)) for path in self._work.inputs(index)]

    def _uploaded(self, index: int, done: Future[_Inputs]) -> None:
        self._moving -= 1
        self._inputs[index] = done.result()
        self._staged.append((index, self._inputs[index]))

    def _give(self) -> None:
        """Give staged shards to workers, to those first that have the fewest."""
        while self._staged and self._hands and self._moving <= self._spec.in_flight * len(self._hands):
            hand = min(self._hands, key=lambda one: len(one.given))
            if len(hand.given) >= self._spec.in_flight:
                return
            index, inputs = self._staged.popleft()
            hand.given.append(index)
            future: Future[Any] = hand.actor.make.remote(index, inputs).future()
            self._calls[index] = future
            self._on[future] = lambda done, hand=hand, index=index: self._made(hand, index, done)

    def _made(self, hand: Hand, index: int, done: Future[list[tuple[str, Stored]]]) -> None:
        if hand not in self._hands:
            return  # its worker was lost, and the shard is with another one by now
        loss = _outcome(done)
        if loss is not None:
            self._lose(hand, loss)
            return
        self._take(hand, index, done)

    def _take(self, hand: Hand, index: int, done: Future[list[tuple[str, Stored]]]) -> None:
        """Fetch what a worker made."""
        hand.given.remove(index)
        self._inputs.pop(index, None)
        self._moving += 1
        future = self._movers.submit(self._fetch, done.result())
        self._on[future] = lambda fetched: self._fetched(index, fetched)

    def _fetch(self, files: list[tuple[str, Stored]]) -> None:
        for name, stored in files:
            self._depot.fetch(stored, self._folder / name)

    def _fetched(self, index: int, done: Future[None]) -> int:
        self._moving -= 1
        done.result()
        self._left -= 1
        return index

    def _lose(self, hand: Hand, loss: BaseException) -> None:
        """A worker is lost: what it was given is made by others; what it worked on may have been the reason.

        What it had made before is taken: its end may be told before its results are.
        """
        wait([self._calls[index] for index in hand.given], timeout=self._spec.patience_s)
        for index in list(hand.given):
            call = self._calls[index]
            if call.done() and _outcome(call) is None:
                self._take(hand, index, call)
        self._hands.remove(hand)
        self._crew.fire(hand)
        first = hand.given[0]
        self._lost[first] += 1
        if self._lost[first] > self._spec.retries:
            raise ServiceError(
                f"shard {first} of step {self._work.step!r} lost its worker {self._lost[first]} times",
                why=str(loss).strip()[:500],
                next="usually a machine ran out of memory: a smaller run.shard_rows or a larger"
                " run.executor.memory_mb needs less; the same command goes on where it stopped",
            ) from loss
        self._staged.extendleft((index, self._inputs[index]) for index in reversed(hand.given))
        hand.given.clear()

    def _next(self) -> list[Future[Any]]:
        """What has come to an end; ServiceError if there is no worker for too long."""
        idle = not self._hands and self._coming and not self._moving
        done, _ = wait(self._on, timeout=self._spec.patience_s if idle else None, return_when=FIRST_COMPLETED)
        if not done and idle:
            raise ServiceError(
                f"no worker for step {self._work.step!r} could start within {self._spec.patience_s:g} seconds",
                why=f"each takes {self._needs}; others may hold what the machines have, or none has so much",
                next="`ray status` shows what is free; set run.executor.cpus, gpus, memory_mb or steps to less",
            )
        return list(done)


def _outcome(done: Future[Any]) -> BaseException | None:
    """The loss of a worker, or None if all went well; what the work itself raised is raised as it is."""
    from ray.exceptions import RayError, RayTaskError

    error = done.exception()
    if isinstance(error, RayTaskError):
        raise (getattr(error, "cause", None) or error) from error
    if error is not None and not isinstance(error, RayError):
        raise error
    return error


def movers_of(workers: int) -> int:
    """How many files may be on their way at the same time."""
    return max(4, min(32, workers, 4 * (os.cpu_count() or 1)))
