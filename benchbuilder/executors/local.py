"""The local executor: shards in this process, or in as many processes as the run asks for."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pyarrow as pa

from benchbuilder.accounts import Shard
from benchbuilder.errors import ServiceError
from benchbuilder.shards import Job, Worker


class LocalExecutor:
    """Runs the shards of a job; one worker means this process, more mean processes of their own."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def map(self, job: Job, tables: Sequence[tuple[int, pa.Table]]) -> Iterator[tuple[int, Shard]]:
        """The shards of (index, rows) pairs as they are done, in the order given."""
        if not tables:
            return
        if self.workers == 1 or len(tables) == 1:
            worker = Worker(job)
            for index, table in tables:
                yield index, worker.run(table)
            return
        try:
            yield from self._spread(job, tables)
        except BrokenProcessPool as error:
            raise ServiceError(
                f"a worker process of step {job.stage.context.step!r} died",
                why="usually the machine ran out of memory",
                next="the same command goes on where it stopped; run.workers=1 or a smaller run.shard_rows needs less",
            ) from error

    def _spread(self, job: Job, tables: Sequence[tuple[int, pa.Table]]) -> Iterator[tuple[int, Shard]]:
        """Over processes, with few shards on the way at a time: rows that wait take memory."""
        workers = min(self.workers, len(tables))
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(job,)) as pool:
            pending: deque[tuple[int, Future[Shard]]] = deque()
            try:
                for index, table in tables:
                    pending.append((index, pool.submit(_run, packed(table))))
                    if len(pending) > 2 * workers:
                        first, future = pending.popleft()
                        yield first, future.result()
                while pending:
                    first, future = pending.popleft()
                    yield first, future.result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


_job: list[Job] = []
_worker: list[Worker] = []


def _begin(job: Job) -> None:
    _job[:], _worker[:] = [job], []
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A build that is killed leaves no workers behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def packed(table: pa.Table) -> bytes:
    """A table as bytes that hold its own rows alone; a pickled slice takes the whole table with it."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _run(data: bytes) -> Shard:
    if not _worker:
        # opened here and not in the initializer, where an error would be lost
        _worker.append(Worker(_job[0]))
    return _worker[0].run(pa.ipc.open_stream(data).read_all())
