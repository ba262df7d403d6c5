"""The executor kind `ray`: shards made by workers on the machines of a Ray cluster."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchbuilder.pipeline import Executor, StepWork

from benchbuilder_ray.cluster import Cluster, storage_missing_error
from benchbuilder_ray.object_storage import ObjectStorage
from benchbuilder_ray.spec import RaySpec
from benchbuilder_ray.step_run import StepRun, transfer_threads
from benchbuilder_ray.storage_client import StorageLocation
from benchbuilder_ray.versions import Versions
from benchbuilder_ray.worker_pool import WorkerPool


class RayExecutor(Executor):
    """Connects when the first shards are asked for; lets everything go at `close`."""

    kind = "ray"
    spec_class = RaySpec
    spec: RaySpec

    def __init__(self, spec: Any, workers: int) -> None:
        super().__init__(spec, workers)
        self._open: tuple[Cluster, ObjectStorage, WorkerPool] | None = None
        self._closing = ExitStack()
        self._running: list[Generator[int]] = []

    def map(self, work: StepWork, indices: Sequence[int], folder: Path) -> Iterator[int]:
        """As the port says. InstallationError if a machine has other versions, RecipeError if it lacks a storage."""
        if not indices:
            return
        cluster, object_storage, pool = self._open_parts()
        workers = min(self.spec.workers or 10_000, max(1, cluster.capacity(self.spec.needs(work.step))), len(indices))
        transfers = ThreadPoolExecutor(transfer_threads(workers), thread_name_prefix="benchbuilder-ray")
        running = StepRun(self.spec, pool, object_storage, transfers, work, indices, folder, workers).run()
        self._running.append(running)
        try:
            yield from running
        finally:
            self._running.remove(running)
            transfers.shutdown(wait=True, cancel_futures=True)

    def _open_parts(self) -> tuple[Cluster, ObjectStorage, WorkerPool]:
        if self._open is None:
            with ExitStack() as stack:
                cluster = Cluster(self.spec, self.workers)
                stack.callback(cluster.close)
                place = self._storage_location(cluster, stack)
                object_storage = ObjectStorage(place)
                stack.callback(object_storage.close)
                object_storage.open()
                versions = Versions.detect()
                cluster.check(versions, place, object_storage.token)
                pool = WorkerPool(place, object_storage.run, versions)
                stack.callback(pool.close)
                self._closing, self._open = stack.pop_all(), (cluster, object_storage, pool)
        return self._open

    def _storage_location(self, cluster: Cluster, stack: ExitStack) -> StorageLocation:
        """The storage; a temporary folder, if all machines are this one and none is named."""
        if self.spec.storage is not None:
            return StorageLocation(self.spec.storage, self.spec.storage_options)
        if not cluster.is_single_machine():
            raise storage_missing_error()
        folder = tempfile.mkdtemp(prefix="benchbuilder-ray-storage-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        return StorageLocation(f"file://{folder}", {})

    def close(self) -> None:
        """End the workers, remove this run's folder from the storage, leave the cluster."""
        for running in tuple(self._running):
            running.close()
        self._open = None
        self._closing.close()
