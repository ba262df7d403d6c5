"""Files are whole or not there, and errors of the system name them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from benchbuilder.core import atomic_path, make_folder, name_file_in_errors, sync_paths, sync_tree, write_atomically

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is synced, in order."""
    names: list[str] = []

    def note(handle: int) -> None:
        names.append(Path(f"/proc/self/fd/{handle}").readlink().name)

    monkeypatch.setattr(os, "fsync", note)
    return names


def test_content_is_on_disk_before_the_name_and_the_name_at_the_end(tmp_path: Path, synced: list[str]) -> None:
    write_atomically(tmp_path / "new" / "votes.csv", "a")
    assert synced == [tmp_path.name, "votes.csv.tmp", "new"]
    assert (tmp_path / "new" / "votes.csv").read_text(encoding="utf-8") == "a"


def test_a_group_syncs_later(tmp_path: Path, synced: list[str]) -> None:
    write_atomically(tmp_path / "part", b"a", sync=False)
    assert not synced
    (tmp_path / "inner").mkdir()
    sync_tree(tmp_path)
    assert sorted(synced) == sorted(["inner", "part", tmp_path.name])


def test_a_folder_that_is_there_costs_nothing(tmp_path: Path, synced: list[str]) -> None:
    make_folder(tmp_path)
    assert not synced
    make_folder(tmp_path / "a" / "b")
    assert synced == [tmp_path.name, "a"]


def test_a_file_that_cannot_be_synced_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    (tmp_path / "a").touch()
    with pytest.raises(OSError, match="Input/output error") as caught:
        sync_paths([tmp_path / "a"])
    assert caught.value.filename == str(tmp_path / "a")


def test_folders_of_file_systems_that_do_not_sync_them_are_let_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse)
    sync_paths([tmp_path])


@needs_full
def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.with_name("items.jsonl.tmp").symlink_to(FULL)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, "a" * 10_000)
    assert caught.value.filename == str(path)
    assert not path.exists()


def test_a_name_that_the_system_gave_stays(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_path(tmp_path / "a"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")
    with pytest.raises(OSError, match="requested") as caught, name_file_in_errors(tmp_path / "a"):
        raise OSError("8 requested and 0 written")  # numpy's
    assert caught.value.filename == str(tmp_path / "a")
