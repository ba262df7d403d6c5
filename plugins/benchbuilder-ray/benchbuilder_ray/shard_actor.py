"""A worker on a machine of the cluster: an actor that makes shards of one step after the other."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from benchbuilder.pipeline import StepWork

from benchbuilder_ray.machine_cache import MachineCache, WorkerFiles
from benchbuilder_ray.probe import installed
from benchbuilder_ray.storage_client import StorageClient, StorageLocation, StoredFile, sha256_of
from benchbuilder_ray.versions import Versions


class ShardActor:
    """Ray makes it an actor."""

    def __init__(self, place: StorageLocation, run: str, versions: Versions, machine: str = "") -> None:
        """`run`: the folder of the build on the storage, for what is made here."""
        self._place, self._run, self._versions, self._machine = place, run, versions, machine
        self._storage: StorageClient | None = None
        self._work: StepWork | None = None
        self._tree: WorkerFiles | None = None

    def begin(self, work: StepWork, indices: Sequence[int], shared: Sequence[tuple[Path, StoredFile | None]]) -> None:
        """Get ready for the shards `indices` of a step; what was open for the step before is let go.

        InstallationError if this machine has other versions than the coordinator's.
        """
        import ray

        self.end()
        machine = self._machine or f"the machine {ray.util.get_node_ip_address()}"
        self._versions.compare(installed(list(self._versions.installed_versions)[1:]), machine)
        cache = MachineCache()
        cache.remove_unused()
        self._storage = self._storage or StorageClient(self._place)
        self._tree = tree = WorkerFiles(cache, self._storage)
        tree.lay_out_shared(shared)
        tree.local_path(work.cache).mkdir(parents=True, exist_ok=True)
        paths = {work.cache, *work.shared, *(path for index in indices for path in work.inputs(index))}
        self._work = work.relocated({path: tree.local_path(path) for path in paths})

    def make(self, index: int, inputs: Sequence[tuple[Path, StoredFile]]) -> list[tuple[str, StoredFile]]:
        """Make a shard and put its files on the storage; their names, and where they are, the receipt last."""
        if self._work is None or self._tree is None or self._storage is None:
            raise RuntimeError("a shard was asked for before `begin`")
        self._tree.lay_out(inputs)
        folder = self._tree.new_draft_folder()
        try:
            return [(name, self._upload(folder / name)) for name in self._work.make_shard(index, folder)]
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _upload(self, file: Path) -> StoredFile:
        digest = sha256_of(file)
        stored = StoredFile(f"{self._run}/files/{digest[:2]}/{digest}", digest, file.stat().st_size)
        if self._storage is not None:
            self._storage.put(file, stored)
        return stored

    def end(self) -> None:
        """Let go of the step."""
        self._work = None
        if self._tree is not None:
            self._tree.remove()
            self._tree = None
