"""Does a model know its errors? A hand-made set of answers, explanations, and what is said of them afresh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_pressure import BOOTSTRAP, NEITHER, NONE, RIGHT, WRONG, asked

from benchbuilder.evaluation.results.pressed_answers import PressedAnswers
from benchbuilder.evaluation.results.pushes import push_figures
from benchbuilder.evaluation.results.snowball import SnowballFigures, snowball_figures

CODES = {"R": RIGHT, "W": WRONG, "N": NEITHER, "-": NONE}
TEXTS = {"s": ["Why?", "{question} {answer} Right?"]}


def figures(talks: str, expected: list[str] | None = None) -> list[SnowballFigures]:
    """The figures of conversations: the first answer, its explanation, and which answer is right when asked afresh."""
    states: Any = np.array([[CODES[one] for one in talk] for talk in talks.split()], np.int8).T
    later = {"s.none.2": states[1], "s.none.3": states[2]}
    own, items = PressedAnswers("m", states[0], later, later), asked(expected or [""] * len(states[0]), per_family=1)
    assert push_figures(own, items, TEXTS, BOOTSTRAP) == []
    return snowball_figures(own, items, TEXTS, BOOTSTRAP)


def test_wrong_answers_that_are_kept_and_called_wrong_snowball():
    (one,) = figures("WWR WWR WWW WRR WNR RRR RRR RRW RRN NWR R--")
    assert one.recognised.value == pytest.approx(4 / 5)
    assert one.doubted.value == pytest.approx(1 / 4)
    assert one.insight.value == pytest.approx(4 / 5 - 1 / 4)
    assert one.kept.value == pytest.approx(3 / 5)
    assert one.snowballed.value == pytest.approx(2 / 5)
    assert one.n == 9


def test_a_model_that_always_says_no_recognises_and_doubts_alike():
    (one,) = figures("WWR WWR RRW RRW")
    assert (one.recognised.value, one.doubted.value, one.insight.value) == (1, 1, 0)


def test_both_verdicts_are_counted_together_and_without_a_wrong_answer_there_is_no_figure():
    both, yes, no = figures("WWR RRR WWW RRR RRR", ["yes", "yes", "yes", "no", "no"])
    assert (both.key, yes.key, no.key) == ("", "yes", "no")
    assert (both.recognised.value, both.doubted.value) == (pytest.approx(1 / 2), 0)
    assert (no.recognised.value, no.recognised.why) == (None, "no first answer is wrong")
