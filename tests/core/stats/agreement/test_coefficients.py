"""Coefficients of agreement, unweighted and weighted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worked_examples import ANXIETY, FLEISS, FOURTEEN, KRIPPENDORFF

from benchbuilder.core.stats.agreement.coefficients import (
    cohen_kappa,
    coincidences,
    contingency,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    rater_pairs,
)
from benchbuilder.core.stats.agreement.weighted import weighted_kappa

# --- coefficients --------------------------------------------------------------------------------------------------

pairs = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=40)


def test_prevalence_paradox():
    """95 of 100 items agree, 95 % of all judgements are 1: kappa falls below zero, AC1 does not."""
    table = np.array([[0.0, 2.0], [3.0, 95.0]])
    assert float(percent_agreement(table)) == pytest.approx(0.95)
    assert float(cohen_kappa(table)) == pytest.approx(-0.025, abs=0.0005)
    assert float(gwet_ac1(table)) == pytest.approx(0.947, abs=0.0005)


def test_kappa_by_hand():
    """20 + 15 of 50 on the diagonal, margins 25/25 and 30/20: (0.7 - 0.5) / (1 - 0.5)."""
    table = np.array([[20.0, 5.0], [10.0, 15.0]])
    assert float(cohen_kappa(table)) == pytest.approx(0.4)
    # mean margins 0.55 and 0.45: chance 2 * 0.55 * 0.45 = 0.495
    assert float(gwet_ac1(table)) == pytest.approx((0.7 - 0.495) / (1 - 0.495))
    # coincidences: 55 and 45 of 100 values, 30 disagreeing ones, 4950 pairs expected to disagree of 99


def test_kappa_is_zero_where_one_coder_is_constant():
    assert float(cohen_kappa(np.array([[0.0, 0.0], [4.0, 6.0]]))) == pytest.approx(0.0)


def test_krippendorffs_textbook_example():
    """Four coders, twelve units, five categories, missing values: nominal alpha 0.743."""
    matrix = coincidences(list(zip(*KRIPPENDORFF, strict=True)), 6)
    assert matrix.sum() == pytest.approx(40)
    assert float(krippendorff_alpha(matrix)) == pytest.approx(0.743, abs=0.0005)


def test_cohens_own_example():
    """Cohen (1960), with the counts that Cohen (1968) prints of 200 cases: kappa .492."""
    table = np.array([[88.0, 14.0, 18.0], [10.0, 40.0, 10.0], [2.0, 6.0, 12.0]])
    assert float(percent_agreement(table)) == pytest.approx(0.70)
    assert float(cohen_kappa(table)) == pytest.approx(0.492, abs=0.0005)


def test_gwets_own_example():
    """Gwet (2008): 118 and 0 of 125 agree, the raters differ on 5 and 2: kappa -.023, AC1 .941."""
    table = np.array([[118.0, 5.0], [2.0, 0.0]])
    assert float(percent_agreement(table)) == pytest.approx(0.944)
    assert float(cohen_kappa(table)) == pytest.approx(-0.0234, abs=0.00005)
    assert float(gwet_ac1(table)) == pytest.approx(0.9408, abs=0.00005)


def test_fleiss_own_example():
    """Fleiss (1971) prints .430; the R package irr 0.4302445."""
    assert float(fleiss_kappa(rater_pairs(FLEISS))) == pytest.approx(0.4302445, abs=5e-8)


def test_fourteen_raters():
    assert float(fleiss_kappa(rater_pairs(FOURTEEN))) == pytest.approx(0.210, abs=0.0005)


def test_ac1_of_six_raters():
    """The first fifteen patients of Fleiss are `distrib.6raters` of the R package irrCAC: AC1 0.4448, kappa 0.41393."""
    table = rater_pairs(FLEISS[:15])
    assert float(percent_agreement(table)) == pytest.approx(0.55111, abs=5e-6)
    assert float(gwet_ac1(table)) == pytest.approx(0.44480, abs=5e-6)
    assert float(fleiss_kappa(table)) == pytest.approx(0.41393, abs=5e-6)


def test_fleiss_kappa_of_two_raters_is_scotts_pi():
    """Scott (1955) takes chance from the shares of both coders together: here 0.55 and 0.45."""
    counts = np.array([[2.0, 0.0]] * 20 + [[1.0, 1.0]] * 15 + [[0.0, 2.0]] * 15)
    chance = 0.55**2 + 0.45**2
    assert float(fleiss_kappa(rater_pairs(counts))) == pytest.approx((0.7 - chance) / (1 - chance))


def test_every_unit_weighs_one_however_many_rated_it():
    counts = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    table = rater_pairs(counts)
    assert table.sum() == pytest.approx(2)  # one rater alone is no pair
    assert float(percent_agreement(table)) == pytest.approx((3 / 6 + 1) / 2)
    np.testing.assert_allclose(table, table.T)
    np.testing.assert_allclose(table.sum(0), [3 / 4, 1 / 4 + 1, 0])


def test_one_category_alone_is_undefined():
    for coefficient in (cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha):
        assert np.isnan(coefficient(np.array([[7.0]])))


@given(st.lists(st.integers(2, 7), min_size=1, max_size=20))
def test_kappa_without_variation_is_undefined_whatever_the_rounding(raters):
    table = rater_pairs(np.array([[float(many), 0.0] for many in raters]))
    assert np.isnan(fleiss_kappa(table))
    assert float(gwet_ac1(table)) == pytest.approx(1.0)


@given(pairs)
def test_coders_are_interchangeable_and_agreement_is_bounded(data):
    table = contingency(data, 2)
    for coefficient in (percent_agreement, cohen_kappa, gwet_ac1):
        value, other = float(coefficient(table)), float(coefficient(table.T))
        assert value == pytest.approx(other, nan_ok=True)
        assert np.isnan(value) or -1.0001 <= value <= 1.0001
    if data and all(first == second for first, second in data):
        assert float(gwet_ac1(table)) == pytest.approx(1.0)


@pytest.mark.parametrize("coefficient", [cohen_kappa])
def test_undefined_without_variation(coefficient):
    assert np.isnan(coefficient(np.array([[0.0, 0.0], [0.0, 9.0]])))


def test_everything_is_undefined_of_nothing():
    for coefficient in (percent_agreement, cohen_kappa, gwet_ac1):
        assert np.isnan(coefficient(np.zeros((2, 2))))


def test_a_stack_of_tables_gives_a_value_for_each():
    stack = np.array([[[0.0, 2.0], [3.0, 95.0]], [[20.0, 5.0], [10.0, 15.0]], [[0.0, 0.0], [0.0, 0.0]]])
    values = cohen_kappa(stack)
    assert values.shape == (3,)
    assert values[1] == pytest.approx(0.4)
    assert np.isnan(values[2])


# --- weighted ------------------------------------------------------------------------------------------------------

rated = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30)


def test_squared_weights():
    """The R package irr: kappa2(anxiety[, 1:2], "squared") is 0.297."""
    table = contingency([(one - 1, other - 1) for one, other in zip(*ANXIETY[:2], strict=True)], 6)
    assert float(weighted_kappa(table, range(6), "quadratic")) == pytest.approx(0.297, abs=0.0005)


@pytest.mark.parametrize(("weighting", "published"), [("linear", 0.1459075), ("quadratic", 0.2520325)])
def test_both_weights_of_irr(weighting, published):
    """kappa2(anxiety[, 2:3], ...) of irr, which closes ranks where nobody gave a 5."""
    ranks = {1: 0, 2: 1, 3: 2, 4: 3, 6: 4}
    table = contingency([(ranks[one], ranks[other]) for one, other in zip(*ANXIETY[1:], strict=True)], 5)
    assert float(weighted_kappa(table, range(5), weighting)) == pytest.approx(published, abs=5e-8)


@pytest.mark.parametrize(("weighting", "power"), [("linear", 1), ("quadratic", 2)])
@given(rated)
def test_chance_is_what_the_margins_give(weighting, power, data):
    values = np.array([0.0, 1.0, 2.5, 7.0])
    table = contingency(data, 4)
    distances = np.abs(values[:, None] - values[None, :]) ** power
    expected = (np.outer(table.sum(1), table.sum(0)) * distances).sum()
    found = float(weighted_kappa(table, values, weighting))
    if expected == 0:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(1 - len(data) * (table * distances).sum() / expected)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=30))
def test_two_categories_leave_nothing_to_weigh(data):
    table = contingency(data, 2)
    for weighting in ("linear", "quadratic"):
        found = float(weighted_kappa(table, [0.0, 1.0], weighting))
        assert found == pytest.approx(float(cohen_kappa(table)), nan_ok=True, abs=1e-9)


@pytest.mark.parametrize("weighting", ["linear", "quadratic"])
def test_rounding_is_no_variation(weighting):
    """The mean of many 0.1 is not 0.1 to the last digit."""
    stack = np.zeros((199, 2, 2))
    stack[:, 0, 0] = np.arange(1.0, 200.0)
    assert np.isnan(weighted_kappa(stack, [0.1, 0.9], weighting)).all()
