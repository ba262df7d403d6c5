"""Files on the storage and on machines: once each, whole, and nobody else's."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.core.errors import InstallationError, ServiceError

from benchbuilder_ray.machine_cache import MachineCache, WorkerFiles
from benchbuilder_ray.object_storage import ObjectStorage
from benchbuilder_ray.storage_client import StorageClient, StorageLocation


@pytest.fixture
def place(tmp_path: Path) -> StorageLocation:
    return StorageLocation(f"file://{tmp_path / 'storage'}", {})


@pytest.fixture
def object_storage(place: StorageLocation) -> ObjectStorage:
    made = ObjectStorage(place)
    made.open()
    return made


def _file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _count(storage: StorageClient, monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    calls: list[Any] = []
    done = getattr(storage, name)
    monkeypatch.setattr(storage, name, lambda *given: (calls.append(given), time.sleep(0.05), done(*given))[2])
    return calls


def test_a_content_is_uploaded_once(
    object_storage: ObjectStorage, place: StorageLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    puts = _count(object_storage.storage, monkeypatch, "put")
    one, same = _file(tmp_path / "one", "rows"), _file(tmp_path / "same", "rows")
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda file: object_storage.upload(file, shared=True), [one, same, one, same]))
    assert len(found) == len(puts) == 1
    later = ObjectStorage(place)
    puts = _count(later.storage, monkeypatch, "put")
    assert later.upload(one, shared=True) in found
    assert puts == []
    _file(one, "others")
    assert later.upload(one, shared=True) not in found, "a changed file is another content"


def test_what_was_fetched_is_not_uploaded_again(
    object_storage: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has put it there: the input of the next step, under whatever name the build gives it."""
    made = _file(tmp_path / "made", "rows")
    stored = object_storage.upload(made, shared=False)
    other = ObjectStorage(object_storage.storage.where)
    other.run = object_storage.run
    other.fetch(stored, tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "committed")
    puts = _count(other.storage, monkeypatch, "put")
    assert other.upload(tmp_path / "committed", shared=False) == stored
    assert other.upload(tmp_path / "committed", shared=True) == stored
    assert puts == []


def test_half_a_file_on_the_storage_does_not_count(
    object_storage: ObjectStorage, place: StorageLocation, tmp_path: Path
) -> None:
    file = _file(tmp_path / "index", "all of it")
    stored = object_storage.upload(file, shared=True)
    there = tmp_path / "storage" / stored.place
    there.write_text("all", encoding="utf-8")
    with pytest.raises(ServiceError, match="is not what was written there"):
        StorageClient(place).get(stored, tmp_path / "got")
    assert sorted(tmp_path.iterdir()) == [file, tmp_path / "storage"], "and nothing is left of it"
    assert ObjectStorage(place).upload(file, shared=True) == stored
    assert there.read_text(encoding="utf-8") == "all of it"
    there.write_text("all of IT", encoding="utf-8")
    with pytest.raises(ServiceError, match="another content"):
        StorageClient(place).get(stored, tmp_path / "got")


def test_a_file_that_comes_late_is_waited_for(object_storage: ObjectStorage, tmp_path: Path) -> None:
    stored = object_storage.upload(_file(tmp_path / "rows", "rows"), shared=False)
    there = tmp_path / "storage" / stored.place
    there.rename(tmp_path / "away")
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(object_storage.storage.get, stored, tmp_path / "got")
        time.sleep(0.3)
        (tmp_path / "away").rename(there)
        got.result()
    assert (tmp_path / "got").read_text(encoding="utf-8") == "rows"


def test_folders_of_killed_builds_are_removed(place: StorageLocation, tmp_path: Path) -> None:
    runs = tmp_path / "storage" / "runs"
    living = ObjectStorage(place)
    living.open()
    space = (runs / living.run.rpartition("/")[2] / "owner").read_text(encoding="utf-8").rpartition(" ")[0]
    _file(runs / "killed" / "owner", f"{space} {2**22 + 1}")
    _file(runs / "elsewhere" / "owner", f"another machine {2**22 + 1}")
    _file(runs / "unknown" / "files" / "x", "")
    later = ObjectStorage(place)
    later.open()
    left = {path.name for path in runs.iterdir()}
    assert left == {
        "elsewhere",
        "unknown",
        *(object_storage.run.rpartition("/")[2] for object_storage in (living, later)),
    }


