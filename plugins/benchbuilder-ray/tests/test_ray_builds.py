"""A whole recipe over three machines and S3: the same bytes as here, although a machine is lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.cli.dispatch import main

from benchbuilder_ray.step_run import StepRun
from benchbuilder_ray.storage_client import StorageClient, StorageLocation

ROWS = "run.shard_rows=120"


def _bytes(folder: Path) -> dict[str, str]:
    """Every file that a build wrote, by its hash, but for the log of runs; of the store what the manifests say."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith("store/") and name != "run.jsonl":
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    for path in sorted((folder / "store").rglob("manifest.json")):
        found[path.relative_to(folder).as_posix()] = json.loads(path.read_text(encoding="utf-8"))["digest"]
    return found


def _build(folder: Path, *words: str) -> dict[str, str]:
    assert main(["recipe=care_mi", f"run.dir={folder}", ROWS, *words]) == 0
    return _bytes(folder)


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a build in this process writes."""
    found = _build(tmp_path_factory.mktemp("here"), "run.workers=1")
    assert sum(name.startswith("store/") for name in found) > 10
    return found


@pytest.fixture
def s3() -> Iterator[StorageLocation]:
    """A bucket of a server on this machine. What it takes for a password is in the environment of every process."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield StorageLocation("s3://builds/mine", {"endpoint_url": f"http://{host}:{port}"})
    server.stop()


def test_a_build_over_s3_that_loses_a_machine(
    here: dict[str, str], s3: StorageLocation, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    fetched = StepRun._on_fetched

    def lose_one(self: StepRun, index: int, future: Any) -> int:
        done.append(index)
        if len(done) == 10:
            cluster.lose(cluster.others[0])
        return fetched(self, index, future)

    monkeypatch.setattr(StepRun, "_on_fetched", lose_one)
    storage = StorageClient(s3)
    storage._files.mkdir("builds")
    endpoint = s3.options["endpoint_url"]
    words = [f"run.executor.storage={s3.url}", f"run.executor.storage_options={{endpoint_url: '{endpoint}'}}"]
    built = _build(tmp_path / "build", "run=ray", *words)
    assert len(done) > 20, "there were shards enough"
    assert {name for name in here if built.get(name) != here[name]} == set()
    assert built == here
    assert storage.folders("") == ["shared"], "the folder of the run is gone"
