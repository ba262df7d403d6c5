"""Calibration, and conformal intervals."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from benchbuilder.evaluation.stats import accuracy

# --- calibration ---------------------------------------------------------------------------------------------------

scores = st.integers(0, 20).map(lambda step: step / 20)
rows = st.lists(st.tuples(scores, scores), min_size=1, max_size=60)


def world(rows=1000, seed=1):
    random = np.random.default_rng(seed)
    predicted = random.random(rows)
    return predicted, (random.random(rows) < predicted**2).astype(float)


def test_bins_equal_those_of_scikit_learn():
    predicted, target = world()
    positive, mean = calibration_curve(target, predicted, n_bins=10, strategy="quantile")
    found = accuracy.reliability_bins(predicted, target)
    assert [part.n for part in found] == [100] * 10
    assert [part.share_positive for part in found] == pytest.approx(positive.tolist())
    assert [part.mean_predicted for part in found] == pytest.approx(mean.tolist())
    assert accuracy.ece_statistic(predicted, target).value() == pytest.approx(np.abs(positive - mean).mean())


@pytest.mark.push
@given(rows)
def test_brier_equals_scikit_learn(pairs):
    predicted, target = np.array(pairs).T
    expected = brier_score_loss(target >= 0.5, predicted, pos_label=True)
    assert accuracy.brier_statistic(predicted, target).value() == pytest.approx(expected)


@pytest.mark.push
@given(rows, st.randoms())
def test_ece_is_the_mean_gap_of_the_bins_in_any_order_of_rows(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    predicted, target = np.array(pairs).T
    bins = accuracy.reliability_bins(predicted, target)
    expected = sum(part.n * abs(part.mean_predicted - part.share_positive) for part in bins) / len(pairs)
    assert accuracy.ece_statistic(predicted, target).value() == pytest.approx(expected)
    assert accuracy.ece_statistic(*np.array(shuffled).T).value() == pytest.approx(expected)
    assert sum(part.n for part in bins) == len(pairs)
    assert all(one.high < other.low for one, other in pairwise(bins))


def test_what_is_calibrated_has_little_error_and_what_is_not_has_much():
    random = np.random.default_rng(2)
    predicted = random.random(5000)
    honest = (random.random(5000) < predicted).astype(float)
    assert accuracy.ece_statistic(predicted, honest).value() < 0.03
    assert accuracy.ece_statistic(1 - predicted, honest).value() > 0.4


def test_one_constant_prediction_fills_one_bin():
    (only,) = accuracy.reliability_bins([0.7] * 5, [1, 1, 0, 0.5, 0.4])
    assert (only.n, only.low, only.high, only.share_positive) == (5, 0.7, 0.7, 0.6)
    assert only.mean_target == pytest.approx(2.9 / 5)


def test_nothing_is_calibrated():
    assert accuracy.reliability_bins([], []) == []
    assert np.isnan(accuracy.ece_statistic([], []).value())
    assert np.isnan(accuracy.brier_statistic([None], [1]).value())


def test_one_row_is_a_bin():
    assert accuracy.ece_statistic([0.8], [1.0]).value() == pytest.approx(0.2)
    assert accuracy.reliability_bins([0.8, None], [1.0, 1.0])[0].n == 1


def test_equal_predictions_stay_together_in_the_bin_of_their_middle():
    assert [part.n for part in accuracy.reliability_bins([0.1, 0.5, 0.5, 0.9], [0, 1, 0, 1], bins=2)] == [1, 3]
    assert [part.n for part in accuracy.reliability_bins([0.5, 0.5, 0.5, 0.9], [0, 1, 0, 1], bins=2)] == [3, 1]


# --- conformal -----------------------------------------------------------------------------------------------------


def lenient_world(random, worlds, rows):
    """People's values and a lenient, noisy judge, by world and row."""
    truth = np.clip(random.beta(2, 1.5, (worlds, rows)), 0, 1)
    return truth, np.clip(0.2 + 0.7 * truth + random.normal(0, 0.12, (worlds, rows)), 0, 1)


def coverage(scores, people, half):
    low, high = np.array([accuracy.conformal_interval(score, half) for score in scores]).T
    return np.mean((low - 1e-12 <= people) & (people <= high + 1e-12))


@pytest.mark.parametrize(("rows", "level"), [(60, 0.9), (100, 0.95), (400, 0.8)])
def test_coverage_is_within_two_points_of_nominal(rows, level):
    truth, judge = lenient_world(np.random.default_rng(20), 400, rows + 200)
    covered = []
    for people, said in zip(truth, judge, strict=True):
        half = accuracy.conformal_half_width(said[:rows] - people[:rows], level).value
        covered.append(coverage(said[rows:], people[rows:], half))
    assert abs(np.mean(covered) - level) < 0.02


def test_the_quantile_is_that_of_a_finite_sample():
    """With 9 residuals and a level of 0.9 the largest is taken, with 19 the second largest."""
    assert accuracy.conformal_half_width([-9, 1, 2, 3, 4, 5, 6, 7, 8], 0.9).value == 9
    assert accuracy.conformal_half_width(np.arange(1, 20), 0.9).value == 18
    assert accuracy.conformal_half_width(np.arange(1, 20), 0.95).value == 19


@pytest.mark.parametrize(("rows", "level", "least"), [(8, 0.9, 9), (18, 0.95, 19), (0, 0.5, 1)])
def test_too_few_residuals_say_how_many_are_needed(rows, level, least):
    found = accuracy.conformal_half_width(np.zeros(rows), level)
    assert (found.value, found.n) == (None, rows)
    assert f"at least {least} are needed" in found.why
    assert accuracy.conformal_half_width(np.zeros(least), level).value == 0


def test_missing_residuals_do_not_count():
    assert accuracy.conformal_half_width([0.1, None, 0.3, float("nan")], 0.5).n == 2


def test_intervals_stay_within_the_scale():
    assert accuracy.conformal_interval(0.9, 0.25) == (0.65, 1.0)
    assert accuracy.conformal_interval(0.1, 0.25) == (0.0, 0.35)
    assert accuracy.conformal_interval(1.2, 0.1) == (1.0, 1.0)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(0.05, 0.95))
def test_so_many_residuals_are_no_larger(residuals, level):
    found = accuracy.conformal_half_width(residuals, level)
    if found.value is not None:
        within = (np.abs(residuals) <= found.value).sum()
        assert within >= (len(residuals) + 1) * level - 1e-6
