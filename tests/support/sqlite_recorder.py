"""Reports what SQLite writes, syncs and removes in this process: Python does not see it."""

from __future__ import annotations

import _sqlite3
import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path
from typing import Any, ClassVar

_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)  # a name is more than its characters
_DELETE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_CLOSE = CFUNCTYPE(c_int, c_void_p)
_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


class _Vfs(ctypes.Structure):
    _fields_: ClassVar = [
        ("version", c_int), ("file_size", c_int), ("longest_path", c_int), ("next", c_void_p), ("name", c_char_p),
        ("data", c_void_p), ("open", _OPEN), ("delete", _DELETE),
    ]  # fmt: skip


class _Methods(ctypes.Structure):
    _fields_: ClassVar = [
        ("version", c_int), ("close", _CLOSE), ("read", c_void_p), ("write", _WRITE), ("truncate", _TRUNCATE),
        ("sync", _SYNC), ("others", c_void_p * 13),
    ]  # fmt: skip


class _File(ctypes.Structure):
    _fields_: ClassVar = [("methods", POINTER(_Methods))]


@contextmanager
def record_sqlite(
    wrote: Callable[[Path, int, bytes | None], None], synced: Callable[[Path], None], removed: Callable[[Path], None]
) -> Generator[None]:
    """Call `wrote` after each write (with the data; ``None`` for a cut), `synced` and `removed` with the path.

    Files that are open already are not reported. The first sync of a log also syncs the folder, as SQLite does it.
    """
    find: Any = ctypes.CDLL(_sqlite3.__file__).sqlite3_vfs_find
    find.restype = POINTER(_Vfs)
    vfs = find(None).contents
    spy = _Spy(vfs, wrote, synced, removed)
    vfs.open, vfs.delete = spy.on_open, spy.on_delete
    try:
        yield
    finally:
        vfs.open, vfs.delete = spy.real_open, spy.real_delete
        _kept.append(spy)  # files may still be open


_kept: list[Any] = []


class _Spy:
    def __init__(
        self, vfs: Any, wrote: Callable[[Path, int, bytes | None], None], synced: Callable[[Path], None],
        removed: Callable[[Path], None],
    ) -> None:  # fmt: skip
        self.real_open, self.real_delete = _copied(vfs.open, _OPEN), _copied(vfs.delete, _DELETE)
        self._wrote, self._synced, self._removed = wrote, synced, removed
        self._paths: dict[int, Path] = {}
        self._folder_synced: set[Path] = set()
        self._methods: dict[int, tuple[Any, Any]] = {}
        self.on_open, self.on_delete = _OPEN(self._open), _DELETE(self._delete)

    def _open(self, vfs: int, name: int | None, file: int, flags: int, result: int) -> int:
        code: int = self.real_open(vfs, name, file, flags, result)
        handle = _File.from_address(file)
        if not code and name and handle.methods:
            path = Path(ctypes.string_at(name).decode())
            self._paths[file] = path
            address = ctypes.cast(handle.methods, c_void_p).value or 0
            if address not in self._methods:
                self._methods[address] = self._wrapped(handle.methods.contents)
            handle.methods = ctypes.pointer(self._methods[address][0])
            self._wrote(path, path.stat().st_size, b"")  # a new file is noticed
        return code

    def _wrapped(self, real: Any) -> tuple[Any, Any]:
        wrapped = _Methods.from_buffer_copy(real)
        write, cut, sync = _copied(real.write, _WRITE), _copied(real.truncate, _TRUNCATE), _copied(real.sync, _SYNC)

        def on_write(file: int, data: int, count: int, start: int) -> int:
            code: int = write(file, data, count, start)
            self._wrote(self._paths[file], start, ctypes.string_at(data, count))
            return code

        def on_cut(file: int, size: int) -> int:
            code: int = cut(file, size)
            self._wrote(self._paths[file], size, None)
            return code

        def on_sync(file: int, flags: int) -> int:
            code: int = sync(file, flags)
            path = self._paths[file]
            self._synced(path)
            if path.name.endswith(("-wal", "-journal")) and path not in self._folder_synced:
                self._folder_synced.add(path)
                self._synced(path.parent)
            return code

        wrapped.write, wrapped.truncate, wrapped.sync = _WRITE(on_write), _TRUNCATE(on_cut), _SYNC(on_sync)
        return wrapped, real

    def _delete(self, vfs: int, name: int, sync_folder: int) -> int:
        path = Path(ctypes.string_at(name).decode())
        self._removed(path)
        self._folder_synced.discard(path)
        code: int = self.real_delete(vfs, name, sync_folder)
        if sync_folder:
            self._synced(path.parent)
        return code


def _copied(function: Any, kind: Any) -> Any:
    """A function pointer that does not change when its field does."""
    return kind(ctypes.cast(function, c_void_p).value)
