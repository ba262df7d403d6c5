import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worked_examples import FLEISS, FOURTEEN, KRIPPENDORFF

from benchbuilder.core.stats.agreement.coefficients import (
    cohen_kappa,
    coincidences,
    contingency,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent,
    rater_pairs,
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
    assert float(percent(table)) == pytest.approx(0.70)
    assert float(cohen_kappa(table)) == pytest.approx(0.492, abs=0.0005)


def test_gwets_own_example():
    """Gwet (2008): 118 and 0 of 125 agree, the raters differ on 5 and 2: kappa -.023, AC1 .941."""
    table = np.array([[118.0, 5.0], [2.0, 0.0]])
    assert float(percent(table)) == pytest.approx(0.944)
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
    assert float(percent(table)) == pytest.approx(0.55111, abs=5e-6)
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
    assert float(percent(table)) == pytest.approx((3 / 6 + 1) / 2)
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
    for coefficient in (percent, cohen_kappa, gwet_ac1):
        value, other = float(coefficient(table)), float(coefficient(table.T))
        assert value == pytest.approx(other, nan_ok=True)
        assert np.isnan(value) or -1.0001 <= value <= 1.0001
    if data and all(first == second for first, second in data):
        assert float(gwet_ac1(table)) == pytest.approx(1.0)


@pytest.mark.parametrize("coefficient", [cohen_kappa])
def test_undefined_without_variation(coefficient):
    assert np.isnan(coefficient(np.array([[0.0, 0.0], [0.0, 9.0]])))


def test_everything_is_undefined_of_nothing():
    for coefficient in (percent, cohen_kappa, gwet_ac1):
        assert np.isnan(coefficient(np.zeros((2, 2))))


def test_a_stack_of_tables_gives_a_value_for_each():
    stack = np.array([[[0.0, 2.0], [3.0, 95.0]], [[20.0, 5.0], [10.0, 15.0]], [[0.0, 0.0], [0.0, 0.0]]])
    values = cohen_kappa(stack)
    assert values.shape == (3,)
    assert values[1] == pytest.approx(0.4)
    assert np.isnan(values[2])
