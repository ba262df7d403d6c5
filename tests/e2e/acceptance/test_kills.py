"""Builds that are killed and stopped: nothing that was answered is asked again, and nothing comes out otherwise."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from acceptance_bench import Sample

KILLS = 10


def journaled(sample: Sample) -> set[str]:
    """The messages of every request whose reply is on disk."""
    file = sample.folder / "replies.sqlite"
    if not file.exists():
        return set()
    with sqlite3.connect(file) as journal:
        rows = journal.execute("SELECT request FROM bodies JOIN replies USING (id)").fetchall()
    journal.close()
    return {json.dumps(json.loads(zlib.decompress(row[0]))["messages"], sort_keys=True) for row in rows}


def messages(entry: dict[str, Any]) -> str:
    """The messages that the service saw."""
    return json.dumps([[turn["role"], turn["content"]] for turn in entry["body"]["messages"]], sort_keys=True)


@pytest.mark.e2e
def test_ten_kills_cost_only_what_was_in_flight(sample: Callable[..., Sample]) -> None:
    whole, torn = sample("whole"), sample("torn")
    whole.server.configure(keep_bodies=True)
    assert whole.build().code == 0
    once = whole.asked()
    assert len(once) > 200
    torn.server.reset()
    rng, kills = random.Random(20261120), 0
    while kills < KILLS:
        known, seen = journaled(torn), torn.requests()
        alive = torn.kill_at(rng.randint(1, 20))
        again = [entry["number"] for entry in torn.server.log(seen) if messages(entry) in known]
        assert not again, f"journaled replies were asked for again: {again}"
        if not alive:
            break
        kills += 1
    assert kills == KILLS, "the build ended before it was killed often enough"
    last = torn.build()
    assert last.code == 0, last.said
    asked = torn.asked()
    assert asked.keys() == once.keys()
    assert (asked - once).total() <= 8 * kills  # at most the requests in flight, per kill
    assert torn.made() == whole.made()


@pytest.mark.e2e
def test_ctrl_c_keeps_everything_answered(sample: Callable[..., Sample]) -> None:
    whole = sample("whole")
    assert whole.build().code == 0
    once = whole.asked()
    build = sample()
    build.server.reset()
    build.server.configure(keep_bodies=True, latency_s=0.3)
    process = build.start()
    while build.requests() < 20:
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "stopped; committed steps are kept" in said
    log = build.server.log()
    assert all(entry["status"] == 200 for entry in log)
    assert {messages(entry) for entry in log} == journaled(build)
    build.server.configure(latency_s=0.02)
    assert build.build().code == 0
    assert build.asked() == once
