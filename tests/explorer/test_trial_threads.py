"""However many trials wait, other pages have threads, and only the newest trial of a step waits for its process."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from patience import until
from starlette.responses import Response

from benchbuilder.core import DataError
from benchbuilder.explorer.app.rule_bench import in_trial_threads
from benchbuilder.explorer.workbench.trial_process import BenchSettings, TrialProcess


def test_twenty_trials_at_once_leave_threads_to_other_pages() -> None:
    at_work, most, end = 0, 0, threading.Event()
    lock = threading.Lock()

    @in_trial_threads
    def handler(number: int) -> Response:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        end.wait()
        with lock:
            at_work -= 1
        return Response(str(number))

    async def serve() -> None:
        to_thread.current_default_thread_limiter().total_tokens = 8
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(partial(handler, number=number))
            await to_thread.run_sync(partial(until, lambda: at_work == 4))  # a thread of other pages
            end.set()

    anyio.run(serve)
    assert (at_work, most) == (0, 4)


def test_a_trial_that_a_newer_one_follows_waits_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = TrialProcess(BenchSettings((), (), Path(), "step"))

    def opened(_: Any) -> Any:
        raise DataError("it would be tried now")

    monkeypatch.setattr(TrialProcess, "_opened", opened)
    lock = trials._lock
    with ThreadPoolExecutor(5) as pool:
        with lock:  # a trial is at work
            tried = [pool.submit(trials.try_draft, "", whole=True) for _ in range(5)]
            until(lambda: sum(one.done() for one in tried) == 4, "they wait for the trial at work")
            assert [one.result() for one in tried if one.done()] == [None] * 4
        newest = next(one for one in tried if not one.done() or one.exception() is not None)
        with pytest.raises(DataError, match="it would be tried now"):
            newest.result()
