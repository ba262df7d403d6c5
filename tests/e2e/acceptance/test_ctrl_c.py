"""Builds that are stopped by Ctrl-C: replies in flight are awaited, and nothing is asked again."""

from __future__ import annotations

import json
import signal
import sqlite3
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from acceptance_bench import Sample
from patience import patience, until


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


@pytest.mark.full
def test_ctrl_c_keeps_everything_answered(sample: Callable[..., Sample]) -> None:
    whole = sample("whole")
    assert whole.build().code == 0
    once = whole.asked()
    build = sample()
    build.server.reset()
    build.server.configure(keep_bodies=True, latency_s=0.3)
    process = build.start()
    until(lambda: build.requests() >= 20 or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=patience())
    assert process.returncode == 130, said
    assert "stopped; committed steps are kept" in said
    log = build.server.log()
    assert all(entry["status"] == 200 for entry in log)
    assert {messages(entry) for entry in log} == journaled(build)
    build.server.configure(latency_s=0.02)
    assert build.build().code == 0
    assert build.asked() == once
