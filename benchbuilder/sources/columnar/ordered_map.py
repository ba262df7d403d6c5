"""Work on pieces of a file in processes of their own, its results in order."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from benchbuilder.core import ServiceError, begin_worker_process

Result = TypeVar("Result")


def map_in_order(work: Callable[[bytes], Result], pieces: Iterable[bytes], workers: int, key: str) -> Iterator[Result]:
    """What `work`, which can be pickled, makes of each piece, in the order of the pieces.

    One worker means this process. Only a few pieces are on the way at a time. ServiceError, which names the setting
    `key` of the number of workers, if a process dies.
    """
    if workers == 1:
        yield from map(work, pieces)
        return
    pending: deque[Future[Any]] = deque()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(work,))
    try:
        for piece in pieces:
            pending.append(pool.submit(_run_piece, piece))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool as error:
        raise ServiceError(
            "a process that reads a source died", where=key, why="usually the machine ran out of memory",
            next=f"run the same command again, or set {key}=1",
        ) from error  # fmt: skip
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def available_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_work: list[Callable[[bytes], Any]] = []
"""What this process does."""


def _start_worker(work: Callable[[bytes], Any]) -> None:
    begin_worker_process()
    _work[:] = [work]


def _run_piece(piece: bytes) -> Any:
    return _work[0](piece)
