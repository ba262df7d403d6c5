import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.agreement.coefficients import (
    alpha_of_two,
    cohen_kappa,
    coincidences,
    contingency,
    gwet_ac1,
    krippendorff_alpha,
    percent,
)

pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=40)


def test_prevalence_paradox():
    """95 of 100 items agree, 95 % of all judgements are 1: kappa falls below zero, AC1 does not."""
    table = np.array([[0.0, 2.0], [3.0, 95.0]])
    assert float(percent(table)) == pytest.approx(0.95)
    assert float(cohen_kappa(table)) == pytest.approx(-0.025, abs=0.0005)
    assert float(gwet_ac1(table)) == pytest.approx(0.947, abs=0.0005)


def test_kappa_by_hand():
    """20 + 15 of 50 on the diagonal, margins 25/25 and 30/20: (0.7 - 0.5) / (1 - 0.5)."""
    table = np.array([[20.0, 5.0], [10.0, 15.0]])
    assert float(cohen_kappa(table)) == pytest.approx(0.4)
    # mean margins 0.55 and 0.45: chance 2 * 0.55 * 0.45 = 0.495
    assert float(gwet_ac1(table)) == pytest.approx((0.7 - 0.495) / (1 - 0.495))
    # coincidences: 55 and 45 of 100 values, 30 disagreeing ones, 4950 pairs expected to disagree of 99
    assert float(alpha_of_two(table)) == pytest.approx(1 - 30 / (2 * 55 * 45 / 99))


def test_kappa_is_zero_where_one_coder_is_constant():
    assert float(cohen_kappa(np.array([[0.0, 0.0], [4.0, 6.0]]))) == pytest.approx(0.0)


def test_krippendorffs_textbook_example():
    """Four coders, twelve units, five categories, missing values: nominal alpha 0.743."""
    n = None
    coders = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, n, n, n],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, n, 3],
        [n, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, n],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, n],
    ]
    matrix = coincidences(list(zip(*coders, strict=True)), 6)
    assert matrix.sum() == pytest.approx(40)
    assert float(krippendorff_alpha(matrix)) == pytest.approx(0.743, abs=0.0005)


@given(pairs)
def test_alpha_of_two_is_krippendorffs_of_complete_data(data):
    table = contingency(data, 2)
    np.testing.assert_allclose(alpha_of_two(table), krippendorff_alpha(coincidences(data, 2)))


@given(pairs)
def test_coders_are_interchangeable_and_agreement_is_bounded(data):
    table = contingency(data, 2)
    for coefficient in (percent, cohen_kappa, gwet_ac1, alpha_of_two):
        value, other = float(coefficient(table)), float(coefficient(table.T))
        assert value == pytest.approx(other, nan_ok=True)
        assert np.isnan(value) or -1.0001 <= value <= 1.0001
    if data and all(first == second for first, second in data):
        assert float(gwet_ac1(table)) == pytest.approx(1.0)


@pytest.mark.parametrize("coefficient", [cohen_kappa, alpha_of_two])
def test_undefined_without_variation(coefficient):
    assert np.isnan(coefficient(np.array([[0.0, 0.0], [0.0, 9.0]])))


def test_everything_is_undefined_of_nothing():
    for coefficient in (percent, cohen_kappa, gwet_ac1, alpha_of_two):
        assert np.isnan(coefficient(np.zeros((2, 2))))


def test_a_stack_of_tables_gives_a_value_for_each():
    stack = np.array([[[0.0, 2.0], [3.0, 95.0]], [[20.0, 5.0], [10.0, 15.0]], [[0.0, 0.0], [0.0, 0.0]]])
    values = cohen_kappa(stack)
    assert values.shape == (3,)
    assert values[1] == pytest.approx(0.4)
    assert np.isnan(values[2])
