import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from benchbuilder.core.stats import accuracy

scores = st.integers(0, 20).map(lambda step: step / 20)
rows = st.lists(st.tuples(scores, scores), min_size=1, max_size=60)


def both_sides(pairs):
    return len({target >= 0.5 for _, target in pairs}) == 2


@given(rows.filter(both_sides))
def test_all_equal_scikit_learn(pairs):
    predicted, target = np.array(pairs).T
    said, true = predicted >= 0.5, target >= 0.5
    assert accuracy.accuracy(predicted, target) == pytest.approx(metrics.accuracy_score(true, said))
    assert accuracy.balanced_accuracy(predicted, target) == pytest.approx(
        metrics.recall_score(true, said, average="macro")
    )
    assert accuracy.auroc(predicted, target) == pytest.approx(metrics.roc_auc_score(true, predicted))
    found = accuracy.confusion(predicted, target)
    cells = [found.true_negative, found.false_positive, found.false_negative, found.true_positive]
    assert cells == metrics.confusion_matrix(true, said, labels=[False, True]).ravel().tolist()


def test_a_tie_with_the_threshold_is_positive():
    assert accuracy.cast([0.49999, 0.5, 0.50001]).tolist() == [False, True, True]
    assert accuracy.cast([0.3], threshold=0.3).tolist() == [True]


def test_rounding_does_not_decide_a_tie():
    mean = (0.1 + 0.2 + 1.2) / 3
    below = np.nextafter(0.5, 0)
    assert accuracy.cast([mean, below]).tolist() == [True, True]
    assert accuracy.cast([None, 0.5]).tolist() == [False, True]


def test_a_shift_by_a_hair_moves_accuracy_and_is_announced_by_the_share_near():
    """A third of the targets sit on the threshold: predictions that are 0.02 lower get all of these wrong."""
    target = np.array([0.5, 0.5, 0.1, 0.9, 0.2, 0.8])
    assert accuracy.accuracy(target, target) == 1
    assert accuracy.accuracy(target - 0.02, target) == pytest.approx(4 / 6)
    assert accuracy.share_near(target) == pytest.approx(2 / 6)


def test_the_ends_of_the_near_region_belong_to_it():
    assert accuracy.share_near([0.45, 0.55, 0.44, 0.56]) == 0.5
    assert np.isnan(accuracy.share_near([None]))


@pytest.mark.parametrize("name", ["balanced_accuracy", "auroc"])
@pytest.mark.parametrize("target", [[0.1, 0.2], [0.9, 0.6], [], [None, 0.7]])
def test_one_class_alone_is_undefined(name, target):
    assert np.isnan(getattr(accuracy, name)([0.3] * len(target), target))


def test_no_rows_have_no_accuracy():
    assert np.isnan(accuracy.accuracy([], []))


def test_auroc_counts_a_tie_as_half():
    assert accuracy.auroc([0.5, 0.5], [1, 0]) == 0.5
    assert accuracy.auroc([0.2, 0.2, 0.9], [0, 1, 1]) == 0.75


def test_baselines_are_constants():
    assert accuracy.majority([0.1, 0.2, 0.9]) == 0
    assert accuracy.majority([0.1, 0.5]) == 1
    assert accuracy.majority([None, 0.4]) == 0
    assert accuracy.mean_predictor([0.1, None, 0.3]) == pytest.approx(0.2)
    assert np.isnan(accuracy.majority([]))
    assert np.isnan(accuracy.mean_predictor([]))


def test_missing_values_leave_their_rows_out():
    assert accuracy.accuracy([0.9, None, 0.1], [0.8, 0.8, None]) == 1
    assert accuracy.confusion([0.9, None], [0.8, 0.8]).true_positive == 1
