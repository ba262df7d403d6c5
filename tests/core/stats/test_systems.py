import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchbuilder.core.stats.system_ranking import rank_agreement

MODELS = ["elm", "fir", "oak", "yew"]


def answers(humans, judge):
    """Two answers of each model, a tenth above and below the mean that is given for it."""
    names = [name for name in MODELS[: len(humans)] for _ in range(2)]
    around = [value + sign * 0.1 for value in humans for sign in (1, -1)], [v + s * 0.1 for v in judge for s in (1, -1)]
    return rank_agreement(names, *around)


def test_the_same_order_agrees_whatever_the_level():
    found = answers([0.2, 0.8, 0.5, 0.6], [0.5, 0.9, 0.7, 0.8])
    assert (found.spearman, found.kendall) == (pytest.approx(1), pytest.approx(1))
    assert [system.name for system in found.systems] == ["fir", "yew", "oak", "elm"]
    assert (found.swapped, found.tied, found.compared, found.why) == ((), (), 6, "")
    best = found.systems[0]
    assert (best.humans, best.judge, best.n) == pytest.approx((0.8, 0.9, 2))


def test_swapped_pairs_are_named_with_the_better_one_first():
    found = answers([0.2, 0.8, 0.5, 0.6], [0.5, 0.7, 0.7, 0.9])
    assert found.swapped == (("fir", "yew"),)
    assert found.kendall == pytest.approx(stats.kendalltau([0.2, 0.8, 0.5, 0.6], [0.5, 0.7, 0.7, 0.9])[0])
    assert found.spearman == pytest.approx(stats.spearmanr([0.2, 0.8, 0.5, 0.6], [0.5, 0.7, 0.7, 0.9])[0])


def test_what_the_judge_does_not_tell_apart_is_tied():
    found = rank_agreement(["a", "b", "c"], [0.9, 0.5, 0.1], [0.5, 0.5, 0.1])
    assert (found.swapped, found.tied) == ((), (("a", "b"),))


def test_pairs_that_people_do_not_tell_apart_are_not_compared():
    found = rank_agreement(["a", "b", "c"], [0.5, 0.5, 0.1], [0.4, 0.6, 0.1])
    assert (found.compared, found.swapped) == (2, ())


@pytest.mark.parametrize(("names", "why"), [([], "0 models"), (["a"], "1 models"), (["a", "b"], "2 models")])
def test_too_few_models_are_no_order(names, why):
    found = rank_agreement(names, np.linspace(0, 1, len(names)), np.linspace(1, 0, len(names)))
    assert (found.spearman, found.kendall) == (None, None)
    assert why in found.why


def test_a_constant_judge_has_no_order():
    found = rank_agreement(["a", "b", "c"], [0.1, 0.5, 0.9], [0.5] * 3)
    assert (found.kendall, len(found.tied)) == (None, 3)
    assert "same mean" in found.why


def test_answers_that_one_side_lacks_count_for_neither():
    found = rank_agreement(["a", "a", "b", "c"], [0.9, 0.1, 0.5, 0.2], [0.9, None, 0.5, 0.2])
    assert [system.humans for system in found.systems] == [0.9, 0.5, 0.2]
    assert found.systems[0].n == 1


@given(st.lists(st.tuples(st.sampled_from(MODELS), st.floats(0, 1), st.floats(0, 1)), max_size=20))
def test_swaps_are_counted_against_the_pairs_compared(rows):
    found = rank_agreement(*([row[side] for row in rows] for side in range(3)))
    assert len(found.swapped) + len(found.tied) <= found.compared
    assert found.compared <= len(found.systems) * (len(found.systems) - 1) / 2
    assert (found.kendall is None) == bool(found.why)
