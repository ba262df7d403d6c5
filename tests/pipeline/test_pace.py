"""How far a step is, how fast it goes, and when it will end."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from benchbuilder.pipeline.progress import BarProgress, LineProgress
from benchbuilder.pipeline.run_node import _summary  # pyright: ignore[reportPrivateUsage]


def test_a_slow_step_writes_a_line_a_minute_with_its_expected_end():
    now = [0.0]
    written = io.StringIO()
    lines = LineProgress(Console(file=written, width=200), clock=lambda: now[0])
    lines.begin("answer.m", 100, "rows")
    for seconds in range(1, 151):
        now[0] = float(seconds)
        if seconds % 5 == 0:
            lines.advance("answer.m", 1)
    lines.end("answer.m", "built    100 rows")
    assert [line.split(maxsplit=1) for line in written.getvalue().splitlines()] == [
        ["answer.m", "12 of 100 rows, 12 a minute, 7 min 20 s left"],
        ["answer.m", "24 of 100 rows, 12 a minute, 6 min 20 s left"],
        ["answer.m", "built    100 rows"],
    ]


def test_a_quick_step_writes_its_end_only():
    written = io.StringIO()
    lines = LineProgress(Console(file=written), clock=lambda: 0.0)
    lines.begin("s", None, "rows")
    lines.advance("s", 5)
    lines.end("s", "built")
    assert len(written.getvalue().splitlines()) == 1


def test_a_bar_shows_the_time_that_is_left():
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    with BarProgress(console) as bars:
        bars.begin("s", 10, "rows")
        bars.advance("s", 5)
        (task,) = bars._progress.tasks
        assert task.fields["left"].endswith("left")
        bars.end("s", "built")


@pytest.mark.parametrize(
    ("lost", "line"),
    [
        ({}, "100 rows"),
        ({"off_topic": 1}, "99 rows, 1 dropped: off_topic"),
        ({"repeated": 3, "shared": 4}, "93 rows, 7 dropped: 4 shared, 3 repeated"),
        ({"a": 9, "b": 8, "c": 7, "d": 2, "e": 1}, "73 rows, 27 dropped: 9 a, 8 b, 7 c, 3 more"),
    ],
)
def test_a_step_that_loses_rows_says_why(lost: dict[str, int], line: str):
    kept = 100 - sum(lost.values())
    counts = [("a", "kept", "", kept), *(("a", "dropped", reason, n) for reason, n in lost.items())]
    manifest: Any = SimpleNamespace(rows=kept, counts=counts)
    assert _summary(manifest) == line
