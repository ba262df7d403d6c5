import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from benchbuilder.core.stats import errors

scores = st.integers(0, 20).map(lambda step: step / 20)
rows = st.lists(st.tuples(scores, scores), min_size=1, max_size=60)


@given(rows)
def test_distances_equal_scikit_learn(pairs):
    predicted, target = np.array(pairs).T
    assert errors.mae(predicted, target) == pytest.approx(metrics.mean_absolute_error(target, predicted))
    assert errors.rmse(predicted, target) == pytest.approx(metrics.root_mean_squared_error(target, predicted))
    assert errors.bias(predicted, target) == pytest.approx(predicted.mean() - target.mean())


@given(rows)
def test_kappa_equals_scikit_learn(pairs):
    predicted, target = np.array(pairs).T
    first, second = errors.binned(predicted), errors.binned(target)
    found = errors.quadratic_weighted_kappa(predicted, target)
    if len({*first.tolist(), *second.tolist()}) == 1:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(metrics.cohen_kappa_score(first, second, labels=range(5), weights="quadratic"))


def test_a_border_belongs_to_the_bin_above():
    steps = [step / 10 for step in range(11)]
    assert errors.binned(steps).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert errors.binned([-0.1, 1.2]).tolist() == [0, 4]
    assert errors.binned([np.nextafter(border, 0) for border in (0.2, 0.4, 0.6, 0.8)]).tolist() == [1, 2, 3, 4]


def test_a_missing_value_has_no_bin():
    with pytest.raises(ValueError, match="missing"):
        errors.binned([0.1, None])


def test_a_lenient_judge_has_a_positive_bias():
    assert errors.bias([0.9, 0.8, None], [0.6, 0.7, 0.1]) == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["mae", "rmse", "bias", "quadratic_weighted_kappa"])
def test_nothing_has_no_error(name):
    assert np.isnan(getattr(errors, name)([], []))
    assert np.isnan(getattr(errors, name)([None], [0.2]))
