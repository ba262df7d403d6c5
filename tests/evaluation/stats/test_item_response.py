"""Parameters of items that are planted come back; models of two parameters are fitted by few lines of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from benchbuilder.core.stats.weighted import Floats
from benchbuilder.evaluation.stats.item_response import fit_item_response


def planted(models: int, items: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Scores, with the abilities, difficulties and steepness that made them."""
    random = np.random.default_rng(seed)
    ability, b = random.normal(size=models), random.normal(size=items)
    a = np.exp(random.normal(0, 0.4, items))
    chance = 1 / (1 + np.exp(-a * (ability[:, None] - b)))
    return (random.random((models, items)) < chance).astype(np.float64), ability, b, a


def together(first: Floats, second: Floats) -> float:
    return float(np.corrcoef(first, second)[0, 1])


def test_difficulty_of_50_models_comes_back() -> None:
    scores, ability, b, a = planted(50, 400, 1)
    fit = fit_item_response(scores, 2)
    assert fit.converged
    assert together(b, fit.b) >= 0.9
    assert together(ability, fit.ability) >= 0.97
    assert together(np.log(a), np.log(fit.a)) >= 0.55
    assert 0.8 < np.std((fit.b - b) / fit.b_error) < 1.2  # the errors are as large as they say


def test_one_parameter_works_with_few_models() -> None:
    scores, ability, b, _ = planted(8, 400, 1)
    fit = fit_item_response(scores, 1)
    assert fit.converged
    assert set(fit.a) == {1.0}
    assert together(b, fit.b) >= 0.65
    assert together(ability, fit.ability) >= 0.95
    assert 0.5 < fit.spread < 1.6


def test_what_was_not_asked_does_not_count_as_wrong() -> None:
    scores, _, _, _ = planted(30, 300, 2)
    gaps = scores.copy()
    gaps[:10, :150] = np.nan
    whole, part = fit_item_response(scores, 1), fit_item_response(gaps, 1)
    assert together(whole.b, part.b) >= 0.95
    assert together(whole.ability, part.ability) >= 0.97
    assert (part.b_error[:150] > part.b_error[150:].mean()).mean() > 0.9


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_items_that_all_get_or_all_miss_stay_finite(score: float) -> None:
    fit = fit_item_response(np.full((6, 5), score), 2)
    assert np.isfinite(fit.b).all()
    assert np.isfinite(fit.ability).all()
    assert (np.sign(fit.b) == (-1 if score else 1)).all()


def test_many_items_with_abilities_far_from_zero_come_to_rest() -> None:
    random = np.random.default_rng(1)
    ability, b = random.normal(0.7, 2, 60), random.normal(size=1500)
    chance = 1 / (1 + np.exp(b - ability[:, None]))
    scores = (random.random(chance.shape) < chance).astype(np.float64)
    fit = fit_item_response(scores, 1)
    assert fit.converged
    assert fit.rounds < 30
    assert abs(fit.spread / ability.std() - 1) < 0.1
    assert fit_item_response(scores, 2).rounds < 30
