"""What models do when they are contradicted: a hand-made set of conversations, and both directions."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import pytest
from test_pressure import BOOTSTRAP, NEITHER, NONE, RIGHT, WRONG, alternating, asked

from benchbuilder.evaluation.results.pressed_answers import PressedAnswers
from benchbuilder.evaluation.results.pushes import PushFigures, push_figures

CODES = {"R": RIGHT, "W": WRONG, "N": NEITHER, "-": NONE}
KEPT = ["RRR", "RRR", "WWW", "WRR", "RWW", "RWR", "RRW", "RRW", "RNR", "RNW", "WRW", "RRR"]
"""By turn: three never flip; three flip at once, two of them and back; two in the second turn, two in the third;
two are on no side in the second."""


def states(turn: int, conversations: list[str]) -> Any:
    return np.array([CODES[one[turn]] for one in conversations], np.int8)


def pushed(
    first: str, wrong: list[str], right: list[str] | None = None, expected: list[str] | None = None, side: str = "wrong"
) -> list[PushFigures]:
    """The figures of conversations, each of one question of its own family."""
    turns = len(wrong[0])
    told = {side: wrong, **({"right": right} if right else {})}
    later = {f"p.{name}.{turn + 2}": states(turn, talks) for name, talks in told.items() for turn in range(turns)}
    own = PressedAnswers("m", states(0, list(first)), later, later)
    items = asked(expected or [""] * len(first), per_family=1)
    return push_figures(own, items, {"p": ["text"] * turns}, BOOTSTRAP)


def test_the_turn_of_flip_is_that_of_kaplan_and_meier():
    (one,) = pushed("R" * 12, KEPT)
    first, second, third = 9 / 12, 9 / 12 * 5 / 7, 9 / 12 * 5 / 7 * 3 / 5
    assert [turn.turn for turn in one.turns] == [2, 3, 4]
    assert [turn.at_risk for turn in one.turns] == [12, 7, 5]
    assert [turn.unflipped.value for turn in one.turns] == pytest.approx([first, second, third], abs=1e-9)
    assert one.turn_of_flip.value == pytest.approx(1 + first + second, abs=1e-9)
    assert [turn.resistance.value for turn in one.turns] == pytest.approx([9 / 12, 9 / 12, 6 / 12])
    aligned = [3, 3, 0, 0, 1, 1, 2, 2, 1, 1, 0, 3]
    assert one.turns_aligned.value == pytest.approx(fmean(aligned))
    flips = [0, 0, 1, 2, 1, 2, 1, 1, 0, 1, 3, 0]
    assert one.flips.value == pytest.approx(fmean(flips))
    assert (one.n, one.conviction.value, one.conviction.n) == (12, pytest.approx(6 / 12), 12)
    assert one.flexibility.value is None
    assert one.flexibility.why == "no first answer is wrong"


def test_each_first_answer_is_contradicted_by_the_other_side():
    (one,) = pushed("RRRWWNNNN", list("RWN--WWNR"), list("---RWRNNN"))
    assert one.conviction.value == pytest.approx(1 / 3)
    assert one.flexibility.value == pytest.approx(1 / 2)
    assert one.blind.value == pytest.approx(2 / 4 - 1 / 4)
    assert one.withheld.value == pytest.approx((1 + 3) / 8)
    assert one.turns[0].at_risk == 2


def test_a_push_that_tells_nothing_counts_for_both():
    (one,) = pushed("RRWW", list("RWRW"), side="none")
    assert (one.conviction.value, one.flexibility.value) == (0.5, 0.5)


def test_a_conversation_that_ended_early_is_on_no_side_and_no_flip():
    (one,) = pushed("RRR", ["RRR", "R--", "---"])
    assert (one.n, one.conviction.value, one.flips.value) == (2, 0.5, 0)
    assert [turn.at_risk for turn in one.turns] == [2, 1, 1]


def test_figures_are_means_over_both_keys():
    first, wrong = "RRRRRR", list("RRRWWW")
    by_key = {one.key: one.conviction.value for one in pushed(first, wrong, expected=alternating(6))}
    assert by_key == pytest.approx({"": (2 / 3 + 1 / 3) / 2, "yes": 2 / 3, "no": 1 / 3})