def test_the_folder_goes_although_a_worker_still_writes(object_storage: ObjectStorage, tmp_path: Path) -> None:
    run = tmp_path / "storage" / object_storage.run
    object_storage.upload(_file(tmp_path / "rows", "rows"), shared=False)

    def late() -> None:
        for number in range(5):
            _file(run / "files" / "late" / str(number), "")
            time.sleep(0.05)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(late)
        time.sleep(0.02)
        object_storage.close()
        writing.result()
    later = ObjectStorage(object_storage.storage.where)
    later.run = object_storage.run
    later.close()
    assert not run.exists()


def test_a_storage_that_cannot_be_written(tmp_path: Path) -> None:
    _file(tmp_path / "file", "no folder")
    with pytest.raises(ServiceError, match="cannot list runs") as caught:
        ObjectStorage(StorageLocation(f"file://{tmp_path / 'file'}", {})).open()
    assert "the same command then goes on" in caught.value.next


def test_a_storage_without_its_library() -> None:
    with pytest.raises(InstallationError, match="cannot be opened"):
        StorageClient(StorageLocation("nosuch://bucket", {}))


def test_a_machine_downloads_a_shared_file_once(
    object_storage: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = object_storage.upload(_file(tmp_path / "index", "weights"), shared=True)
    storage = StorageClient(object_storage.storage.where)
    gets = _count(storage, monkeypatch, "get")
    cache = MachineCache(tmp_path / "node")
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: cache.fetch(stored, storage), range(8)))
    assert len(found) == len(gets) == 1
    (file,) = found
    assert file.stat().st_mode & 0o222 == 0, "no worker changes what others read"


def test_a_tree_has_the_files_under_their_paths(object_storage: ObjectStorage, tmp_path: Path) -> None:
    index, words = _file(tmp_path / "a" / "index", "weights"), _file(tmp_path / "words", "a\n")
    rows = [_file(tmp_path / f"rows{i}", str(i)) for i in range(2)]
    files = [(index.parent, None), *((file, object_storage.upload(file, shared=True)) for file in (index, words))]
    cache = MachineCache(tmp_path / "node")
    tree = WorkerFiles(cache, object_storage.storage)
    tree.lay_out_shared(files)
    assert tree.local_path(index).read_text(encoding="utf-8") == "weights"
    for mine, other in (rows, rows[::-1]):
        tree.lay_out(
            [(mine, object_storage.upload(mine, shared=False)), (words, object_storage.upload(words, shared=False))]
        )
        assert tree.local_path(mine).read_text(encoding="utf-8") == mine.read_text(encoding="utf-8")
        assert tree.local_path(words).exists()
        assert not tree.local_path(other).exists(), "only the rows of one shard lie there"
    cache.remove_unused()
    assert tree.folder.exists(), "its worker lives"
    tree.remove()
    assert list((cache.folder / "trees").iterdir()) == []


def test_what_dead_workers_left_is_removed_and_what_nobody_asks_for(
    object_storage: ObjectStorage, tmp_path: Path
) -> None:
    cache = MachineCache(tmp_path / "node")
    _file(cache.folder / "trees" / "dead" / "in" / "rows", "")
    _file(cache.folder / "trees" / "dead.lock", "")
    old, new = (
        cache.fetch(object_storage.upload(_file(tmp_path / name, name), shared=True), object_storage.storage)
        for name in ("old", "new")
    )
    os.utime(old, (time.time(), time.time() - 8 * 24 * 3600))
    cache.remove_unused()
    assert list((cache.folder / "trees").iterdir()) == []
    assert (old.exists(), new.exists()) == (False, True)


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node").chmod(0o777)
    with pytest.raises(ServiceError, match="can be written by others"):
        MachineCache(tmp_path / "node")
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    with pytest.raises(ServiceError):
        MachineCache(tmp_path / "link")
