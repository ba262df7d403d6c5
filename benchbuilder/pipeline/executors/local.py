"""The executor kind `local`: makes shards in this process, or in several processes of this machine."""

from __future__ import annotations

import gc
import pickle
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import InstallationError, ServiceError, WorkerContext, begin_worker_process
from benchbuilder.pipeline.executors.base import Executor, StepWork
from benchbuilder.pipeline.memory import release_free_memory


class LocalExecutor(Executor):
    """One worker is this process; several are processes of their own, started when first needed.

    A step of one shard starts no processes. If some are there it runs in one of them: what it loads, such as a
    dictionary, is gone when they end, before the outputs are made.
    """

    kind: ClassVar[str] = "local"
    spec_class: ClassVar[type[KindSpec]] = KindSpec

    def __init__(self, spec: Any, workers: int) -> None:
        super().__init__(spec, workers)
        self._pool: ProcessPoolExecutor | None = None
        self._context = WorkerContext()
        self._jobs = 0

    def map(self, work: StepWork, indices: Sequence[int], folder: Path) -> Iterator[int]:
        """Each index when its shard is written, in the order given."""
        if self.workers == 1 or not indices or (len(indices) == 1 and self._pool is None):
            for index in indices:
                work.make_shard(index, folder)
                yield index
            return
        try:
            yield from self._spread(work, indices, folder)
        except KeyboardInterrupt:
            self._stop()
            raise
        except BrokenProcessPool as error:
            self.close()  # once the pool has joined its workers, it is known how each of them ended
            if self._context.unguarded():
                raise _unguarded_script() from None
            raise ServiceError(
                f"a worker process of step {work.step!r} died",
                why="usually the machine ran out of memory",
                next="give the same command again, it continues; with run.workers=1 it needs less memory",
            ) from error

    def processes(self) -> tuple[int, ...]:
        """The ids of the worker processes."""
        return () if self._pool is None else tuple(self._pool._processes)  # pyright: ignore[reportPrivateUsage]

    def _stop(self) -> None:
        """Kill the worker processes; shards that were not written are made again."""
        for process in [] if self._pool is None else list(self._pool._processes.values()):  # pyright: ignore[reportPrivateUsage]
            process.terminate()
        self.close()

    def close(self) -> None:
        """End the worker processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _spread(self, work: StepWork, indices: Sequence[int], folder: Path) -> Iterator[int]:
        """Make shards in worker processes, few at a time, so that an error stops the others soon."""
        if self._pool is None:
            _require_script_in_file()
            self._context = WorkerContext()
            self._pool = ProcessPoolExecutor(self.workers, mp_context=self._context, initializer=begin_worker_process)
        self._jobs += 1
        packed, pending = pickle.dumps(work), deque[tuple[int, Future[None]]]()
        try:
            for index in indices:
                pending.append((index, self._pool.submit(_make, self._jobs, packed, index, folder)))
                if len(pending) > 2 * self.workers:
                    yield _shard_result(*pending.popleft())
            while pending:
                yield _shard_result(*pending.popleft())
            for _ in self.processes():
                self._pool.submit(_forget, self._jobs)
        except (KeyboardInterrupt, BrokenProcessPool):
            raise  # the pool's thread fails every future now, and would end with a traceback at one cancelled meanwhile
        except BaseException:
            for _, future in pending:
                future.cancel()
            raise


def _require_script_in_file() -> None:
    """InstallationError if the running script came from standard input: a worker could not import it."""
    script: str | None = getattr(sys.modules.get("__main__"), "__file__", None)
    if script is not None and not Path(script).exists():
        raise InstallationError(
            "a script without a file cannot build with several workers",
            where=script,
            why="each worker is a new interpreter, which imports the script",
            next="write the script to a file, or build with run.workers=1",
        )


def _unguarded_script() -> InstallationError:
    return InstallationError(
        "this script cannot build with several workers",
        where=str(getattr(sys.modules["__main__"], "__file__", "")),
        why="each worker is a new interpreter, which imports the script and would build again",
        next='put the calls of the script below `if __name__ == "__main__":`, or build with run.workers=1',
    )


def _shard_result(index: int, future: Future[None]) -> int:
    future.result()
    return index


_FORGET_TIMEOUT_S = 0.05
"""How long a worker sleeps after it released a step, so that each worker gets one of these calls."""
_opened_work: dict[int, StepWork] = {}
"""The work that this process has open, by number."""


def _make(job: int, packed: bytes, index: int, folder: Path) -> None:
    if job not in _opened_work:
        _opened_work.clear()
        _opened_work[job] = pickle.loads(packed)
    _opened_work[job].make_shard(index, folder)


def _forget(job: int) -> None:
    """Release what finished work has opened: the next steps may need the memory."""
    if _opened_work.pop(job, None) is not None:
        gc.collect()
        release_free_memory()
    time.sleep(_FORGET_TIMEOUT_S)
