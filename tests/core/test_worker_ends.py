"""A worker ends with the process that started it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import patience

PROGRAM = """
import multiprocessing, os
from concurrent.futures import ProcessPoolExecutor
from benchbuilder.core import begin_worker_process

def busy(count):
    print(os.getpid(), flush=True)
    return sum(range(count))  # the interpreter does nothing else until it ends

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    ProcessPoolExecutor(1, mp_context=context, initializer=begin_worker_process).submit(busy, 10**10).result()
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a busy interpreter ends later")
def test_a_busy_worker_ends_with_a_killed_parent(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = Path("/proc", parent.stdout.readline().strip())
        time.sleep(0.2)
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + patience()
        while _runs(worker) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not _runs(worker)


def _runs(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
