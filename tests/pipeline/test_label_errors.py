"""The rate of wrong labels: planted rates are recovered from a stratified sample."""

import math

import numpy as np
import pytest

from benchbuilder.pipeline.rechecks import CheckedStratum, stratified_error_rate


@pytest.mark.parametrize(("n", "most"), [(60, "6.0"), (300, "1.3")])
def test_no_error_in_a_sample_bounds_the_rate(n, most):
    found = stratified_error_rate([CheckedStratum(5 * n, n, 0)], 0.95)
    assert (found.rate, found.low, f"{100 * found.high:.1f}") == (0, 0, most)


def test_a_sample_in_proportion_has_the_bound_of_a_simple_one():
    strata = [CheckedStratum(160, 24, 0), CheckedStratum(77, 12, 0), CheckedStratum(158, 24, 0)]
    assert f"{100 * stratified_error_rate(strata, 0.95).high:.1f}" == "6.0"


def test_a_stratum_that_nobody_checked_leaves_no_rate():
    found = stratified_error_rate([CheckedStratum(90, 10, 1), CheckedStratum(10, 0, 0)], 0.95)
    assert (found.rate, found.high, found.checked, found.wrong) == (None, None, 10, 1)
    assert stratified_error_rate([CheckedStratum(90, 10, 0), CheckedStratum(0, 0, 0)], 0.95).rate == 0
    assert stratified_error_rate([], 0.95).rate is None


@pytest.mark.parametrize(
    ("sizes", "rates", "checked"),
    [
        ((900, 100), (0.02, 0.4), (60, 40)),  # flagged items are few, mostly wrong and checked more often
        ((900, 100), (0.0, 0.3), (60, 40)),
        ((500, 300, 150, 50), (0.01, 0.02, 0.1, 0.6), (20, 20, 20, 40)),
        ((500, 300, 200), (0.05, 0.05, 0.05), (50, 30, 20)),
    ],
)
def test_planted_rates_are_recovered_though_flagged_items_are_oversampled(sizes, rates, checked):
    draw = np.random.default_rng(7)
    truth = sum(size * rate for size, rate in zip(sizes, rates, strict=True)) / sum(sizes)
    found = [
        stratified_error_rate(
            [CheckedStratum(s, n, int(draw.binomial(n, r))) for s, r, n in zip(sizes, rates, checked, strict=True)],
            0.95,
        )
        for _ in range(600)
    ]
    mean = np.mean([one.rate for one in found])
    assert mean == pytest.approx(truth, abs=4 * np.std([one.rate for one in found]) / math.sqrt(600))
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.94
    if len(set(rates)) > 1:
        assert np.mean([one.wrong / one.checked for one in found]) > 1.5 * truth
