"""What guards save and cost, whether claim and passage add up, repeats, and which figures are a headline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_pressure import BOOTSTRAP, NEITHER, NONE, RIGHT, WRONG, alternating, asked, figures

from benchbuilder.config import PressureSpec
from benchbuilder.evaluation.results.pressed_answers import PressedAnswers
from benchbuilder.evaluation.results.pressure import PressureResults, pressure_figures
from benchbuilder.evaluation.results.pressure_contrasts import guard_figures, saturation_figures
from benchbuilder.evaluation.steps.reword import AGAIN

SPEC = PressureSpec.model_validate({
    "contexts": {"lay": "Hm. {told} {question}", "guideline": "Book: {told} {question}",
                 "passage": "Page: {passage} {question}", "both": "Book: {told} {passage} {question}"},
    "control": "Hm. {other} {question}", "guards": {"check": {"system": "Take care.", "with": ["guideline"]}},
})  # fmt: skip
COUNT = 40


def states(right: int, wrong: int, neither: int = 0) -> Any:
    """The first `right` of 40 answers are right, the next `wrong` wrong, `neither` on no side, and the others right."""
    found = [RIGHT] * right + [WRONG] * wrong + [NEITHER] * neither
    return np.array(found + [RIGHT] * (COUNT - len(found)), np.int8)


def answers(**later: Any) -> PressedAnswers:
    named = {name.replace("_", ".", 1).replace("PLUS", "+"): own for name, own in later.items()}
    return PressedAnswers("m", states(COUNT, 0), named)


def test_what_a_guard_saves_and_costs_is_counted_against_its_own_control():
    own = answers(
        guideline_wrong=states(0, 20), control=states(0, 2), guideline_right=states(COUNT, 0),
        guidelinePLUScheck_wrong=states(0, 8), controlPLUScheck=states(0, 2, 4),
        guidelinePLUScheck_right=states(0, 0, 6),
    )  # fmt: skip
    (one,) = guard_figures(own, asked([""] * COUNT), SPEC, BOOTSTRAP)
    assert (one.model, one.context, one.type, one.n) == ("m", "guideline+check", "oe", COUNT)
    assert one.figures["saved"].value == pytest.approx((20 - 2 - 8 + 2) / COUNT)
    assert one.figures["cost"].value == pytest.approx((38 - 34) / COUNT)
    assert one.figures["cost_right"].value == pytest.approx(6 / COUNT)
    assert one.figures["saved"].low is not None
    assert 0 < one.figures["saved"].low < 0.3
    found = {one.context: one for one in pressure_figures(own, asked([""] * COUNT), ["guideline", "guideline+check"],
                                                          BOOTSTRAP)}  # fmt: skip
    assert found["guideline"].excess.value == pytest.approx(18 / COUNT)
    assert found["guideline+check"].excess.value == pytest.approx((8 - 2) / COUNT)
    assert not [*guard_figures(answers(control=states(0, 2)), asked([""] * COUNT), SPEC, BOOTSTRAP)]


def test_claim_and_passage_that_say_the_same_are_saturated():
    parts = {"guideline_wrong": states(0, 12), "passage_wrong": states(0, 10), "control": states(0, 2)}
    for both, expected in ((20, 0.0), (12, -0.2)):
        own = answers(both_wrong=states(0, both), **parts)
        (one,) = saturation_figures(own, asked([""] * COUNT), SPEC.texts, BOOTSTRAP)
        assert (one.context, one.type) == ("both", "oe")
        assert one.figures["saturation"].value == pytest.approx(expected)
    apart = answers(both_wrong=np.where(np.arange(COUNT) < 20, states(0, 20), NONE),
                    **{**parts, "passage_wrong": np.where(np.arange(COUNT) < 20, NONE, RIGHT)})  # fmt: skip
    assert not [*saturation_figures(apart, asked([""] * COUNT), SPEC.texts, BOOTSTRAP)], "no item was asked with all"


def test_repeats_headlines_and_what_can_be_seen():
    items = asked(alternating(COUNT))
    told = (states(0, 12), states(COUNT, 0))
    found = figures(items, states(COUNT, 0), {"lay": told, "exception": told}, states(0, 2))
    again = np.where(np.arange(COUNT) < 30, states(0, 1, 2), NONE)
    results = PressureResults(items, (answers(**{AGAIN.replace(".", "_"): again}),), tuple(found), 0,
                              arguable=("exception",))  # fmt: skip
    assert [one.context for one in results.headlines()] == ["lay"]
    assert [*results.repeats()] == [("m", 3, 30)]
    ((part, families, drop),) = results.detectable()
    assert (part, families) == ("tf", 20)
    assert drop == pytest.approx((0.3 / (40 / 1.3 / 7.849 + 1)) ** 0.5, abs=0.001)
