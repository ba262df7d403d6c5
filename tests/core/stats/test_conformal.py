import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.stats import conformal


def world(random, worlds, rows):
    """People's values and a lenient, noisy judge, by world and row."""
    truth = np.clip(random.beta(2, 1.5, (worlds, rows)), 0, 1)
    return truth, np.clip(0.2 + 0.7 * truth + random.normal(0, 0.12, (worlds, rows)), 0, 1)


@pytest.mark.parametrize(("rows", "level"), [(60, 0.9), (100, 0.95), (400, 0.8)])
def test_coverage_is_within_two_points_of_nominal(rows, level):
    truth, judge = world(np.random.default_rng(20), 400, rows + 200)
    covered = []
    for people, said in zip(truth, judge, strict=True):
        half = conformal.half_width(said[:rows] - people[:rows], level).value
        covered.append(conformal.coverage(said[rows:], people[rows:], half))
    assert abs(np.mean(covered) - level) < 0.02


def test_the_quantile_is_that_of_a_finite_sample():
    """With 9 residuals and a level of 0.9 the largest is taken, with 19 the second largest."""
    assert conformal.half_width([-9, 1, 2, 3, 4, 5, 6, 7, 8], 0.9).value == 9
    assert conformal.half_width(np.arange(1, 20), 0.9).value == 18
    assert conformal.half_width(np.arange(1, 20), 0.95).value == 19


@pytest.mark.parametrize(("rows", "level", "least"), [(8, 0.9, 9), (18, 0.95, 19), (0, 0.5, 1)])
def test_too_few_residuals_say_how_many_are_needed(rows, level, least):
    found = conformal.half_width(np.zeros(rows), level)
    assert (found.value, found.n) == (None, rows)
    assert f"at least {least} are needed" in found.why
    assert conformal.half_width(np.zeros(least), level).value == 0


def test_missing_residuals_do_not_count():
    assert conformal.half_width([0.1, None, 0.3, float("nan")], 0.5).n == 2


def test_intervals_stay_within_the_scale():
    assert conformal.interval(0.9, 0.25) == (0.65, 1.0)
    assert conformal.interval(0.1, 0.25) == (0.0, 0.35)
    assert conformal.interval(1.2, 0.1) == (1.0, 1.0)


def test_coverage_counts_the_ends():
    assert conformal.coverage([0.5, 0.5, 0.5], [0.2, 0.8, 0.81], 0.3) == pytest.approx(2 / 3)
    assert np.isnan(conformal.coverage([], [], 0.1))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(0.05, 0.95))
def test_so_many_residuals_are_no_larger(residuals, level):
    found = conformal.half_width(residuals, level)
    if found.value is not None:
        within = (np.abs(residuals) <= found.value).sum()
        assert within >= (len(residuals) + 1) * level - 1e-6
