"""Stamps of files and folders: kind, size, times and inode. They tell whether anything changed, and nothing is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from xxhash import xxh3_128_hexdigest

_MOST = 50_000
"""The most files and folders of which stamps are taken."""
_SKIPPED = "__pycache__"


class FileStamps(NamedTuple):
    """A `digest` of many stamps, and the time of the `newest` change among them, in nanoseconds.

    A name that came or went changes its folder, unless something beside it is left out.
    """

    digest: str
    newest: int


def stamp_files(paths: Iterable[str], trees: Mapping[str, Collection[str]]) -> FileStamps | None:
    """Stamps of what is at `paths`, or that nothing is there, and of everything below the folders `trees`.

    Each tree has the relative names of what is left out of it; folders with compiled Python always are. The time of a
    folder in `paths` is part of its stamp: it tells whether a name came or went. A link is what it leads to.

    Args:
        paths: Files and folders, which need not exist.
        trees: Folders, which need not exist.

    Returns:
        None if there are too many, or a link to a folder, a device, a pipe or something unreadable is in a tree.
    """
    lines: list[str] = []
    newest = 0
    try:
        for path in paths:
            found = _stat(path)
            lines.append(f"{path}\0{found and _stamp(found)}")
            newest = max(newest, _changed(found) if found else 0)
        for top, left_out in trees.items():
            lines.append(f"{top}\0{(found := _stat(top)) and found.st_ino}")
            busy = {os.path.dirname(os.path.join(top, name)) for name in left_out}  # noqa: PTH118, PTH120 - as below
            newest = max(newest, _changed(found) if found and top not in busy else 0)
            for path, below in _walk(top, left_out) if found else ():
                is_folder = stat.S_ISDIR(below.st_mode)
                lines.append(f"{path}\0{None if is_folder else _stamp(below)}")
                newest = max(newest, 0 if is_folder and path in busy else _changed(below))
                if len(lines) > _MOST:
                    return None
    except (OSError, ValueError):
        return None
    return FileStamps(xxh3_128_hexdigest("\n".join(lines).encode(errors="surrogateescape")), newest)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 - thousands of paths, and no object for each
    except (FileNotFoundError, NotADirectoryError):
        return None


def _stamp(found: os.stat_result) -> str:
    return f"{found.st_mode} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def _changed(found: os.stat_result) -> int:
    return max(found.st_mtime_ns, found.st_ctime_ns)


def _walk(top: str, left_out: Collection[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Every file and folder below a folder with what the system says of it; ValueError for other things."""
    skipped = {os.path.join(top, name) for name in left_out}  # noqa: PTH118 - as above
    waiting = [top]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.path in skipped or entry.name == _SKIPPED:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                    yield entry.path, entry.stat(follow_symlinks=False)
                    continue
                found = entry.stat()
                if not stat.S_ISREG(found.st_mode):
                    raise ValueError(entry.path)
                yield entry.path, found
