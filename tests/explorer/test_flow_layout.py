"""Where the picture of a flow puts its steps."""

from __future__ import annotations

from itertools import combinations

import pytest

from benchbuilder.explorer.app.flow_chart import JOINED, FlowBar, FlowLayout
from benchbuilder.explorer.reading.step_flow import FlowStep, LossCount

WIDTH = 1000.0


def step(name: str, row: str, rows: int, *each: str, lost: int = 0, **side: str) -> FlowStep:
    losses = (LossCount("dropped", "odd", "It is odd.", lost),) if lost else ()
    ports = {"each": each, **{port: (up,) for port, up in side.items()}} if each else {}
    return FlowStep(name, "kind", row, rows, rows + lost, rows, losses, ports, {}, "complete")


FLOW = [
    step("graph", "fact[triple]", 60, lost=3),
    step("exam", "fact[choice]", 40),
    step("pages", "passage", 90),
    step("same", "fact[triple]", 60, "graph"),
    step("true", "statement", 50, "same", lost=10),
    step("false", "statement", 20, "true", lost=30, texts="pages"),
    step("ask", "question", 70, "true", "false"),
    step("state", "statement", 30, "exam", lost=10),
    step("joined", "candidate", 100, "ask", "state", "true"),
    step("found", "evidence", 300, "joined", texts="pages"),
    step("items", "item", 80, "joined", lost=20, evidence="found"),
]


def placed(*, wide: bool) -> dict[str, FlowBar]:
    return FlowLayout(FLOW, WIDTH, wide=wide).bars


def test_lines_are_the_ways_of_rows_and_all_else_is_a_tag() -> None:
    bars = placed(wide=True)
    assert {name: bar.lines for name, bar in bars.items() if len(bar.step.inputs) > 1} == {
        "false": ("true",), "ask": ("false",), "joined": ("ask", "state"), "found": ("joined",), "items": ("joined",),
    }  # fmt: skip
    assert {name: bar.tags for name, bar in bars.items() if bar.tags} == {
        "false": ("pages",), "found": ("pages",), "items": ("found",),
    }  # fmt: skip
    assert {name: bar.earlier for name, bar in bars.items() if bar.earlier} == {"ask": 1, "joined": 1}
    assert [name for name, bar in bars.items() if bar.thin] == ["same", "found"]


def test_a_lane_is_a_kind_of_source_and_texts_stand_last() -> None:
    layout = FlowLayout(FLOW, WIDTH, wide=True)
    assert layout.lanes == ["fact[triple]", "fact[choice]", "passage"]
    assert [name for name, bar in layout.bars.items() if bar.lane == JOINED] == ["joined", "found", "items"]


@pytest.mark.parametrize("wide", [True, False])
def test_nothing_overlaps_or_leaves_the_picture_and_rows_run_down(*, wide: bool) -> None:
    layout = FlowLayout(FLOW, WIDTH, wide=wide)
    for bar in layout.bars.values():
        assert 0 <= bar.x <= bar.x + bar.width + bar.stub <= bar.words <= WIDTH - 100
        assert bar.words + bar.span <= WIDTH
        assert 0 < bar.y < layout.height
        assert all(layout.bars[up].y < bar.y for up in bar.lines)
    for one, other in combinations(layout.bars.values(), 2):
        apart = one.lane != other.lane and wide and JOINED not in (one.lane, other.lane)
        assert apart or abs(one.y - other.y) >= 24, (one.step.name, other.step.name)


def test_lanes_too_narrow_for_words_follow_each_other() -> None:
    assert FlowLayout(FLOW, 1000, wide=True).wide
    assert not FlowLayout(FLOW, 800, wide=True).wide
