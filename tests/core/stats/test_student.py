import numpy as np
import pytest
from scipy import stats

from benchbuilder.core.stats import student_t

FREEDOM = [1, 2, 3, 4, 5, 8, 29, 30, 99, 1000]


@pytest.mark.parametrize("freedom", FREEDOM)
def test_probabilities_equal_scipy(freedom):
    for t in (-40, -3.2, -1, -0.1, 0, 0.4, 2, 12):
        assert student_t.below(t, freedom) == pytest.approx(stats.t.cdf(t, freedom), abs=1e-12)
    assert student_t.below(np.inf, freedom) == 1


@pytest.mark.parametrize("freedom", FREEDOM)
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.95, 0.999])
def test_quantiles_equal_scipy(freedom, level):
    assert student_t.quantile(level, freedom) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-9)
