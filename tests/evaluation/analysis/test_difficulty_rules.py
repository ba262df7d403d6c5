"""How much of item response theory is shown, and groups of models and subsets of items."""

from __future__ import annotations

import numpy as np
import pytest
from answered_world import answered, settings, simulated, texts

from benchbuilder.core import page_texts
from benchbuilder.evaluation.analysis.difficulty import item_difficulty, item_misfit, item_subset, kendall_tau
from benchbuilder.evaluation.analysis.groups import GroupDifferences, group_differences
from benchbuilder.evaluation.stats.item_response import fit_item_response

EN = page_texts("en")


@pytest.mark.parametrize(
    ("models", "difficulty", "flags", "figures"),
    [(4, 0, 0, 0), (5, 60, 0, 0), (19, 60, 0, 0), (20, 60, 60, 0), (49, 60, 60, 0), (50, 60, 60, 60)],
)
def test_the_number_of_models_says_what_is_shown(models: int, difficulty: int, flags: int, figures: int) -> None:
    found = item_difficulty(answered(simulated(models, 60, 1)), settings())
    shown = (len(found.b), len(found.flat), len(found.a), len(found.misfit))
    assert shown == (difficulty, flags, figures, figures)
    assert (found.why is None) == (models == 50)
    assert ("a" in found.item_columns()) == (models == 50)
    assert bool(len(found.information)) == (models == 50)


def test_items_that_fit_are_seldom_called_misfits_and_others_are() -> None:
    scores = simulated(100, 300, 5)
    assert (item_misfit(scores, fit_item_response(scores, 2)) < 0.05).mean() <= 0.02
    along = np.argsort(scores.mean(1))
    scores[along, 0] = np.arange(100) // 25 % 2  # missed, right, missed, right along ability
    p = item_misfit(scores, fit_item_response(scores, 2))
    assert p[0] < 0.001
    assert (p[1:] < 0.05).mean() <= 0.02


def group_world(models: int, shift: float) -> GroupDifferences:
    gap = np.zeros((models, 200))
    gap[models // 2 :, :50] = shift  # the second half finds the first source harder
    names = [f"m{number}" for number in range(models)]
    world = answered(simulated(models, 200, 2, gap), sources=texts(*["exam"] * 50, *["graph"] * 150))
    groups = {"size": {"title": "small and large", "one": names[: models // 2], "other": names[models // 2 :]}}
    return group_differences(world, settings(groups=groups))


def test_a_source_that_favours_a_group_is_found() -> None:
    found = group_world(40, 1.0)
    first = {one.value: one for one in found.comparisons}["exam"]
    assert first.differs
    assert first.odds_ratio > 1.8
    assert first.items == 50
    assert "small and large: source exam (50 items, " in " ".join(found.sentences(EN))


def test_groups_of_fewer_than_ten_models_are_not_compared() -> None:
    found = group_world(18, 1.0)
    assert found.sentences(EN) == [
        "small and large: not compared, because the smaller group has 9 models with answers and 10 are needed."
    ]


def test_a_subset_needs_models_that_did_not_choose_it() -> None:
    few = item_subset(answered(simulated(19, 50, 1)), settings(subset=20))
    assert few.sentences(EN) == ["A subset needs 20 models or more; 19 have answers."]
    large = item_subset(answered(simulated(20, 20, 1)), settings(subset=20))
    assert large.sentences(EN) == ["A subset of 20 is not smaller than all 20 items."]
    assert item_subset(answered(simulated(20, 20, 1)), settings()).sentences(EN) == []


def test_a_chosen_subset_keeps_the_ranking_better_than_a_random_one() -> None:
    found = item_subset(answered(simulated(60, 200, 1)), settings(subset=25))
    assert len(set(found.ids)) == 25
    assert found.low <= found.tau <= found.high
    assert found.tau > found.random_tau
    assert "Not for scores of a release." in found.sentences(EN)[0]


def test_kendalls_tau() -> None:
    assert kendall_tau(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])) == pytest.approx(1 / 3)
    assert np.isnan(kendall_tau(np.ones(3), np.array([1.0, 2, 3])))
