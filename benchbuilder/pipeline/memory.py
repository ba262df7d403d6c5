"""Measures the memory of the processes of a build."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

_RESET_PEAK = b"5"
_HEAPS = 2
_M_ARENA_MAX = -8
"""The number of this setting in the header of glibc."""


def reset_peak_memory(workers: Iterable[int]) -> None:
    """Reset the peak memory of this process and of worker processes; on Linux only."""
    for process in ("self", *workers):
        with contextlib.suppress(OSError):
            Path(f"/proc/{process}/clear_refs").write_bytes(_RESET_PEAK)


def share_heaps() -> None:
    """Let all threads share two heaps: what one thread freed, others use again. With glibc, for threads to come.

    Whoever set `MALLOC_ARENA_MAX` keeps it.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)


def release_free_memory() -> None:
    """Return freed memory to the system instead of keeping it for later."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # glibc


def peak_memory_mb(workers: Iterable[int]) -> float:
    """The sum of the peak resident memory of this process and the worker processes, in megabytes.

    Since `reset_peak_memory`; on macOS, the peak of this process since its start; on Windows 0.
    """
    peaks = [peak for process in ("self", *workers) if (peak := _peak_kb(str(process))) is not None]
    if not peaks:
        if sys.platform == "win32":
            return 0.0
        import resource  # not on Windows

        unit = 2**20 if sys.platform == "darwin" else 2**10
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
    return round(sum(peaks) / 1024, 1)


def _peak_kb(process: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return None
