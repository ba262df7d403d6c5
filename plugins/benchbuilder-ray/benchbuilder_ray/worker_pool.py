"""The workers of a build: hired when there is work, kept for a while, and let go."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from benchbuilder_ray.shard_actor import ShardActor
from benchbuilder_ray.spec import Needs
from benchbuilder_ray.storage_client import StorageLocation
from benchbuilder_ray.versions import Versions

_IDLE_S = 30.0
"""Seconds that a worker waits for the next step; then the cluster has its cores again."""


class RayWorker:
    """A worker, and the shards that it has been given, the one that it works on first."""

    def __init__(self, actor: Any, needs: Needs) -> None:
        self.actor, self.needs = actor, needs
        self.assigned = deque[int]()


class WorkerPool:
    """Workers by what they take. One that holds no GPU is kept for the next step: to start a process takes seconds."""

    def __init__(self, place: StorageLocation, run: str, versions: Versions) -> None:
        self._place, self._run, self._versions = place, run, versions
        self._idle: list[RayWorker] = []
        self._guard = threading.Lock()
        self._timer: threading.Timer | None = None

    def acquire(self, needs: Needs) -> RayWorker:
        """A worker: one that has nothing to do, else a new one, which is there when its `begin` has ended."""
        import ray

        with self._guard:
            found = next((worker for worker in self._idle if worker.needs == needs), None)
            if found is not None:
                self._idle.remove(found)
                return found
            # others would hold what these need
            self._end_idle()
        actor: Any = ray.remote(max_restarts=0, max_task_retries=0, **needs.options())(ShardActor)
        return RayWorker(actor.remote(self._place, self._run, self._versions), needs)

    def share_values(self, *values: Any) -> tuple[Any, ...]:
        """What many workers are told, on its way once for all of them."""
        import ray

        return tuple(ray.put(value) for value in values)

    def release(self, worker: RayWorker) -> None:
        """A worker has done its part of a step."""
        if worker.needs.gpus:
            self.terminate(worker)
            return
        with self._guard:
            self._idle.append(worker)
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(_IDLE_S, self.close)
            self._timer.daemon = True
            self._timer.start()

    def terminate(self, worker: RayWorker) -> None:
        """End a worker, whatever it does."""
        import ray

        if ray.is_initialized():
            ray.kill(worker.actor, no_restart=True)

    def close(self) -> None:
        """End all that have nothing to do."""
        with self._guard:
            self._end_idle()

    def _end_idle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._idle:
            self.terminate(self._idle.pop())
