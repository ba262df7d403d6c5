"""Faults of a machine at a chosen moment of a command, in the process of the command itself.

An audit hook of the interpreter sees every rename and every file that Python opens, before it happens; a fault that
comes with one of them is as exact as no signal from outside can be. What happens then is real: a signal, a limit of the
system on the size of files, permissions of folders.
"""

from __future__ import annotations

import ctypes
import datetime
import errno
import fnmatch
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

VARIABLE = "BENCHBUILDER_TESTS_FAULT"
"""The environment variable that holds a fault as JSON.

`event` is ``rename``, ``open`` (for writing), ``read`` or ``send`` (to a service); with `path`, a pattern, only the
events of such files count. The fault comes before the event number `nth`, from 1, and is called `do`.
`place` is the folder of the build, and `mark` a file that is there once the fault has come.
"""
_NO_SPACE = 64
"""Bytes that a file may still have on a full disk: locks are taken, nothing of use is written."""
_CLOCK_BACK_S = 40 * 86400
_OVERRIDES_MODES = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: with them, a superuser writes into folders that are read-only."""


class Fault:
    """The fault of this process."""

    def __init__(self, event: str, do: str, mark: str, place: str, nth: int = 1, path: str = "*") -> None:
        self.event, self.pattern, self.left, self.do = event, path, nth, do
        self.mark, self.place = Path(mark), Path(place)

    def hear(self, event: str, path: str) -> None:
        """One event; the fault comes if it is the one that is waited for."""
        if event != self.event or self.left <= 0 or not fnmatch.fnmatch(path, self.pattern):
            return
        self.left -= 1
        if self.left == 0:
            self.mark.touch()
            getattr(self, f"_{self.do}")()

    def _kill(self) -> None:
        if os.getpgid(0) == os.getpid():  # with its workers
            os.killpg(0, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def _sigterm(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def _full_disk(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (_NO_SPACE, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    def _read_only(self) -> None:
        for folder, _, files in os.walk(self.place, topdown=False):
            for name in files:
                Path(folder, name).chmod(0o444)
            Path(folder).chmod(0o555)

    def _clock_back(self) -> None:
        real, began = time.time, datetime.datetime

        class Earlier(began):
            @classmethod
            def now(cls, tz: datetime.tzinfo | None = None) -> Any:
                return began.now(tz) - datetime.timedelta(seconds=_CLOCK_BACK_S)

        time.time = lambda: real() - _CLOCK_BACK_S
        for module in list(sys.modules.values()):
            if module.__name__.startswith("benchbuilder") and getattr(module, "datetime", None) is began:
                module.datetime = Earlier  # pyright: ignore[reportAttributeAccessIssue]

    def _change_source(self) -> None:
        """Write what the test has laid beside each source over it."""
        for new in Path(self.place).glob("**/*.changed"):
            new.with_suffix("").write_bytes(new.read_bytes())

    def _unplug(self) -> None:
        for name in ("send", "connect"):
            setattr(socket.socket, name, _unreachable(getattr(socket.socket, name)))

    def _wait(self) -> None:
        """Until the test removes the mark."""
        while self.mark.exists():
            time.sleep(0.01)


def _unreachable(real: Callable[..., Any]) -> Callable[..., Any]:
    """A method of sockets on a machine without a network."""

    def method(self: socket.socket, *values: Any) -> Any:
        if self.family == socket.AF_INET:
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))
        return real(self, *values)

    return method


def arm() -> None:
    """Let the fault that the environment names come in this process."""
    said = os.environ.get(VARIABLE)
    if not said:
        return
    _obey_modes()
    fault, busy = Fault(**json.loads(said)), False

    def hook(event: str, values: tuple[Any, ...]) -> None:
        nonlocal busy
        if busy or event not in ("os.rename", "open"):
            return
        busy = True
        try:
            if event == "os.rename":
                fault.hear("rename", os.fspath(values[1]))
            elif isinstance(values[0], str | bytes):
                writes = bool(values[2] & (os.O_WRONLY | os.O_RDWR))
                fault.hear("open" if writes else "read", os.fsdecode(values[0]))
        finally:
            busy = False

    sys.addaudithook(hook)
    send = socket.socket.send

    def counted(self: socket.socket, *values: Any) -> int:
        if self.family == socket.AF_INET:
            fault.hear("send", "")
        return send(self, *values)

    socket.socket.send = counted  # pyright: ignore[reportAttributeAccessIssue]


def _obey_modes() -> None:
    """Take from a superuser what lets them write into folders that are read-only; others have not got it."""
    if os.geteuid() != 0:
        return
    libc, header, sets = (
        ctypes.CDLL(None, use_errno=True),
        (ctypes.c_uint32 * 2)(0x20080522, 0),
        (ctypes.c_uint32 * 6)(),
    )
    if libc.capget(header, sets):
        raise OSError(ctypes.get_errno(), "capget")
    for number in _OVERRIDES_MODES:
        sets[0] &= ~(1 << number)  # those in force; those permitted are in place 1
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")
