"""Ranks that a resample turns over share a place, and knowledge is told from guessing."""

from __future__ import annotations

import numpy as np
import pytest
from answered_world import answered, settings, simulated, texts

from benchbuilder.core import page_texts
from benchbuilder.evaluation.analysis.model_sections import model_consistency, model_ranks


def test_a_clear_order_has_a_place_for_each() -> None:
    random = np.random.default_rng(1)
    scores = (random.random((3, 600)) < np.array([[0.5], [0.9], [0.7]])).astype(float)
    found = model_ranks(answered(scores), settings())
    assert found.names == ("m1", "m2", "m0")
    assert found.place.tolist() == found.low.tolist() == found.high.tolist() == [1, 2, 3]
    assert found.best.tolist() == [1, 0, 0]
    assert found.tau == (1, 1, 1)


def test_equal_models_share_the_first_place() -> None:
    scores = np.repeat(simulated(1, 200, 3), 3, axis=0)
    found = model_ranks(answered(scores), settings())
    assert found.place.tolist() == [1, 1, 1]
    assert found.best == pytest.approx([1 / 3] * 3)


def test_families_are_drawn_whole_and_only_common_items_count() -> None:
    random = np.random.default_rng(2)
    facts = random.random((2, 40)) < np.array([[0.55], [0.75]])
    scores = np.repeat(facts, 10, axis=1).astype(float)  # ten questions on each fact: 40 facts, not 400
    alone, together = (model_ranks(answered(scores, families), settings())
                       for families in (np.arange(400), np.repeat(np.arange(40), 10)))  # fmt: skip
    assert together.best[0] < alone.best[0] == 1
    scores[0, :100] = np.nan
    assert model_ranks(answered(scores), settings()).items == 300


def test_one_model_is_not_ranked() -> None:
    found = model_ranks(answered(simulated(1, 20, 1)), settings())
    assert found.sentences(page_texts("en")) == [
        "Models are not ranked: 1 model and 20 families in common are too few."
    ]


def test_knowledge_is_told_from_guessing() -> None:
    """Each model knows a part of 400 facts with four questions, and guesses the others with its own share of yes."""
    random, known = np.random.default_rng(4), (0.0, 0.6)
    expected = np.tile(["yes", "yes", "no", "no"], 400)
    families = np.repeat(np.arange(400), 4)
    rows = []
    for share, yes in zip(known, (0.8, 0.5), strict=True):
        knows = np.repeat(random.random(400) < share, 4)
        guess = np.where(random.random(1600) < yes, "yes", "no")
        rows.append(np.where(knows, 1.0, guess == expected))
    found = model_consistency(answered(np.array(rows), families, expected=texts(*expected)), settings())
    for one, share in zip(found.models, known, strict=True):
        assert one.knowledge.low is not None
        assert one.knowledge.high is not None
        assert one.knowledge.low - 0.03 <= share <= one.knowledge.high + 0.03
    guesser, knower = found.models
    assert guesser.yes_bias == pytest.approx(0.3, abs=0.03)
    assert guesser.contradictory > 300
    assert guesser.known + guesser.half_known + guesser.unknown == guesser.families == 400
    assert knower.contradictory < 140


def test_what_was_asked_in_part_is_no_family_and_a_form_may_be_harder() -> None:
    scores = np.array([[1, 1, 0, 0, 1, np.nan]], float)
    world = answered(scores, np.array([0, 0, 1, 1, 2, 2]), negated=np.array([0, 0, 1, 1, 0, 0], bool))
    (one,) = model_consistency(world, settings()).models
    assert (one.families, one.known, one.unknown) == (2, 1, 1)  # one question is no family
    assert one.form_bias == 1
    alone = model_consistency(answered(simulated(2, 9, 1)), settings())
    assert alone.sentences(page_texts("en")) == [
        "Consistency is not shown: no model was asked two questions about one fact."
    ]
