import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worked_examples import ANXIETY

from benchbuilder.core.stats.agreement.coefficients import cohen_kappa, contingency
from benchbuilder.core.stats.agreement.weighted import weighted_kappa

pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30)


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
@given(pairs)
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
