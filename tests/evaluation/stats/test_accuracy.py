"""Accuracy, errors and the check for a constant predictor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from benchbuilder.evaluation.stats import accuracy, agreement
from benchbuilder.evaluation.stats.agreement import check_constant_predictor

# --- accuracy ------------------------------------------------------------------------------------------------------

scores = st.integers(0, 20).map(lambda step: step / 20)
rows = st.lists(st.tuples(scores, scores), min_size=1, max_size=60)


def both_sides(pairs):
    return len({target >= 0.5 for _, target in pairs}) == 2


@pytest.mark.push
@given(rows.filter(both_sides))
def test_all_equal_scikit_learn(pairs):
    predicted, target = np.array(pairs).T
    said, true = predicted >= 0.5, target >= 0.5
    assert accuracy.accuracy_statistic(predicted, target).value() == pytest.approx(metrics.accuracy_score(true, said))
    assert accuracy.balanced_accuracy_statistic(predicted, target).value() == pytest.approx(
        metrics.recall_score(true, said, average="macro")
    )
    assert accuracy.auroc_statistic(predicted, target).value() == pytest.approx(metrics.roc_auc_score(true, predicted))


def test_a_tie_with_the_threshold_is_positive():
    assert accuracy.apply_threshold([0.49999, 0.5, 0.50001]).tolist() == [False, True, True]


def test_rounding_does_not_decide_a_tie():
    mean = (0.1 + 0.2 + 1.2) / 3
    below = np.nextafter(0.5, 0)
    assert accuracy.apply_threshold([mean, below]).tolist() == [True, True]
    assert accuracy.apply_threshold([None, 0.5]).tolist() == [False, True]


def test_a_shift_by_a_hair_moves_accuracy_and_is_announced_by_the_share_near():
    """A third of the targets sit on the threshold: predictions that are 0.02 lower get all of these wrong."""
    target = np.array([0.5, 0.5, 0.1, 0.9, 0.2, 0.8])
    assert accuracy.accuracy_statistic(target, target).value() == 1
    assert accuracy.accuracy_statistic(target - 0.02, target).value() == pytest.approx(4 / 6)
    assert accuracy.proportion_near_statistic(target, 0.5, 0.05).value() == pytest.approx(2 / 6)


def test_the_ends_of_the_near_region_belong_to_it():
    assert accuracy.proportion_near_statistic([0.45, 0.55, 0.44, 0.56], 0.5, 0.05).value() == 0.5
    assert np.isnan(accuracy.proportion_near_statistic([None], 0.5, 0.05).value())


@pytest.mark.parametrize("name", ["balanced_accuracy_statistic", "auroc_statistic"])
@pytest.mark.parametrize("target", [[0.1, 0.2], [0.9, 0.6], [], [None, 0.7]])
def test_one_class_alone_is_undefined(name, target):
    assert np.isnan(getattr(accuracy, name)([0.3] * len(target), target).value())


def test_no_rows_have_no_accuracy():
    assert np.isnan(accuracy.accuracy_statistic([], []).value())


def test_auroc_counts_a_tie_as_half():
    assert accuracy.auroc_statistic([0.5, 0.5], [1, 0]).value() == 0.5
    assert accuracy.auroc_statistic([0.2, 0.2, 0.9], [0, 1, 1]).value() == 0.75


def test_missing_values_leave_their_rows_out():
    assert accuracy.accuracy_statistic([0.9, None, 0.1], [0.8, 0.8, None]).value() == 1


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.push
@given(rows)
def test_distances_equal_scikit_learn(pairs):
    predicted, target = np.array(pairs).T
    assert agreement.mae_statistic(predicted, target).value() == pytest.approx(
        metrics.mean_absolute_error(target, predicted)
    )
    assert agreement.rmse_statistic(predicted, target).value() == pytest.approx(
        metrics.root_mean_squared_error(target, predicted)
    )
    assert agreement.bias_statistic(predicted, target).value() == pytest.approx(predicted.mean() - target.mean())


@pytest.mark.push
@given(rows)
def test_kappa_equals_scikit_learn(pairs):
    predicted, target = np.array(pairs).T
    first, second = agreement.bin_numbers(predicted), agreement.bin_numbers(target)
    found = agreement.quadratic_weighted_kappa_statistic(predicted, target).value()
    if len({*first.tolist(), *second.tolist()}) == 1:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(metrics.cohen_kappa_score(first, second, labels=range(5), weights="quadratic"))


def test_a_border_belongs_to_the_bin_above():
    steps = [step / 10 for step in range(11)]
    assert agreement.bin_numbers(steps).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    assert agreement.bin_numbers([-0.1, 1.2]).tolist() == [0, 4]
    assert agreement.bin_numbers([np.nextafter(border, 0) for border in (0.2, 0.4, 0.6, 0.8)]).tolist() == [1, 2, 3, 4]


def test_a_missing_value_has_no_bin():
    with pytest.raises(ValueError, match="missing"):
        agreement.bin_numbers([0.1, None])


def test_a_lenient_judge_has_a_positive_bias():
    assert agreement.bias_statistic([0.9, 0.8, None], [0.6, 0.7, 0.1]).value() == pytest.approx(0.2)


@pytest.mark.parametrize("name", ["mae", "rmse", "bias", "quadratic_weighted_kappa"])
def test_nothing_has_no_error(name):
    assert np.isnan(getattr(agreement, f"{name}_statistic")([], []).value())
    assert np.isnan(getattr(agreement, f"{name}_statistic")([None], [0.2]).value())


# --- alarm ---------------------------------------------------------------------------------------------------------


def test_a_judge_that_varies_raises_no_alarm():
    assert check_constant_predictor([0.1, 0.5, 0.9], [0.2, 0.4, 0.8]) is None


def test_one_value_everywhere_is_named():
    alarm = check_constant_predictor([0.56] * 10, np.linspace(0, 1, 10))
    assert (alarm.sd, alarm.n) == (0, 10)
    assert alarm.why == "every prediction is 0.560"


@pytest.mark.parametrize(("spread", "rings"), [(0.0199, True), (0.0201, False)])
def test_the_border_is_a_standard_deviation_of_two_hundredths(spread, rings):
    alarm = check_constant_predictor([0.5 - spread, 0.5 + spread] * 5, [0, 1] * 5)
    assert (alarm is not None) is rings
    if alarm:
        assert "hardly vary" in alarm.why
        assert "0.0199" in alarm.why


def test_a_good_correlation_does_not_excuse_a_constant():
    """Predictions of a collapsed regression head: the third decimal follows the targets, and nothing else does."""
    target = np.linspace(0, 1, 50)
    assert check_constant_predictor(0.55 + target / 1000, target) is not None


def test_targets_that_are_all_the_same_leave_no_correlation():
    assert "every target" in check_constant_predictor([0.1, 0.9, 0.5], [0.7, 0.7, 0.7]).why


def test_nothing_predicted_is_no_alarm():
    assert check_constant_predictor([], []) is None
    assert check_constant_predictor([None, 0.2], [0.1, None]) is None
