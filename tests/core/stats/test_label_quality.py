"""Floors of agreement and the model of voters: planted figures are recovered."""

import numpy as np
import pytest

from benchbuilder.core import measure_agreement
from benchbuilder.core.stats.agreement.floors import hold_to_floor
from benchbuilder.core.stats.dawid_skene import fit_voter_model, is_voter_model_shown
from benchbuilder.pipeline.rechecks import wilson_interval


def agreement(pairs, samples=400):
    clusters = [[{"a": a, "b": b}] for (a, b), n in pairs.items() for _ in range(n)]
    return measure_agreement(
        clusters, level="nominal", samples=samples, confidence_level=0.95, seed=1, categories=(0, 1)
    )


def standing(pairs, base_rate=0.5, **floors):
    return hold_to_floor(agreement(pairs), **({"alpha": 0.6, "raw": 0.85} | floors), level=0.95, base_rate=base_rate)


def test_the_lower_bound_counts_not_the_value():
    result = agreement({(1, 1): 45, (0, 0): 45, (0, 1): 10})
    assert result["percent"]["value"] > 0.85 > result["percent"]["low"]
    held = hold_to_floor(result, alpha=0.6, raw=0.85, level=0.95, base_rate=0.5)
    assert held.word == "weak"
    assert [check.measure for check in held.checks if not check.reached] == ["percent"]
    assert standing({(1, 1): 240, (0, 0): 240, (0, 1): 20}).word == "reached"


def test_alpha_is_held_to_its_own_floor():
    held = standing({(1, 1): 170, (0, 0): 10, (0, 1): 20}, base_rate=0.9, raw=0.5)
    assert (held.word, [check.measure for check in held.checks if not check.reached]) == ("weak", ["alpha"])


@pytest.mark.parametrize(("n", "word"), [(21, "unknown"), (22, "reached")])
def test_too_few_units_cannot_tell_even_if_all_agree(n, word):
    # a bootstrap of n pairs that all agree has no width; Wilson's lower bound reaches 85 % with 22
    held = standing({(1, 1): n // 2, (0, 0): n - n // 2})
    assert (held.word, held.needed) == (word, 22)
    assert (wilson_interval(1, n, 0.95)[0] >= 0.85) == (word == "reached")


def test_few_units_far_below_are_weak_and_not_unknown():
    assert standing({(1, 1): 5, (0, 1): 12}).word == "weak"


def test_nobody_can_tell_where_all_gave_the_same_answer():
    assert standing({(1, 1): 200}, base_rate=1.0).word == "unknown"


def test_ac1_counts_where_nearly_all_decisions_are_the_same():
    pairs = {(1, 1): 288, (0, 1): 6, (1, 0): 6}
    assert standing(pairs, base_rate=0.94).word == "weak"
    held = standing(pairs, base_rate=0.98)
    assert held.one_sided
    assert (held.word, {check.measure for check in held.checks}) == ("reached", {"ac1", "percent"})


def test_without_a_floor_there_is_no_word():
    assert standing({(1, 1): 5, (0, 1): 5}, alpha=None, raw=None) is None
    assert [check.measure for check in standing({(1, 1): 5, (0, 1): 5}, alpha=None).checks] == ["percent"]


def test_scalars_are_held_to_the_share_within_the_tolerance():
    clusters = [[{"a": n / 60, "b": n / 60 + 0.1}] for n in range(50)]
    result = measure_agreement(clusters, level="interval", samples=200, confidence_level=0.95, seed=1, tolerance=0.25)
    held = hold_to_floor(result, alpha=0.6, raw=0.85, level=0.95)
    assert (held.word, {check.measure for check in held.checks}) == ("reached", {"alpha", "within_tolerance"})


# --- Dawid and Skene


def simulate(accuracies, per_unit, units, runs, base_rate=0.9, hard=0.0):
    """The share of wrong majorities and of wrong answers of the model, over runs."""
    draw = np.random.default_rng(3)
    wrong = np.zeros((runs, 2))
    for run in range(runs):
        truth = (draw.random(units) < base_rate).astype(int)
        tricky = draw.random(units) < hard
        votes = []
        for unit in range(units):
            chosen = draw.choice(len(accuracies), per_unit, replace=False)
            right = draw.random(per_unit) < np.where(tricky[unit], 0.2, np.array(accuracies)[chosen])
            votes.append({f"v{v}": int(truth[unit] if ok else 1 - truth[unit])
                          for v, ok in zip(chosen, right, strict=True)})  # fmt: skip
        majority = np.array([2 * sum(vote.values()) > len(vote) for vote in votes])
        model = fit_voter_model(votes, 2)
        wrong[run] = (majority != truth).mean(), (model.probabilities.argmax(1) != truth).mean()
    return wrong.mean(0)


def test_the_model_finds_two_poor_voters_of_six():
    majority, model = simulate([0.94] * 4 + [0.6] * 2, per_unit=3, units=500, runs=4)
    assert majority == pytest.approx(0.071, abs=0.015)
    assert model == pytest.approx(0.025, abs=0.012)


def test_the_model_gains_most_with_four_guessers_of_twelve():
    majority, model = simulate([0.92] * 8 + [0.5] * 4, per_unit=5, units=500, runs=4)
    assert majority == pytest.approx(0.059, abs=0.015)
    assert model < 0.4 * majority


def test_the_model_does_not_beat_three_equal_voters():
    majority, model = simulate([0.92] * 3, per_unit=3, units=500, runs=4)
    assert model >= majority - 0.001
    assert model <= majority + 0.006


def test_the_model_cannot_see_errors_that_voters_share():
    majority, model = simulate([0.96] * 3, per_unit=3, units=500, runs=4, hard=0.06)
    assert majority > 0.04
    assert model == pytest.approx(majority, abs=0.004)


def test_reliability_is_recovered_and_order_does_not_matter():
    draw = np.random.default_rng(5)
    truth = draw.random(400) < 0.5
    votes = [
        {name: int(t == (draw.random() < p)) for name, p in (("good", 0.95), ("fair", 0.85), ("poor", 0.65))}
        for t in truth
    ]
    model = fit_voter_model(votes, 2)
    found = model.reliability()
    assert found["good"] > found["fair"] > found["poor"]
    assert found["poor"] == pytest.approx(0.65, abs=0.07)
    turned = fit_voter_model([dict(reversed(vote.items())) for vote in votes[::-1]], 2)
    assert np.allclose(turned.probabilities[::-1], model.probabilities, atol=1e-9)
    with pytest.raises(ValueError, match="a vote on every unit"):
        fit_voter_model([{}], 2)


@pytest.mark.parametrize(("voters", "shared", "shown"), [(2, 99, False), (2, 100, True), (5, 3, True), (4, 99, False)])
def test_when_the_model_is_shown(voters, shared, shown):
    assert is_voter_model_shown(voters, shared) is shown
