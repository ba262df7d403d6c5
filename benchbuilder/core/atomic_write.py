"""Writing a file whole or not at all, and so that a power cut does not take it back."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

_NO_SYNC_OF_FOLDERS = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
"""What some network file systems answer, which write names at once."""
_WAITS_S = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
_SYNCED_AT_ONCE = 8
"""File systems write their own records once for all syncs that arrive together."""
_TEMPORARY = re.compile(r".+\.[0-9a-f]{16}\.tmp", re.DOTALL)
"""Names that nobody can foresee: whoever made the folder could have put a link at any other."""
_ABANDONED_S = 24 * 3600
_LONGEST_NAME = 255
"""Bytes."""


@contextmanager
def atomic_path(path: Path, *, sync: bool = True) -> Generator[Path]:
    """A temporary path for a writer that streams; renamed to `path` if the block ends without an error.

    With `sync`, the content is on disk before the rename, and the rename at the end. Leave it out for files that a
    group syncs later (see `sync_paths`), and for those that are checked before they are used. An error of the system
    names `path`.
    """
    with name_file_in_errors(path):
        make_folder(path.parent)
        with _named_as(path, temporary := _temporary_beside(path)):
            _create(temporary, path)
            try:
                yield temporary
                if sync:
                    sync_paths([temporary])
                move_into_place(temporary, path)
            except BaseException:
                with suppress(OSError):
                    temporary.unlink()
                raise
        if sync:
            sync_paths([path.parent])


def make_folder_beside(path: Path) -> Path:
    """A new empty folder with a temporary name beside `path`, to fill and to move there.

    Those that killed processes left beside `path` are removed.
    """
    make_folder(path.parent)
    for other in path.parent.iterdir():
        if other.name.startswith(path.name) and is_abandoned(other):
            shutil.rmtree(other, ignore_errors=True)
    folder = _temporary_beside(path)
    folder.mkdir()
    return folder


def is_temporary(path: Path) -> bool:
    """Whether a name is one that files and folders have here while they are written."""
    return _TEMPORARY.fullmatch(path.name) is not None


def is_abandoned(path: Path) -> bool:
    """Whether a process that was killed left this file, a day ago or earlier."""
    with suppress(OSError):
        return is_temporary(path) and time.time() - path.lstat().st_mtime > _ABANDONED_S
    return False


def _temporary_beside(path: Path) -> Path:
    end = f".{secrets.token_hex(8)}.tmp"
    return path.with_name(os.fsdecode(os.fsencode(path.name)[: _LONGEST_NAME - len(end)]) + end)


def _create(temporary: Path, target: Path) -> None:
    """Create a file that is none and no link yet, with the mode of the file that it will replace."""
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        with suppress(FileNotFoundError):
            if sys.platform != "win32" and stat.S_ISREG(mode := target.lstat().st_mode):
                os.fchmod(handle, stat.S_IMODE(mode))
    finally:
        os.close(handle)


@contextmanager
def _named_as(path: Path, temporary: Path) -> Generator[None]:
    """Name the file that was to be written, not its temporary name."""
    try:
        yield
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = str(path)
        raise


def write_atomically(path: Path, data: bytes | str, *, sync: bool = True) -> Path:
    """Write `data` (text as UTF-8, line ends unchanged) under a temporary name, then rename; returns `path`.

    `sync` is that of `atomic_path`.
    """
    with atomic_path(path, sync=sync) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def move_into_place(source: Path, target: Path) -> None:
    """Rename a file or folder; a file at `target` is replaced.

    On Windows nobody can rename what another program has open. Virus scanners and indexers open what is new, for a
    moment: the rename is tried again, for up to two seconds.
    """
    for wait_s in _WAITS_S if sys.platform == "win32" else ():
        try:
            source.replace(target)
            return
        except PermissionError:
            time.sleep(wait_s)
    source.replace(target)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if they are missing; the names of new ones are on disk at the end."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_paths([path.parent])


def sync_paths(paths: Iterable[Path]) -> None:
    """Put files, and the names in folders, on disk: they survive a power cut. An error of the system names the path."""
    todo = list(dict.fromkeys(paths))
    if len(todo) == 1:
        _sync(todo[0])
    elif todo:
        with ThreadPoolExecutor(min(len(todo), _SYNCED_AT_ONCE)) as pool:
            list(pool.map(_sync, todo))


def sync_tree(folder: Path) -> None:
    """Put a folder, with all that is in it, on disk."""
    sync_paths([folder, *folder.rglob("*")])


def _sync(path: Path) -> None:
    windows, folder = sys.platform == "win32", path.is_dir()
    if windows and folder:
        return  # names are always written there
    with name_file_in_errors(path):
        handle = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
        try:
            if sys.platform == "darwin":
                import fcntl

                fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # fsync leaves the content in the cache of the disk
            else:
                os.fsync(handle)
        except OSError as error:
            if not folder or error.errno not in _NO_SYNC_OF_FOLDERS:
                raise
        finally:
            os.close(handle)


@contextmanager
def name_file_in_errors(path: Path) -> Generator[None]:
    """Name `path` in errors of the system that name no file: a full disk, a quota, too many open files."""
    try:
        yield
    except OSError as error:
        if error.errno is None and type(error) is OSError:  # of a library that keeps the reason to itself
            raise OSError(errno.EIO, str(error), str(path)) from error
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
