"""Behaves, on Linux, as Windows does where it differs for a program that writes files; for every process on its path.

Text files get the line ends and the encoding of the system unless the program names them. A file that any process has
open is neither replaced nor removed, nor is a folder with one renamed. Names that Windows refuses are refused, and a
second name that differs in case only too.
"""

from __future__ import annotations

import builtins
import errno
import importlib.machinery
import io
import locale
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

HERE = os.environ.get("FAKE_WINDOWS_BELOW", "")
"""The folder in which names and open files count."""
RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{name}{number}" for name in ("COM", "LPT") for number in range(1, 10))}
_OF_LIBRARIES = (".filelock-probe-",)
_open, _os_open = io.open, os.open


def _counts(path: Any) -> bool:
    return bool(HERE) and os.path.abspath(os.fspath(path)).startswith(HERE + os.sep)  # noqa: PTH100


def _fault(path: Any, code: int, text: str) -> OSError:
    return OSError(code, f"on Windows: {text}", os.fspath(path))


def _check_name(path: Any) -> None:
    relative = os.path.relpath(os.fspath(path), HERE)
    for part in relative.split(os.sep):  # noqa: PTH206
        stem = part.partition(".")[0].rstrip(" ").upper()
        if stem in RESERVED or set(part) & set('<>:"|?*\\') or (part != part.rstrip(" .") and part not in (".", "..")):
            raise _fault(path, errno.EINVAL, f"no file may have the name {part!r}")
    folder, name = os.path.split(os.path.abspath(os.fspath(path)))  # noqa: PTH100
    if os.path.isdir(folder):  # noqa: PTH112
        for other in os.listdir(folder):  # noqa: PTH208
            if other != name and other.casefold() == name.casefold():
                raise _fault(path, errno.EEXIST, f"{other} is the same file")


def _processes() -> Iterator[str]:
    group = os.getpgid(0)
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            if os.getpgid(int(pid)) == group:
                yield pid
        except OSError:
            continue


def _held(pid: str, reals: list[str]) -> Iterator[str]:
    """What a process has open: every file, and those of its memory whose name has one of these in it."""
    with suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            with suppress(OSError):  # what this very loop has open is closed again
                yield os.readlink(f"/proc/{pid}/fd/{fd}")  # noqa: PTH115
        with _open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                if any(real in line for real in reals):  # most of them are libraries
                    yield line.split(maxsplit=5)[5].rstrip("\n")


def _check_closed(*paths: Any, below: bool = False) -> None:
    """PermissionError if a process of this group has one of these files open, or, of a folder, one below.

    Files of libraries do not count: those have chosen their code for this system.
    """
    names = [os.path.basename(os.fsdecode(path)) for path in paths]  # noqa: PTH119
    paths = tuple(path for path, name in zip(paths, names, strict=True) if not name.startswith(_OF_LIBRARIES))
    reals = [os.path.realpath(os.fspath(path)) for path in paths]
    for pid in _processes():
        for file in _held(pid, reals):
            for path, real in zip(paths, reals, strict=True):
                if file == real or (below and file.startswith(real + os.sep)):
                    raise _fault(path, errno.EACCES, f"process {pid} has it open")


def _fake_open(
    file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, *rest: Any, **more: Any
) -> Any:
    if isinstance(file, int) or not _counts(file):
        return _open(file, mode, buffering, encoding, *rest, **more)
    if set(mode) & set("wax+"):
        _check_name(file)
    if "b" not in mode and encoding in (None, "locale"):
        encoding = "cp1252"
    newline = rest[1] if rest[1:] else more.get("newline")
    if "b" not in mode and set(mode) & set("wax") and newline is None:
        rest, more = rest[:1], {**more, "newline": "\r\n"}
    return _open(file, mode, buffering, encoding, *rest, **more)


def _fake_os_open(path: Any, flags: int, *rest: Any, **more: Any) -> int:
    if _counts(path) and os.path.isdir(path):  # noqa: PTH112
        raise _fault(path, errno.EACCES, "a folder cannot be opened")
    return _os_open(path, flags, *rest, **more)


def _guard(name: str, check: Callable[..., None]) -> None:
    real = getattr(os, name)

    def guarded(path: Any, *rest: Any, **more: Any) -> Any:
        if not isinstance(path, int) and more.get("dir_fd") is None and _counts(path):
            check(path, *rest)
        return real(path, *rest, **more)

    setattr(os, name, guarded)


def _check_rename(source: Any, target: Any) -> None:
    _check_replace(source, target)
    if os.path.lexists(target):
        raise _fault(target, errno.EEXIST, "rename does not replace")


def _check_replace(source: Any, target: Any) -> None:
    _check_name(target)
    _check_closed(source, target, below=True)
    if os.path.isdir(target):  # noqa: PTH112
        raise _fault(target, errno.EACCES, "a folder is not replaced")


def _make() -> None:
    io.open = builtins.open = _fake_open  # type: ignore[assignment]
    os.open = _fake_os_open
    _guard("replace", _check_replace)
    _guard("rename", _check_rename)
    for name in ("unlink", "remove", "rmdir"):
        _guard(name, lambda path, *_: _check_closed(path))
    _guard("mkdir", lambda path, *_: _check_name(path))
    locale.getpreferredencoding = lambda do_setlocale=True: "cp1252"


class _System:
    """`sys` with another platform."""

    platform = "win32"

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


class _Finder:
    """Gives the program's modules, not its libraries, which have chosen their code for this system, another `sys`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith("benchbuilder."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            real: Any = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                real(module)
                if getattr(module, "sys", None) is sys:
                    module.sys = _System()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if HERE:
    _make()
    sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
