"""Files are whole or not there, and errors of the system name them."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from benchbuilder.core import (
    atomic_path,
    is_abandoned,
    is_temporary,
    make_folder,
    make_folder_beside,
    name_file_in_errors,
    sync_paths,
    sync_tree,
    write_atomically,
)

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
    assert [synced[0], synced[2]] == [tmp_path.name, "new"]
    assert is_temporary(Path(synced[1]))
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

    def fill() -> None:
        with atomic_path(path) as temporary:
            temporary.unlink()
            temporary.symlink_to(FULL)
            temporary.write_bytes(b"a" * 10_000)

    with pytest.raises(OSError, match="No space left") as caught:
        fill()
    assert caught.value.filename == str(path)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("writer", [lambda path: write_atomically(path, "ours"), make_folder_beside])
def test_a_link_at_the_temporary_name_is_not_followed(
    tmp_path: Path, writer: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can foresee the name; here somebody did."""
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * 2 * size)
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    (tmp_path / f"items.jsonl.{'0' * 16}.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        writer(tmp_path / "items.jsonl")
    assert victim.read_text(encoding="utf-8") == "mine"


def test_temporary_names_differ_and_an_error_leaves_none(tmp_path: Path) -> None:
    names: set[str] = set()
    for _ in range(20):
        with suppress(ValueError), atomic_path(tmp_path / "a") as temporary:
            names.add(temporary.name)
            raise ValueError
    assert len(names) == 20
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    usual = 0o666 & ~_umask()
    write_atomically(path, "a")
    assert path.stat().st_mode & 0o777 == usual
    path.chmod(0o640)
    write_atomically(path, "b")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / f"{'名' * 83}.jsonl"
    assert len(os.fsencode(path.name)) == 255
    write_atomically(path, "a")
    assert path.read_text(encoding="utf-8") == "a"


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_what_a_killed_process_left_is_known_by_name_and_age(tmp_path: Path) -> None:
    fresh, old, other = (tmp_path / name for name in (f"a.{'a' * 16}.tmp", f"a.{'b' * 16}.tmp", "mine.tmp"))
    for path in (fresh, old, other):
        path.touch()
    for path in (old, other):
        os.utime(path, (0, 0))
    assert [is_abandoned(path) for path in (fresh, old, other)] == [False, True, False]


def test_a_name_that_the_system_gave_stays(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_path(tmp_path / "a"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")
    with pytest.raises(OSError, match="requested") as caught, name_file_in_errors(tmp_path / "a"):
        raise OSError("8 requested and 0 written")  # numpy's
    assert caught.value.filename == str(tmp_path / "a")


def test_folders_that_killed_processes_left_are_removed_a_day_later(tmp_path: Path) -> None:
    path, other = tmp_path / "1.0.0", tmp_path / f"2.0.0.{'c' * 16}.tmp"
    fresh, old = make_folder_beside(path), make_folder_beside(path)
    (old / "items.jsonl").touch()
    other.mkdir()
    for place in (old, other):
        os.utime(place, (0, 0))
    made = make_folder_beside(path)
    assert sorted(tmp_path.iterdir()) == sorted([fresh, made, other])
