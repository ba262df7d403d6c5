"""The shards of one step on their way over the cluster: inputs up, made there, outputs down."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Any

from benchbuilder.core import ServiceError
from benchbuilder.pipeline import StepWork

from benchbuilder_ray.object_storage import ObjectStorage
from benchbuilder_ray.spec import RaySpec
from benchbuilder_ray.storage_client import StoredFile
from benchbuilder_ray.worker_pool import RayWorker, WorkerPool

_Inputs = list[tuple[Path, StoredFile]]


class StepRun:
    """One step. Shards move from `waiting` over `staged` (inputs on the storage) to a worker's, and come back."""

    def __init__(
        self,
        spec: RaySpec,
        pool: WorkerPool,
        object_storage: ObjectStorage,
        transfers: Executor,
        work: StepWork,
        indices: Sequence[int],
        folder: Path,
        workers: int,
    ) -> None:
        """`transfers` carries files; `workers` is how many may work at the same time."""
        self._spec, self._pool, self._object_storage, self._transfers = spec, pool, object_storage, transfers
        self._work, self._indices, self._folder, self._workers = work, tuple(indices), folder, workers
        self._needs = spec.needs(work.step)
        self._waiting = deque(indices)
        self._staged = deque[tuple[int, _Inputs]]()
        self._inputs: dict[int, _Inputs] = {}
        self._ray_workers: list[RayWorker] = []
        self._starting: list[RayWorker] = []
        self._moving = 0
        self._remaining = len(indices)
        self._losses = Counter[int]()
        self._false_starts = 0
        self._begin_arguments: tuple[Any, ...] = ()
        self._assigned: dict[Future[Any], Callable[[Future[Any]], int | None]] = {}
        self._calls: dict[int, Future[Any]] = {}
        """What was asked of workers last, by shard."""

    def run(self) -> Generator[int]:
        """Each index when its files are in the folder. However it ends, no worker goes on."""
        ended = False
        try:
            shared = self._upload_shared()
            self._begin_arguments = self._pool.share_values(self._work, self._indices, shared)
            while self._remaining:
                self._start_workers()
                self._stage_inputs()
                self._assign()
                for future in self._wait_for_any():
                    index = self._assigned.pop(future)(future)
                    if index is not None:
                        yield index
            ended = True
        finally:
            for future in self._assigned:
                future.cancel()
            for worker in self._ray_workers:
                (self._pool.release if ended else self._pool.terminate)(worker)
            for worker in self._starting:
                self._pool.terminate(worker)

    def _upload_shared(self) -> list[tuple[Path, StoredFile | None]]:
        """What every shard needs, on the storage; folders with all that is in them."""
        found: list[tuple[Path, Future[StoredFile] | None]] = []
        for top in self._work.shared:
            paths = [top, *sorted(top.rglob("*"))] if top.is_dir() else [top]
            for path in paths:
                folder = path.is_dir()
                found.append(
                    (path, None if folder else self._transfers.submit(self._object_storage.upload, path, shared=True))
                )
        return [(path, None if future is None else future.result()) for path, future in found]

    def _start_workers(self) -> None:
        """As many workers as there are shards for, and room."""
        while len(self._ray_workers) + len(self._starting) < min(self._workers, self._remaining):
            worker = self._pool.acquire(self._needs)
            self._starting.append(worker)
            future: Future[Any] = worker.actor.begin.remote(*self._begin_arguments).future()
            self._assigned[future] = lambda done, worker=worker: self._on_started(worker, done)

    def _on_started(self, worker: RayWorker, future: Future[Any]) -> None:
        loss = _worker_loss(future)
        self._starting.remove(worker)
        if loss is None:
            self._ray_workers.append(worker)
            self._false_starts = 0
            return
        self._pool.terminate(worker)
        self._false_starts += 1
        if self._false_starts > self._spec.retries + self._workers:
            raise ServiceError(
                f"the workers of step {self._work.step!r} die before they have begun",
                why=str(loss).strip()[:500],
                next="the logs of Ray on the machines say why; the same command goes on where it stopped",
            ) from loss

    def _stage_inputs(self) -> None:
        """Bring the inputs of the next shards to the storage."""
        ahead = self._spec.in_flight * max(1, len(self._ray_workers))
        while self._waiting and self._moving + len(self._staged) < ahead:
            index = self._waiting.popleft()
            self._moving += 1
            future = self._transfers.submit(self._upload, index)
            self._assigned[future] = lambda done, index=index: self._on_uploaded(index, done)

    def _upload(self, index: int) -> _Inputs:
        return [(path, self._object_storage.upload(path, shared=False)) for path in self._work.inputs(index)]

    def _on_uploaded(self, index: int, future: Future[_Inputs]) -> None:
        self._moving -= 1
        self._inputs[index] = future.result()
        self._staged.append((index, self._inputs[index]))

    def _assign(self) -> None:
        """Give staged shards to workers, to those first that have the fewest."""
        while self._staged and self._ray_workers and self._moving <= self._spec.in_flight * len(self._ray_workers):
            worker = min(self._ray_workers, key=lambda one: len(one.assigned))
            if len(worker.assigned) >= self._spec.in_flight:
                return
            index, inputs = self._staged.popleft()
            worker.assigned.append(index)
            future: Future[Any] = worker.actor.make.remote(index, inputs).future()
            self._calls[index] = future
            self._assigned[future] = lambda done, worker=worker, index=index: self._on_made(worker, index, done)

    def _on_made(self, worker: RayWorker, index: int, future: Future[list[tuple[str, StoredFile]]]) -> None:
        if worker not in self._ray_workers:
            return  # its worker was lost, and the shard is with another one by now
        loss = _worker_loss(future)
        if loss is not None:
            self._on_loss(worker, loss)
            return
        self._collect(worker, index, future)

    def _collect(self, worker: RayWorker, index: int, finished: Future[list[tuple[str, StoredFile]]]) -> None:
        """Fetch what a worker made."""
        worker.assigned.remove(index)
        self._inputs.pop(index, None)
        self._moving += 1
        future = self._transfers.submit(self._fetch, finished.result())
        self._assigned[future] = lambda fetched: self._on_fetched(index, fetched)

    def _fetch(self, files: list[tuple[str, StoredFile]]) -> None:
        for name, stored in files:
            self._object_storage.fetch(stored, self._folder / name)

    def _on_fetched(self, index: int, future: Future[None]) -> int:
        self._moving -= 1
        future.result()
        self._remaining -= 1
        return index

    def _on_loss(self, worker: RayWorker, loss: BaseException) -> None:
        """A worker is lost: what it was given is made by others; what it worked on may have been the reason.

        What it had made before is taken: its end may be told before its results are.
        """
        wait([self._calls[index] for index in worker.assigned], timeout=self._spec.patience_s)
        for index in list(worker.assigned):
            call = self._calls[index]
            if call.done() and _worker_loss(call) is None:
                self._collect(worker, index, call)
        self._ray_workers.remove(worker)
        self._pool.terminate(worker)
        first = worker.assigned[0]
        self._losses[first] += 1
        if self._losses[first] > self._spec.retries:
            raise ServiceError(
                f"shard {first} of step {self._work.step!r} lost its worker {self._losses[first]} times",
                why=str(loss).strip()[:500],
                next="usually a machine ran out of memory: a smaller run.shard_rows or a larger"
                " run.executor.memory_mb needs less; the same command goes on where it stopped",
            ) from loss
        self._staged.extendleft((index, self._inputs[index]) for index in reversed(worker.assigned))
        worker.assigned.clear()

    def _wait_for_any(self) -> list[Future[Any]]:
        """What has come to an end; ServiceError if there is no worker for too long."""
        idle = not self._ray_workers and self._starting and not self._moving
        done, _ = wait(self._assigned, timeout=self._spec.patience_s if idle else None, return_when=FIRST_COMPLETED)
        if not done and idle:
            raise ServiceError(
                f"no worker for step {self._work.step!r} could start within {self._spec.patience_s:g} seconds",
                why=f"each takes {self._needs}; others may hold what the machines have, or none has so much",
                next="`ray status` shows what is free; set run.executor.cpus, gpus, memory_mb or steps to less",
            )
        return list(done)


def _worker_loss(future: Future[Any]) -> BaseException | None:
    """The loss of a worker, or None if all went well; what the work itself raised is raised as it is."""
    from ray.exceptions import RayError, RayTaskError

    error = future.exception()
    if isinstance(error, RayTaskError):
        raise (getattr(error, "cause", None) or error) from error
    if error is not None and not isinstance(error, RayError):
        raise error
    return error


def transfer_threads(workers: int) -> int:
    """How many files may be on their way at the same time."""
    return max(4, min(32, workers, 4 * (os.cpu_count() or 1)))
