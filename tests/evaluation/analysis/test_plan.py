"""How many items a difference needs, against figures by hand and by simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from answered_world import answered

from benchbuilder.core import Floats
from benchbuilder.core.errors import RecipeError
from benchbuilder.evaluation.analysis.answered import AnalysisNote
from benchbuilder.evaluation.analysis.plan import PlanRequest, plan_items, read_request

ALONE = np.arange(100)


@pytest.mark.parametrize(("difference", "items"), [(0.02, 3140), (0.05, 503)])
def test_the_figures_of_a_paired_comparison(difference: float, items: int) -> None:
    """2 p (1 - p) (1 - rho) (1.96 + 0.8416)^2 / d^2 with p 0.8 and rho 0.5."""
    assert plan_items(PlanRequest(difference), ALONE, None).items == pytest.approx(items, abs=1)


@pytest.mark.parametrize(("correlation", "items"), [(0.0, 6280), (0.5, 3140), (0.7, 1884)])
def test_the_correlation_of_earlier_scores_counts(correlation: float, items: int) -> None:
    """Two models with a mean of 0.8 each, whose scores have exactly this correlation."""
    both = round(10_000 * (0.64 + correlation * 0.16))
    counts = [both, 8_000 - both, 8_000 - both, both - 6_000]
    scores = np.repeat(np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]]), counts, axis=1)
    plan = plan_items(PlanRequest(0.02), np.arange(10_000), answered(scores))
    assert plan.estimated
    assert (plan.mean, plan.likeness) == (pytest.approx(0.8), 0.0)
    assert plan.correlation == pytest.approx(correlation, abs=1e-9)
    assert plan.items == pytest.approx(items, abs=2)


def test_families_and_more_comparisons_need_more_items() -> None:
    alone = plan_items(PlanRequest(0.02), ALONE, None)
    quads = plan_items(PlanRequest(0.02), np.repeat(np.arange(25), 4), None)
    assert quads.items == pytest.approx(alone.items * 1.9, rel=0.001)  # 1 + (4 - 1) * 0.3
    assert quads.families == pytest.approx(quads.items / 4, abs=1)
    assert plan_items(PlanRequest(0.02, models=5), ALONE, None).items > alone.items
    assert alone.visible == pytest.approx(0.02 * (alone.items / 100) ** 0.5, rel=0.01)


def test_planted_scores_are_estimated_and_the_plan_holds_its_power() -> None:
    random = np.random.default_rng(5)

    def scores(families: int, lead: float) -> Floats:
        fact, own = random.random((1, families, 1)), random.random((2, families, 4))
        chance = np.where(own < 0.5, np.repeat(np.repeat(fact, 4, axis=2), 2, axis=0), random.random((2, families, 4)))
        return (chance < 0.7 + np.array([lead, 0.0])[:, None, None]).reshape(2, -1).astype(float)

    codes = np.repeat(np.arange(500), 4)
    plan = plan_items(PlanRequest(0.06), codes, answered(scores(500, 0), codes))
    assert plan.estimated
    assert plan.mean == pytest.approx(0.7, abs=0.03)
    shown = 0
    for _ in range(300):
        gap = np.subtract(*scores(plan.families, 0.06)).reshape(-1, 4).mean(axis=1)
        shown += gap.mean() / (gap.std(ddof=1) / len(gap) ** 0.5) > 1.96
    assert 0.7 < shown / 300 < 0.9


def test_two_equal_models_say_nothing_about_differences() -> None:
    same = np.repeat(np.random.default_rng(1).integers(0, 2, (1, 100)), 2, axis=0).astype(float)
    assert not plan_items(PlanRequest(0.02), ALONE, answered(same)).estimated


def test_a_plan_from_made_up_answers_says_so() -> None:
    note = AnalysisNote("analysis.invented", {"n": 1, "names": "m0"})
    scores = np.random.default_rng(1).integers(0, 2, (2, 100)).astype(float)
    assert plan_items(PlanRequest(0.02), ALONE, replace(answered(scores), notes=(note,))).notes == (note,)
    assert plan_items(PlanRequest(0.02), ALONE, None).notes == ()


BAD = (
    "", "difference", "difference=2", "difference=1e-18", "difference=nan", "difference=0.1,models=1",
    "difference=0.1,models=99999999", "difference=0.1,power=0.01", "difference=0.1,x=1",
    "difference=0.1,difference=0.2",
)  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_a_plan_that_cannot_be_read(text: str) -> None:
    with pytest.raises(RecipeError, match="the plan cannot be read"):
        read_request(text, 0.95)
    assert read_request("difference=0.1, power=0.9", 0.95) == PlanRequest(0.1, 2, 0.9, 0.95)
