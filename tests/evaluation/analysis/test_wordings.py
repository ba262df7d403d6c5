"""What the wording does to scores: planted effects come back, and there is none where none was planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from answered_world import answered, settings, texts

from benchbuilder.core import Floats, page_texts
from benchbuilder.evaluation.analysis.answered import WordedAnswers
from benchbuilder.evaluation.analysis.wordings import WordingEffects, wording_effects

NAMES = ("built", "plain", "heard", "short")


def worded(chances: Floats, seed: int, *, repeats: int = 1, family: int = 4) -> WordedAnswers:
    """Answers that are right with these chances, by model, wording and item."""
    models, wordings, items = chances.shape
    random = np.random.default_rng(seed)
    scores = (random.random((models, wordings, repeats, items)) < chances[:, :, None, :]).astype(np.float64)
    scores[:, 0, 1:] = np.nan  # the question as it was built is asked once
    return WordedAnswers(
        NAMES[:wordings], NAMES[:wordings], tuple(f"m{place}" for place in range(models)),
        texts(*(f"item-{place}" for place in range(items))), np.arange(items) // family, scores,
        np.zeros(scores.shape, np.bool_),
    )  # fmt: skip


def effects(answers: WordedAnswers, **changes: Any) -> WordingEffects:
    base = answered(np.ones((len(answers.models), len(answers.items))))
    return wording_effects(replace(base, worded=answers), settings(**changes))


def chances(models: int, items: int, shift: Floats, seed: int) -> Floats:
    """A model knows a family or guesses it; `shift` by model and wording moves all of its items."""
    random = np.random.default_rng(seed)
    base = np.repeat(random.uniform(0.4, 0.8, (models, items // 4)), 4, axis=1)
    return base[:, None, :] + shift[:, :, None]


@pytest.mark.push
def test_planted_sensitivities_come_back_with_their_order() -> None:
    shift = np.array([[0, 0, 0, 0], [0, 0.06, -0.06, 0], [0.1, 0.1, -0.2, 0.1]])
    found = effects(worded(chances(3, 4000, shift, 3), 5))
    spreads = [one.spread for one in found.models]
    planted = np.ptp(shift, axis=1)
    assert [spread.value for spread in spreads] == pytest.approx(planted.tolist(), abs=0.03)
    for spread, truth in list(zip(spreads, planted, strict=True))[1:]:
        assert spread.low is not None
        assert spread.high is not None
        assert spread.low <= truth <= spread.high
        assert spread.clusters == 1000
    assert [one.sd.value for one in found.models] == pytest.approx(shift.std(axis=1, ddof=1).tolist(), abs=0.012)
    assert found.models[0].p > 0.05
    assert found.models[0].chance == pytest.approx(found.models[0].spread.value, abs=0.02)
    assert [one.p for one in found.models[1:]] == [0.001, 0.001]
    assert [mean.value for mean in found.models[2].means][2] == pytest.approx(0.4, abs=0.02)


@pytest.mark.full
def test_a_spread_without_cause_is_no_finding() -> None:
    """400 models that the wording does not touch: 3 to 7 % have p of 0.05 or less, whatever families share."""
    knows = np.repeat(np.random.default_rng(1).random((400, 1, 30)) < 0.6, 4, axis=2)
    found = effects(worded(np.broadcast_to(np.where(knows, 0.95, 0.5), (400, 4, 120)), 2), samples=100)
    p = np.array([one.p for one in found.models])
    assert 0.03 <= (p <= 0.05).mean() <= 0.07
    assert np.mean([one.spread.value or 0.0 for one in found.models]) == pytest.approx(
        np.mean([one.chance for one in found.models]), abs=0.005
    )


def test_the_variance_is_split_by_what_it_comes_from() -> None:
    items = 4000
    random = np.random.default_rng(8)
    of_item, of_both = random.normal(0, 0.15, items), random.normal(0, 0.1, (4, items))
    of_wording = np.array([0.12, -0.12, 0.06, -0.06])
    chance = np.clip(0.5 + of_item + of_wording[:, None] + of_both, 0, 1)[None]
    found = effects(worded(chance, 4, repeats=3)).models[0]
    noise = float((chance * (1 - chance)).mean())
    parts = np.array([0.15**2, of_wording.var(ddof=1), 0.1**2, noise])
    shares = [found.of_item.value, found.of_wording.value, found.of_both.value, found.of_sampling.value]
    assert shares == pytest.approx((parts / parts.sum()).tolist(), abs=0.02)
    assert sum(share or 0 for share in shares) == pytest.approx(1)
    assert found.repeat_flips.value is not None
    alone = effects(worded(chance, 4)).models[0]
    assert alone.of_sampling.value is None
    assert alone.of_sampling.why == "no question was asked twice in one wording"
    assert alone.of_both.value == pytest.approx((shares[2] or 0) + (shares[3] or 0), abs=0.02)


def test_models_change_places_where_the_wording_favours_one() -> None:
    shift = np.array([[0.15, 0.15, -0.15, 0.15], [0, 0, 0, 0], [-0.25, -0.25, -0.25, -0.25]])
    base = np.broadcast_to(np.full((3, 1, 1200), 0.6), (3, 4, 1200)) + shift[:, :, None]
    found = effects(worded(base, 6))
    assert [one.ranks for one in found.models] == [(1, 1, 2, 1), (2, 2, 1, 2), (3, 3, 3, 3)]
    assert (found.changed_pairs, found.pairs, found.ranked_items, found.ranked_families) == (1, 3, 1200, 300)
    assert found.tau.value == pytest.approx((3 * 1 + 3 / 3) / 6)
    columns = found.model_columns()
    assert columns["wording_worst_rank"] == {"m0": 2, "m1": 2, "m2": 3}


def test_flips_are_counted_and_items_that_lack_a_wording_are_left_out() -> None:
    scores = np.array([[1, 1, 0, 0, 1, 1], [1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 1, np.nan]])[None, :, None, :]
    answers = replace(worded(np.ones((1, 3, 6)), 1, family=2), scores=scores)
    found = effects(answers).models[0]
    assert (found.items, found.families, found.flips.value) == (5, 3, 0.2)
    assert [mean.value for mean in found.means] == [0.6, 0.4, 0.6]
    assert found.without == (0, 0, 0)


def test_without_wordings_it_says_so() -> None:
    base = answered(np.ones((2, 4)))
    found = wording_effects(base, settings())
    assert found.sentences(page_texts("en")) == [
        "How far scores hang on the wording is not shown: no questions were asked in several wordings "
        "(evaluation.wordings)."
    ]
    nothing = replace(worded(np.ones((1, 3, 4)), 1), scores=np.full((1, 3, 1, 4), np.nan))
    assert "no model answered a question in all wordings" in effects(nothing).sentences(page_texts("en"))[0]
    assert found.model_columns()["wording_spread"] == {}
