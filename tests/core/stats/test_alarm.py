import numpy as np
import pytest

from benchbuilder.core.stats.constant_predictor import constant_predictor


def test_a_judge_that_varies_raises_no_alarm():
    assert constant_predictor([0.1, 0.5, 0.9], [0.2, 0.4, 0.8]) is None


def test_one_value_everywhere_is_named():
    alarm = constant_predictor([0.56] * 10, np.linspace(0, 1, 10))
    assert (alarm.sd, alarm.n) == (0, 10)
    assert alarm.why == "every prediction is 0.560"


@pytest.mark.parametrize(("spread", "rings"), [(0.0199, True), (0.0201, False)])
def test_the_border_is_a_standard_deviation_of_two_hundredths(spread, rings):
    alarm = constant_predictor([0.5 - spread, 0.5 + spread] * 5, [0, 1] * 5)
    assert (alarm is not None) is rings
    if alarm:
        assert "hardly vary" in alarm.why
        assert "0.0199" in alarm.why


def test_a_good_correlation_does_not_excuse_a_constant():
    """Predictions of a collapsed regression head: the third decimal follows the targets, and nothing else does."""
    target = np.linspace(0, 1, 50)
    assert constant_predictor(0.55 + target / 1000, target) is not None


def test_targets_that_are_all_the_same_leave_no_correlation():
    assert "every target" in constant_predictor([0.1, 0.9, 0.5], [0.7, 0.7, 0.7]).why


def test_nothing_predicted_is_no_alarm():
    assert constant_predictor([], []) is None
    assert constant_predictor([None, 0.2], [0.1, None]) is None
