"""One Ray cluster of three machines with one core each for all tests; in truth they are processes of this one."""

from __future__ import annotations

import os

# before Ray, numpy and torch are imported, and any machine started: each has the environment that it was started with.
# Ray else asks the network for this machine's address.
os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "AWS_ACCESS_KEY_ID": "me",
    "AWS_SECRET_ACCESS_KEY": "mine",
    "AWS_DEFAULT_REGION": "us-east-1",
}

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from benchbuilder_ray.executor import RayExecutor
from benchbuilder_ray.spec import RaySpec

_STORE = 80 * 2**20


class Machines:
    """The cluster; a machine can be added and lost."""

    def __init__(self, temporary: Path) -> None:
        head = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False, "include_log_monitor": False}
        self.cluster = Cluster(initialize_head=True, head_node_args={**head, "object_store_memory": _STORE})
        self.others = [self.add(), self.add()]
        self.address: str = self.cluster.address

    def add(self) -> Any:
        return self.cluster.add_node(
            num_cpus=1, node_ip_address="127.0.0.1", object_store_memory=_STORE, include_log_monitor=False
        )

    def lose(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)
        self.others.remove(node)

    def whole(self) -> None:
        while len(self.others) < 2:
            self.others.append(self.add())


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    # below it lie sockets, whose names may not be long
    temporary = tmp_path_factory.mktemp("node")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        made = Machines(temporary)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR", _node_ip_address="127.0.0.1")
        yield made
        ray.shutdown()
        made.cluster.shutdown()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Ray leaves the files of its processes' logs open
        gc.collect()


@pytest.fixture
def cluster(machines: Machines) -> Machines:
    """All three machines."""
    machines.whole()
    return machines


@pytest.fixture
def executor(cluster: Machines) -> Iterator[Any]:
    """Makes executors over the cluster, and closes them."""
    made: list[RayExecutor] = []

    def make(**spec: Any) -> RayExecutor:
        made.append(RayExecutor(RaySpec(kind="ray", **spec), 1))
        return made[-1]

    yield make
    for one in made:
        one.close()
