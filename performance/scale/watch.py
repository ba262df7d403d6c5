"""What a command needs: seconds, the memory of its whole process tree, the bytes it read, the files it opened."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MB = 1e6
EVERY_S, EVERY_SHARED = 0.05, 10
"""Seconds between two looks at the process tree; of every tenth the memory is shared out, which costs more."""
IN_OPEN, IN_ACCESS, IN_NONBLOCK = 0x20, 0x1, 0o4000
_EVENT = struct.Struct("iIII")


@dataclass(frozen=True)
class Needed:
    """Of a command and all that it started. None where the system does not tell (all but the time: Linux only).

    `tree_mb` adds up the resident memory of the processes at one moment: what they share counts in each of them.
    `shared_mb` counts that once. `process_mb` is the most that any process had by itself. `read_mb` is what system
    calls read, from files and pipes; files that are mapped into memory are not part of it.
    """

    code: int
    seconds: float
    processor_s: float
    tree_mb: float | None
    shared_mb: float | None
    process_mb: float | None
    read_mb: float | None
    output: str


def run(command: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None) -> Needed:
    """Run `command` in `folder` to its end, watching it."""
    read, worked = _read(), _worked()
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, **(environ or {})}, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process, Tree(process.pid) as tree:  # fmt: skip
        assert process.stdout is not None
        output = process.stdout.read()
        code = process.wait()
        took = time.perf_counter() - began
    now = _read()
    read_mb = None if read is None or now is None else (now - read) / MB
    return Needed(code, took, _worked() - worked, *tree.peaks(), read_mb, output)


class Tree:
    """Looks at a process and its descendants, again and again, while the block runs."""

    def __init__(self, root: int) -> None:
        self.root = root
        self._tree = self._shared = 0.0
        self._own: dict[int, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Tree:
        if sys.platform == "linux":
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def peaks(self) -> tuple[float | None, float | None, float | None]:
        """Megabytes: the tree, the tree with shared memory counted once, and the largest process."""
        if not self._own:
            return None, None, None
        return self._tree, self._shared or None, max(self._own.values())

    def _watch(self) -> None:
        for turn in _turns(self._done):
            members = descendants(self.root)
            sizes = [_status(member) for member in members]
            self._tree = max(self._tree, sum(now for now, _ in sizes))
            for member, (_, most) in zip(members, sizes, strict=True):
                self._own[member] = max(self._own.get(member, 0.0), most)
            if turn % EVERY_SHARED == 0:
                self._shared = max(self._shared, sum(map(_proportional, members)))


def _turns(done: threading.Event) -> Iterator[int]:
    turn = 0
    while not done.wait(EVERY_S):
        yield turn
        turn += 1


def descendants(root: int) -> list[int]:
    """The process `root` and all that it started, directly or not, and that still run."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - twenty times a second
        if entry.isdecimal():
            with contextlib.suppress(OSError):
                stat = Path(f"/proc/{entry}/stat").read_bytes()
                parent = int(stat[stat.rindex(b")") + 2 :].split()[1])
                parents.setdefault(parent, []).append(int(entry))
    found = [root]
    for process in found:
        found += parents.get(process, ())
    return found


def _status(process: int) -> tuple[float, float]:
    """Megabytes that the process has resident now, and had at most."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_bytes().splitlines()
        held = {line[:5]: int(line.split()[1]) * 1024 / MB for line in lines if line.startswith((b"VmRSS", b"VmHWM"))}
        return held.get(b"VmRSS", 0.0), held.get(b"VmHWM", 0.0)
    return 0.0, 0.0


def _proportional(process: int) -> float:
    """Megabytes of the process, what it shares with others divided among them."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024 / MB
    return 0.0


def _read() -> int | None:
    """Bytes that system calls of this process, and of those that it waited for, have read."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return int(next(line for line in lines if line.startswith("rchar:")).split()[1])


def _worked() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Opened:
    """Counts how often any process opens or reads one of some files while the block runs, as the kernel tells it.

    `counts` is None where there is no inotify. Looking at size and time of a file is not opening it.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.counts: dict[str, int] | None = None

    def __enter__(self) -> Opened:
        self._queue = -1
        if sys.platform != "linux":
            return self
        libc = ctypes.CDLL(None, use_errno=True)
        self._queue = libc.inotify_init1(IN_NONBLOCK)
        watched = [libc.inotify_add_watch(self._queue, os.fsencode(file), IN_OPEN | IN_ACCESS) for file in self.files]
        if self._queue >= 0 and min(watched, default=0) < 0:
            raise OSError(ctypes.get_errno(), "a file cannot be watched")
        return self

    def __exit__(self, *_: object) -> None:
        if self._queue < 0:
            return
        found = Counter[str]()
        with contextlib.suppress(BlockingIOError):
            while events := os.read(self._queue, 1 << 16):
                at = 0
                while at < len(events):
                    _, mask, _, length = _EVENT.unpack_from(events, at)
                    found["opened" if mask & IN_OPEN else "read"] += 1
                    at += _EVENT.size + length
        os.close(self._queue)
        self.counts = {"opened": found["opened"], "read": found["read"]}
