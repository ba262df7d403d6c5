"""Correlations, and the ranking of systems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchbuilder.evaluation.stats import agreement
from benchbuilder.evaluation.stats.agreement import TieGroups, discordant_pairs, rank_agreement

# --- correlation ---------------------------------------------------------------------------------------------------

grid = st.integers(0, 6).map(lambda step: step / 6)
columns = st.lists(st.tuples(grid, grid), min_size=2, max_size=90)


def varies(rows):
    return all(len({row[side] for row in rows}) > 1 for side in (0, 1))


@pytest.mark.push
@given(columns.filter(varies))
def test_all_three_equal_scipy(rows):
    one, other = np.array(rows).T
    assert agreement.pearson(one, other) == pytest.approx(stats.pearsonr(one, other)[0], abs=1e-9)
    assert agreement.spearman_statistic(one, other).value() == pytest.approx(stats.spearmanr(one, other)[0], abs=1e-9)
    assert agreement.kendall_statistic(one, other).value() == pytest.approx(stats.kendalltau(one, other)[0], abs=1e-9)
    assert agreement.r_squared_statistic(one, other).value() == pytest.approx(
        stats.linregress(one, other).rvalue ** 2, abs=1e-9
    )


@pytest.mark.parametrize("rows", [63, 64, 65, 500, 1025])
def test_many_rows_without_ties_equal_scipy(rows):
    random = np.random.default_rng(rows)
    one = random.normal(0, 1, rows)
    other = one + random.normal(0, 2, rows)
    assert agreement.pearson(one, other) == pytest.approx(stats.pearsonr(one, other)[0])
    assert agreement.spearman_statistic(one, other).value() == pytest.approx(stats.spearmanr(one, other)[0])
    assert agreement.kendall_statistic(one, other).value() == pytest.approx(stats.kendalltau(one, other)[0])


def test_a_large_offset_loses_nothing():
    random = np.random.default_rng(0)
    one = random.normal(0, 1, 50)
    assert agreement.pearson(one + 1e8, 2 * one + 1e8) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "r_squared"])
@pytest.mark.parametrize(
    "columns", [([], []), ([0.3], [0.4]), ([0.1, 0.1, 0.1], [0.2, 0.4, 0.9]), ([1, 2], [0.1, 0.1]), ([None], [1.0])]
)
def test_no_correlation_is_nan_without_a_warning(name, columns):
    assert np.isnan(getattr(agreement, f"{name}_statistic")(*columns).value())


def test_rows_that_lack_a_value_are_left_out():
    assert agreement.pearson([1, 2, None, 4], [1, 2, 9, float("nan")]) == pytest.approx(1)


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="3 values cannot be paired with 2"):
        agreement.pearson([1, 2, 3], [1, 2])


@pytest.mark.parametrize(
    "name", ["pearson_statistic", "spearman_statistic", "kendall_statistic", "r_squared_statistic"]
)
def test_a_draw_without_variation_is_undefined_and_the_others_are_not(name):
    statistic = getattr(agreement, name)([0.1, 0.1, 0.7], [0.3, 0.5, 0.9])
    found = statistic.compute(np.array([[2.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 3.0]]))
    assert np.isnan(found).tolist() == [True, False, True]


def residuals(values, given):
    slope, start = np.polyfit(given, values, 1)
    return values - slope * given - start


def test_the_partial_correlation_is_that_of_residuals():
    random = np.random.default_rng(4)
    third = random.normal(0, 1, 200)
    one, other = third + random.normal(0, 1, 200), -2 * third + random.normal(0, 1, 200)
    expected = stats.pearsonr(residuals(one, third), residuals(other, third))[0]
    assert agreement.partial_correlation_statistic(one, other, third).value() == pytest.approx(expected)


def test_the_partial_correlation_equals_pingouin():
    """pingouin.partial_corr, version 0.7.0, run once by hand: r of the first two columns, given the third."""
    columns = np.random.default_rng(3).integers(0, 20, (3, 15)) / 20
    found = agreement.partial_correlation_statistic(*columns).value()
    assert found == pytest.approx(-0.08518085635654213)


def test_nothing_is_left_beyond_what_says_it_all():
    third = np.arange(10.0)
    assert np.isnan(agreement.partial_correlation_statistic(2 * third, np.sin(third), third).value())
    assert np.isnan(agreement.partial_correlation_statistic([1, 1, 1], [1, 2, 3], [3, 1, 2]).value())


@given(columns, st.data())
def test_discordant_pairs_are_counted_as_by_hand(rows, data):
    one, other = np.array(rows).T
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, times in zip(rows, weights, strict=True) for _ in range(times)]
    expected = sum(
        (first[0] - second[0]) * (first[1] - second[1]) < 0
        for place, first in enumerate(repeated)
        for second in repeated[:place]
    )
    assert discordant_pairs(one, other)(np.array([weights], float))[0] == expected


@given(st.lists(grid, min_size=1, max_size=40))
def test_mid_ranks_are_those_of_scipy(values):
    found = TieGroups(np.array(values)).mid_ranks(np.ones((1, len(values))))[0]
    assert found.tolist() == stats.rankdata(values).tolist()


def test_partial_correlations_of_weighted_rows_are_those_of_repeated_ones():
    random = np.random.default_rng(6)
    table = random.random((3, 30))
    weights = random.integers(0, 3, 30)
    found = agreement.partial_correlation_statistic(*table).compute(weights[None, :].astype(float))[0]
    assert found == pytest.approx(agreement.partial_correlation_statistic(*np.repeat(table, weights, axis=1)).value())


# --- systems -------------------------------------------------------------------------------------------------------

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


@pytest.mark.push
@given(st.lists(st.tuples(st.sampled_from(MODELS), st.floats(0, 1), st.floats(0, 1)), max_size=20))
def test_swaps_are_counted_against_the_pairs_compared(rows):
    found = rank_agreement(*([row[side] for row in rows] for side in range(3)))
    assert len(found.swapped) + len(found.tied) <= found.compared
    assert found.compared <= len(found.systems) * (len(found.systems) - 1) / 2
    assert (found.kendall is None) == bool(found.why)
