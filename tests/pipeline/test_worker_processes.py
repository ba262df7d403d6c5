"""Workers of this machine: they let go of what is over, and end when they are told to."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from held_work import Held, opened

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.pipeline.executors.local import LocalExecutor


@pytest.fixture(name="executor", scope="module")
def _executor() -> Iterator[LocalExecutor]:
    with contextlib.closing(LocalExecutor(KindSpec(kind="local"), 2)) as executor:
        yield executor


def _pool(executor: LocalExecutor) -> Any:
    return getattr(executor, "_pool")  # noqa: B009


def test_workers_forget_a_step_that_is_over(executor: LocalExecutor, tmp_path: Path) -> None:
    assert list(executor.map(Held("one", slow=0.3), range(4), tmp_path)) == [0, 1, 2, 3]
    made = {(tmp_path / str(index)).read_text(encoding="utf-8") for index in range(4)}
    assert made == {f"{process} [1]" for process in executor.processes()}
    held = dict(_pool(executor).map(opened, range(2)))
    assert held == {process: [] for process in executor.processes()}


def test_an_error_stops_the_others_soon_and_the_workers_go_on(executor: LocalExecutor, tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="no shard 1"):
        list(executor.map(Held("two", slow=0.05, bad=1), range(200), tmp_path))
    assert len(list(tmp_path.glob("begun-*"))) < 20
    assert len(list(executor.map(Held("three"), range(5), tmp_path))) == 5


def test_an_interrupt_does_not_wait_for_the_shards_at_work(executor: LocalExecutor, tmp_path: Path) -> None:
    def interrupt() -> None:
        while len(list(tmp_path.glob("begun-*"))) < 2:
            time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    main, began = threading.get_ident(), time.monotonic()
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        list(executor.map(Held("slow", slow=60), range(4), tmp_path))
    assert time.monotonic() - began < 30
    assert not executor.processes()
    assert list(executor.map(Held("again"), range(3), tmp_path)) == [0, 1, 2]
