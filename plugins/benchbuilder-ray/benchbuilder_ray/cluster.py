"""The cluster: found or started, and looked at before any work is given to it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchbuilder.core import BenchbuilderError, InstallationError, Problem, RecipeError, ServiceError

from benchbuilder_ray import probe
from benchbuilder_ray.spec import Needs, RaySpec
from benchbuilder_ray.storage_client import StorageClient, StorageLocation
from benchbuilder_ray.versions import Versions

_OBJECTS_BYTES = 128 * 2**20
"""Ray's own store of objects, where this program starts Ray: shards travel as files, so that it stays almost empty."""
_CONNECT_TIMEOUT_S = 10.0
"""Seconds until an address that does not answer is given up."""
_REPLY_TIMEOUT_S = 120.0
"""Seconds that a machine may take to say what it has installed."""


@dataclass(frozen=True)
class Machine:
    """One that is alive: Ray's id of it, its address, its name, and what it has in all."""

    id: str
    address: str
    name: str
    resources: Mapping[str, float]


class Cluster:
    """A connection to Ray. One that the process has already is used, and left as it is."""

    def __init__(self, spec: RaySpec, workers: int) -> None:
        """Connect; start a cluster of `workers` on this machine if the spec names none.

        ServiceError if there is no such cluster, InstallationError if it runs other versions of Python or Ray.
        """
        # read by Ray when it starts: nothing of what is built here is anybody's business
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        import ray

        self._spec, self._owned = spec, not ray.is_initialized()
        if self._owned:
            self._connect(workers)

    def _connect(self, workers: int) -> None:
        import ray
        from ray.exceptions import RayError

        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        cores = max(1, round((self._spec.workers or workers) * self._spec.cpus))
        alone = {
            "address": "local", "num_cpus": cores, "include_dashboard": False, "_node_ip_address": "127.0.0.1",
            "object_store_memory": _OBJECTS_BYTES,
        }  # fmt: skip
        options = alone if self._spec.address is None else {"address": self._spec.address}
        try:
            _check_reachable(self._spec.address or "")
            ray.init(**options, **quiet)
        except ImportError as error:
            next_ = "pip install 'benchbuilder-ray[client]'"
            raise InstallationError("Ray lacks what ray:// needs", why=str(error), next=next_) from error
        except (OSError, ValueError, RuntimeError, RayError) as error:
            text = str(error).strip()
            if "uthentication token" in text:
                raise ServiceError(
                    f"the cluster at {self._spec.address} wants its token", why=text[:300],
                    next="set RAY_AUTH_MODE=token on this machine, and give it the token of the cluster",
                ) from error  # fmt: skip
            if "ersion mismatch" in text:
                raise InstallationError(
                    f"the cluster at {self._spec.address} runs other versions", why=text,
                    next="install the same versions of Python and Ray on every machine",
                ) from error  # fmt: skip
            raise ServiceError(
                f"there is no Ray cluster at {self._spec.address}", why=text[:500],
                next="start one (`ray start --head`), or set run.executor.address to its address, or to null",
            ) from error  # fmt: skip

    def machines(self) -> list[Machine]:
        """Those that are alive."""
        import ray

        nodes: list[dict[str, Any]] = ray.nodes()
        return [
            Machine(node["NodeID"], node["NodeManagerAddress"], node["NodeManagerHostname"], node["Resources"])
            for node in nodes
            if node["Alive"]
        ]

    def is_single_machine(self) -> bool:
        """Whether all machines are this one."""
        return {machine.name for machine in self.machines()} <= {socket.gethostname()}

    def capacity(self, needs: Needs) -> int:
        """How many workers with these needs fit; 0 if no machine has room for one."""
        return sum(needs.fit(machine.resources) for machine in self.machines())

    def check(self, versions: Versions, place: StorageLocation, token: str) -> None:
        """InstallationError if a machine has other versions, ServiceError if it does not see the file `token`."""
        import ray
        from ray import cloudpickle
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        cloudpickle.register_pickle_by_value(probe)
        try:
            answers: dict[str, tuple[Machine, Any, Any]] = {}
            for machine in self.machines():
                there: Any = NodeAffinitySchedulingStrategy(machine.id, soft=False)
                task: Any = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=there)
                asked = task(probe.installed).remote(list(versions.installed_versions)[1:])
                answers[machine.id] = machine, asked, task
            found = {name: _await_reply(machine, asked) for name, (machine, asked, _) in answers.items()}
            for name, there in found.items():
                if there is not None:
                    versions.compare(there, _machine_text(answers[name][0]))
            seen = {name: answers[name][2](_can_see).remote(place, token) for name in found if found[name] is not None}
            for name, asked in seen.items():
                if _await_reply(answers[name][0], asked) is False:
                    raise ServiceError(
                        f"{_machine_text(answers[name][0])} does not see the storage {place.url}",
                        why="a file that this machine has just written there is not there",
                        next="mount the same folder under the same path on every machine, or use s3://",
                    )
        finally:
            cloudpickle.unregister_pickle_by_value(probe)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        import ray

        if self._owned and ray.is_initialized():
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """OSError at once where nobody listens; Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT_S).close()


def _await_reply(machine: Machine, pending_reply: Any) -> Any:
    """What a machine answers; None if it has gone meanwhile."""
    import ray
    from ray.exceptions import GetTimeoutError, RayError, RayTaskError

    try:
        return ray.get(pending_reply, timeout=_REPLY_TIMEOUT_S)
    except GetTimeoutError as error:
        raise ServiceError(
            f"{_machine_text(machine)} does not answer",
            why=f"no process was started there within {_REPLY_TIMEOUT_S:.0f} seconds",
            next="`ray status` shows the machines; take it out of the cluster, or start Ray there again",
        ) from error
    except RayTaskError as error:
        cause = getattr(error, "cause", None) or error
        if isinstance(cause, BenchbuilderError):
            cause.where = cause.where or _machine_text(machine)
        raise cause from error
    except RayError:
        return None


def _can_see(place: StorageLocation, token: str) -> bool:
    return StorageClient(place).text(token) is not None


def _machine_text(machine: Machine) -> str:
    return f"the machine {machine.name} ({machine.address})"


def storage_missing_error() -> RecipeError:
    """A cluster of several machines without a storage."""
    return RecipeError(
        [
            Problem(
                "a cluster of several machines needs a storage that all of them see",
                key="run.executor.storage",
                hint="give run.executor.storage=file:///a/shared/folder or s3://bucket/prefix",
            )
        ]
    )
