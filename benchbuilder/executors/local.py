"""The local executor: shards in this process, or in as many processes as the run asks for."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import pyarrow as pa

from benchbuilder.accounts import Shard
from benchbuilder.shards import Job, Worker


class LocalExecutor:
    """Runs the shards of a job; one worker means this process, more mean processes of their own."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers

    def map(self, job: Job, tables: Sequence[tuple[int, pa.Table]]) -> Iterator[tuple[int, Shard]]:
        """The shards of (index, rows) pairs as they are done, in the order given."""
        if self.workers == 1 or len(tables) <= 1:
            worker = Worker(job) if tables else None
            for index, table in tables:
                if worker is not None:
                    yield index, worker.run(table)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(
            min(self.workers, len(tables)), mp_context=context, initializer=_open, initargs=(job,)
        ) as pool:
            # combine_chunks copies the slice, so that only its own rows travel
            yield from zip(
                (index for index, _ in tables),
                pool.map(_run, (table.combine_chunks() for _, table in tables)),
                strict=True,
            )


_worker: list[Worker] = []


def _open(job: Job) -> None:
    _worker[:] = [Worker(job)]


def _run(table: pa.Table) -> Shard:
    return _worker[0].run(table)
