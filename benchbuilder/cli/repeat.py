"""Says again what an unchanged build said, if nothing that it looked at has changed; nothing is composed or imported.

What a build said that made nothing is kept in the user's cache folder, under a digest of the command, the folder, the
environment and the interpreter (see `benchbuilder.cli.remember`). It is said again only if the stamps of all files that
the build looked at are the same, and what it had compared with checksums still has them. Anything else goes the whole
way, so a wrong answer would need a file that changed without its times.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchbuilder.config import read_cached, user_cache_folder
from benchbuilder.core import file_checksum, stamp_files

_OF_SHELLS = frozenset({"_", "OLDPWD", "PWD", "SHLVL"})
"""Variables that shells change from command to command, and that nothing reads."""


class GivenCommand(NamedTuple):
    """A command: its `words`, the `file` that keeps what it said before, and when it `began`, in nanoseconds."""

    words: tuple[str, ...]
    file: Path
    began: int


def given_command(words: Sequence[str]) -> GivenCommand:
    """The command, whose file no other one has: with other words, folder, environment, user, Python or machine."""
    environment = sorted((name, value) for name, value in os.environ.items() if name not in _OF_SHELLS)
    python = (sys.version, sys.executable, sys.prefix, sys.path, sys.flags)
    parts = repr((list(words), os.getcwd(), environment, os.geteuid(), python, os.uname()))  # noqa: PTH109 - as text
    name = hashlib.sha256(parts.encode(errors="surrogateescape")).hexdigest()
    return GivenCommand(tuple(words), user_cache_folder(os.environ) / "repeats" / f"{name}.json", time.time_ns())


def repeat_build(command: GivenCommand) -> bool:
    """Say what this command said last time, and write that into the run log; False if anything might have changed."""
    started, clock = datetime.now(UTC), time.perf_counter()
    text = None
    with suppress(OSError, KeyError, TypeError, ValueError):
        if (kept := read_cached(command.file)) is not None:
            with _held(kept["lock"]):
                if is_unchanged(kept):
                    run = {**kept["run"], "started": started.isoformat(timespec="seconds"),
                           "seconds": round(time.perf_counter() - clock, 3)}  # fmt: skip
                    with open(kept["log"], "a", encoding="utf-8", newline="\n", opener=_open_file) as log:
                        log.write(json.dumps(run, ensure_ascii=False) + "\n")
                    text = str(kept["text"])
    if text is None:
        return False
    sys.stdout.write(text)
    sys.stdout.flush()
    return True


def is_unchanged(kept: dict[str, Any]) -> bool:
    """Whether all files that a build looked at are as they were."""
    stamps = stamp_files(kept["files"], kept["trees"])
    return (
        stamps is not None
        and stamps.digest == kept["stamps"]
        and all(file_checksum(Path(path)) == checksum for path, checksum in kept["checksums"].items())
    )


def _open_file(path: str, flags: int) -> int:
    """Open what is neither a link nor a pipe; OSError otherwise."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


@contextmanager
def _held(lock: str) -> Generator[None]:
    """Hold the lock of a build's folder as a build does; OSError if a build is at work."""
    import fcntl  # which Windows lacks

    handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
