"""The memory of the process of a build."""

from __future__ import annotations

import subprocess
import sys

import pytest
from engine_bench import Bench

from benchbuilder.pipeline import build

HEAPS = """
import ctypes, sys, threading
from benchbuilder.pipeline.memory import share_heaps
share_heaps()
meet = threading.Barrier(16)
def work():
    ctypes.CDLL(None).free(ctypes.c_void_p(None))
    meet.wait()
    held = [bytes(100_000) for _ in range(10)]
    meet.wait()
threads = [threading.Thread(target=work) for _ in range(16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
libc.malloc_info(0, ctypes.c_void_p(libc.fdopen(1, b"w")))
libc.fflush(None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a setting of glibc")
def test_threads_share_two_heaps() -> None:
    told = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True).stdout
    assert told.count("<heap nr=") == 2


def test_a_build_has_its_threads_share_heaps(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[bool] = []
    monkeypatch.setattr(build, "share_heaps", lambda: called.append(True))
    bench.build()
    assert called == [True]
