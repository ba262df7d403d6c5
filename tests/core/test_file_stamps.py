"""Whatever happens to files and folders changes their stamps; reading changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from benchbuilder.core import FileStamps, stamp_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    (top / "inner").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "a.txt").write_text("same")
    (top / "inner" / "b.txt").write_text("same")
    (top / "log").write_text("one line\n")
    (tmp_path / "alone.txt").write_text("same")
    return top


def stamps(tree: Path) -> FileStamps | None:
    alone = [str(tree.parent / "alone.txt"), str(tree.parent / "absent.txt")]
    return stamp_files(alone, {str(tree): ["log", "inner/skipped"], str(tree.parent / "nowhere"): []})


def _overwrite(path: Path) -> None:
    """Another text of the same length, with the times of before."""
    before = path.stat()
    path.write_text("SAME")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [
    lambda tree: _overwrite(tree / "a.txt"),
    lambda tree: _overwrite(tree / "inner/b.txt"),
    lambda tree: _overwrite(tree.parent / "alone.txt"),
    lambda tree: (tree / "inner/c.txt").write_text(""),
    lambda tree: (tree / "inner/new").mkdir(),
    lambda tree: (tree / "empty").rmdir(),
    lambda tree: (tree / "a.txt").unlink(),
    lambda tree: (tree / "a.txt").chmod(0o600),
    lambda tree: (tree / "a.txt").rename(tree / "inner/a.txt"),
    lambda tree: (tree.parent / "absent.txt").write_text(""),
    lambda tree: (tree.parent / "nowhere").mkdir(),
])  # fmt: skip
def test_a_change_is_seen(tree: Path, change: Callable[[Path], object]) -> None:
    before = stamps(tree)
    change(tree)
    assert before is not None
    assert stamps(tree) not in (None, before)


def test_what_is_left_out_and_compiled_code_do_not_matter(tree: Path) -> None:
    before = stamps(tree)
    (tree / "log").write_text("two lines\n\n")
    (tree / "inner" / "__pycache__").mkdir()
    (tree / "inner" / "skipped").write_text("")
    (tree / "a.txt").read_text()
    assert before is not None
    assert stamps(tree) == before


def test_the_newest_change_is_known(tree: Path) -> None:
    before = stamps(tree)
    (tree / "inner" / "b.txt").write_text("later")
    after = stamps(tree)
    assert before is not None
    assert after is not None
    assert before.newest <= after.newest == (tree / "inner" / "b.txt").stat().st_ctime_ns


def test_a_file_that_went_is_a_new_change(tree: Path) -> None:
    """Otherwise a file that goes while a build reads it would never be missed."""
    folder = tree / "empty"
    (folder / "c.txt").write_text("")
    before = stamps(tree)
    (folder / "c.txt").unlink()
    after = stamps(tree)
    (tree / "log").unlink()  # it is left out, so its folder changes all the time
    assert before is not None
    assert after is not None
    assert before.newest < after.newest == folder.stat().st_ctime_ns
    assert stamps(tree) == after


@pytest.mark.parametrize("odd", [
    lambda tree: (tree / "link").symlink_to(tree.parent),
    lambda tree: (tree / "link").symlink_to("nowhere"),
    lambda tree: os.mkfifo(tree / "pipe"),
])  # fmt: skip
def test_there_are_no_stamps_of_links_to_folders_and_of_pipes(tree: Path, odd: Callable[[Path], object]) -> None:
    odd(tree)
    assert stamps(tree) is None
