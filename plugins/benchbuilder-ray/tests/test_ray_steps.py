"""Shards of a small work over three machines."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
import ray_work
from benchbuilder.core.errors import DataError, InstallationError, ServiceError
from ray import cloudpickle
from ray_work import Doubling, doubling, made

from benchbuilder_ray.versions import Versions


@pytest.fixture(autouse=True, scope="module")
def _work_travels() -> Iterator[None]:
    """Workers do not have the tests."""
    cloudpickle.register_pickle_by_value(ray_work)
    yield
    cloudpickle.unregister_pickle_by_value(ray_work)


def _texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def _here(work: Doubling, indices: range) -> dict[str, str]:
    """What the work makes in this process."""
    folder = work.folder / "here"
    folder.mkdir()
    for index in indices:
        ray_work.replace(work, slow=0, together=1, deadly=None, bad=None, marks=None).make_shard(index, folder)
    return _texts(folder)


def _free() -> float:
    return ray.available_resources().get("CPU", 0)


def _comes(what: Any, seconds: float = 60) -> bool:
    """Whether something becomes true."""
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(what())


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_same_files_as_in_this_process(executor: Any, tmp_path: Path) -> None:
    work, storage = doubling(tmp_path, 12, together=3), tmp_path / "storage"
    over = executor(storage=f"file://{storage}")
    done: list[int] = []
    for index in over.map(work, range(12), tmp_path / "out"):
        assert (tmp_path / "out" / f"{index}.receipt").exists()
        done.append(index)
    assert sorted(done) == list(range(12))
    assert _texts(tmp_path / "out") == _here(work, range(12))
    workers = made(work)
    assert len(workers) == 3, "one on each machine"
    shared = _files(storage / "shared")
    assert len(shared) == 2

    again = doubling(tmp_path / "next", 3)
    again = ray_work.replace(again, step="next")
    assert sorted(over.map(again, range(3), again.folder / "out")) == [0, 1, 2]
    assert set(made(again)) <= set(workers), "the workers are kept for the next step"
    assert _files(storage / "shared") == shared, "no content is uploaded twice"
    over.close()
    assert list((storage / "runs").iterdir()) == []
    assert all(path.exists() for path in shared), "they stay for the next build"
    assert _comes(lambda: _free() == 3), "and the workers go"


def test_what_a_worker_raises_is_raised_here_and_not_tried_again(executor: Any, tmp_path: Path) -> None:
    work = doubling(tmp_path, 6, bad=2)
    with pytest.raises(DataError) as caught:
        list(executor().map(work, range(6), tmp_path / "out"))
    assert caught.type is DataError
    assert (caught.value.what, caught.value.where) == ("line 1 of shard 2 is no number", "in/1.txt")
    assert caught.value.next == "correct it"
    assert sum(begun.count("2") for begun in made(work).values()) == 1
    assert "2.receipt" not in _texts(tmp_path / "out")
    assert _comes(lambda: _free() == 3), "no worker goes on"


def test_a_shard_whose_worker_dies_is_made_by_another(executor: Any, tmp_path: Path) -> None:
    work = doubling(tmp_path, 8, deadly=3, deadly_once=True)
    assert sorted(executor().map(work, range(8), tmp_path / "out")) == list(range(8))
    assert _texts(tmp_path / "out") == _here(work, range(8))
    assert sum(begun.count("3") for begun in made(work).values()) == 2


def test_a_shard_that_kills_every_worker_stops_the_build(executor: Any, tmp_path: Path) -> None:
    work = doubling(tmp_path, 8, deadly=0)
    done: list[int] = []
    with pytest.raises(ServiceError, match=r"shard \d of step 'double' lost its worker 2 times") as caught:
        done.extend(executor(retries=1).map(work, range(8), tmp_path / "out"))
    assert "run.shard_rows" in caught.value.next
    out = _texts(tmp_path / "out")
    assert "0.receipt" not in out
    assert not [name for name in out if name.startswith(".")], "no half of a file"
    assert {name.partition(".")[0] for name in out if name.endswith("receipt")} == {
        name.partition(".")[0] for name in out if name.endswith("rows")
    }


def test_a_machine_is_lost_while_it_works(executor: Any, cluster: Any, tmp_path: Path) -> None:
    work, doomed = doubling(tmp_path, 9, slow=1, together=3), cluster.others[0]

    def works_there() -> bool:
        return any(doomed.node_id in mark.name for mark in (tmp_path / "marks").iterdir())

    watch = threading.Thread(target=lambda: (_comes(works_there), cluster.lose(doomed)), daemon=True)
    watch.start()
    done = list(executor(storage=f"file://{tmp_path / 'storage'}").map(work, range(9), tmp_path / "out"))
    watch.join()
    assert sorted(done) == list(range(9))
    assert _texts(tmp_path / "out") == _here(work, range(9))
    begun = [index for shards in made(work).values() for index in shards]
    assert len(begun) == 10, "what the lost machine was at was begun again"


def test_interrupting_leaves_no_worker(executor: Any, tmp_path: Path) -> None:
    work = doubling(tmp_path, 30, slow=1)
    over = executor()
    threading.Thread(target=lambda: (_comes(lambda: made(work)), _thread.interrupt_main()), daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        list(over.map(work, range(30), tmp_path / "out"))
    over.close()
    assert _comes(lambda: _free() == 3)


def test_closing_ends_a_step_that_nobody_asks_further_for(executor: Any, tmp_path: Path) -> None:
    over = executor()
    shards = over.map(doubling(tmp_path, 30, slow=0.1), range(30), tmp_path / "out")
    next(shards)
    over.close()
    assert _comes(lambda: _free() == 3)


DRIVER = """
import sys
sys.path.insert(0, {tests!r})
import ray_work
from pathlib import Path
from ray import cloudpickle
from benchbuilder_ray.executor import RayExecutor
from benchbuilder_ray.spec import RaySpec
cloudpickle.register_pickle_by_value(ray_work)
work = ray_work.doubling(Path({folder!r}), 30, slow=0.4)
executor = RayExecutor(RaySpec(kind="ray", address={address!r}, storage={storage!r}), 1)
list(executor.map(work, range(30), work.folder / "out"))
"""


def test_a_coordinator_is_killed_and_begins_again(executor: Any, cluster: Any, tmp_path: Path) -> None:
    tests, storage = str(Path(__file__).parent), f"file://{tmp_path / 'storage'}"
    text = DRIVER.format(tests=tests, folder=str(tmp_path), address=cluster.address, storage=storage)
    with subprocess.Popen([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True) as driver:
        assert _comes(lambda: len(list(tmp_path.glob("out/*.receipt"))) >= 3 or driver.poll() is not None)
        assert driver.poll() is None, driver.communicate()[1]
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
    left = _texts(tmp_path / "out")
    committed = {int(name.partition(".")[0]) for name in left if name.endswith(".receipt")}
    assert 3 <= len(committed) < 30
    assert _comes(lambda: _free() == 3), "its workers end with it"
    (before,) = (tmp_path / "storage" / "runs").iterdir()
    work = ray_work.replace(doubling(tmp_path, 30), step="again")
    rest = sorted(set(range(30)) - committed)
    over = executor(storage=storage)
    assert sorted(over.map(work, rest, tmp_path / "out")) == rest
    assert sorted(int(index) for begun in made(work).values() for index in begun) == rest
    assert not before.exists(), "what the killed one left on the storage is removed"
    expected = _here(work, range(30))
    assert {name: text for name, text in _texts(tmp_path / "out").items() if not name.startswith(".")} == expected


def test_other_versions_on_a_machine(executor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Versions.detect()
    assert {"Python", "benchbuilder", "benchbuilder-ray", "pyarrow", "ray"} <= set(found.installed_versions)
    assert "pytest" not in found.installed_versions
    other = Versions({**found.installed_versions, "pyarrow": "1.0", "not-there": "2.0"}, found.optional)
    monkeypatch.setattr(Versions, "detect", lambda: other)
    over = executor()
    with pytest.raises(InstallationError, match="has other versions than this machine") as caught:
        list(over.map(doubling(tmp_path, 1), [0], tmp_path / "out"))
    assert (
        caught.value.why
        == f"pyarrow 1.0 here, {found.installed_versions['pyarrow']} there; not-there 2.0 here, missing there"
    )


def test_a_machine_may_lack_what_only_an_extra_needs() -> None:
    versions = Versions({"Python": "3.11.9", "torch": "2", "openai": "2"}, frozenset({"torch", "openai"}))
    versions.compare({"Python": "3.11.9", "torch": "2", "openai": ""}, "a machine")
    with pytest.raises(InstallationError):
        versions.compare({"Python": "3.11.9", "torch": "3"}, "a machine")


def test_a_storage_that_machines_do_not_see(executor: Any, tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="does not see the storage memory://build"):
        list(executor(storage="memory://build").map(doubling(tmp_path, 1), [0], tmp_path / "out"))


def test_no_room_for_a_worker(executor: Any, tmp_path: Path) -> None:
    over = executor(patience_s=1, steps={"double": {"gpus": 1}})
    with pytest.raises(ServiceError, match="no worker for step 'double' could start within 1 seconds") as caught:
        list(over.map(doubling(tmp_path, 1), [0], tmp_path / "out"))
    assert caught.value.why.startswith("each takes 1 CPU, 1 GPU")


def test_there_is_no_cluster() -> None:
    code = (
        "from benchbuilder_ray.executor import RayExecutor; from benchbuilder_ray.spec import RaySpec\n"
        "list(RayExecutor(RaySpec(kind='ray', address='127.0.0.1:1'), 1).map(None, [0], None))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert "ServiceError: there is no Ray cluster at 127.0.0.1:1" in done.stderr, done.stderr[-2000:]
    assert "set run.executor.address to its address, or to null" in done.stderr
