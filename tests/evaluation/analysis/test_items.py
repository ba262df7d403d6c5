"""The item table, items for experts and wrong answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from answered_world import answered, item_ids, settings, simulated, texts

from benchbuilder.core import page_texts
from benchbuilder.evaluation.analysis.item_sections import (
    column_correlations,
    item_table,
    items_for_experts,
    rest_scores,
    shares_of_best,
    wilson_interval,
    wrong_answers,
)

EN = page_texts("en")


def test_the_rest_leaves_out_the_whole_family() -> None:
    scores = np.array([[1.0, 0, 1, 1], [0, 1, 0, np.nan]])
    rest = rest_scores(answered(scores, families=np.array([0, 0, 1, 2])))
    assert rest[0].tolist() == [1.0, 1.0, 2 / 3, 2 / 3]
    assert rest[1, :3].tolist() == [0.0, 0.0, 0.5]
    assert np.isnan(rest[1, 3])  # it was not asked


def test_correlations_skip_what_is_missing_and_need_spread() -> None:
    first = np.array([[1.0, 1], [2, 1], [3, 1], [np.nan, 1]])
    second = np.array([[2.0, 1], [4, 2], [6, 3], [0, 4]])
    found = column_correlations(first, second)
    assert found[0] == pytest.approx(1.0)
    assert np.isnan(found[1])


def test_models_that_tie_share_the_places_of_the_best() -> None:
    rest = np.array([[0.9], [0.5], [0.5], [0.1]])
    missed = np.array([[0.0], [1.0], [0.0], [1.0]])
    assert shares_of_best(missed, rest, 0.5)[0] == pytest.approx(0.25)
    assert shares_of_best(missed, rest, 0.25)[0] == 0.0


def test_items_have_flags() -> None:
    scores = simulated(12, 60, 3)
    order = np.argsort(scores.mean(1))
    scores[:, 0] = 1.0
    scores[order, 1] = [1] * 6 + [0] * 6  # the worse half gets it
    table = item_table(answered(scores), settings())
    assert table.flags[:2].tolist() == ["saturated", "negative"]
    assert table.best_miss[1] == 1.0
    assert np.isnan(table.item_rest[0])
    assert ((table.low <= table.difficulty) & (table.difficulty <= table.high)).all()
    assert (table.n == 12).all()
    assert "saturated" in table.sentences(EN)[1]


def test_three_models_show_difficulty_alone() -> None:
    scores = simulated(3, 20, 1)
    table = item_table(answered(scores), settings())
    said = "Analysis of items needs 5 models or more; 3 have answers (difficulty alone is shown)."
    assert table.sentences(EN)[1:] == [said]
    assert table.difficulty.tolist() == scores.mean(0).tolist()
    assert np.isnan(table.item_rest).all()
    assert set(table.flags) == {""}
    assert len(items_for_experts(answered(scores), settings()).ids) == 0


def test_rules_and_people_are_no_models() -> None:
    everybody = answered(simulated(6, 20, 1))
    systems = tuple(replace(one, group="rule") for one in everybody.systems)
    table = item_table(replace(everybody, systems=systems), settings())
    assert table.sentences(EN) == [EN("analysis.no_models")]


def test_an_interval_of_a_share() -> None:
    low, high = wilson_interval(np.array([0.0, 0.5]), np.array([60, 10]), 1.959964)
    assert high[0] == pytest.approx(0.0602, abs=1e-4)  # 0 of 60: at most 6.0 %
    assert (low[1], high[1]) == pytest.approx((0.2366, 0.7634), abs=1e-4)


def test_wrong_keys_are_among_the_first_tenth() -> None:
    found = list[float]()
    for seed in range(10):
        scores = simulated(10, 400, seed)
        wrong = np.random.default_rng(seed).choice(400, 20, replace=False)
        scores[:, wrong] = 1 - scores[:, wrong]
        sent = items_for_experts(answered(scores), settings())
        assert len(sent.ids) == 40
        found.append(len(set(sent.ids) & set(item_ids(400)[wrong])) / 20)
    assert np.mean(found) >= 0.75


def test_identical_models_raise_no_flag_but_what_all_miss_goes_back() -> None:
    scores = np.tile(simulated(1, 50, 4), (8, 1))
    table = item_table(answered(scores), settings())
    assert set(table.flags) <= {"", "saturated"}
    sent = items_for_experts(answered(scores), settings(experts=0.02))
    assert sent.difficulty.tolist() == [0.0]


def test_wrong_answers_of_open_questions_and_of_options() -> None:
    scores = np.array([[1.0, 1], [1, 0], [0, 0], [0, 0], [0, 1]])
    world = answered(
        scores, wrong_answers=texts("Mars", ""), options=((), ("A", "B", "C")), keys=texts("", "A"),
        types=texts("oe", "choice"),
    )  # fmt: skip
    said = np.array([[0.0, np.nan], [0, np.nan], [1, np.nan], [1, np.nan], [1, np.nan]])
    chosen = np.array([[-1, 0], [-1, 1], [-1, 1], [-1, 1], [-1, 0]])
    table = wrong_answers(replace(world, said_wrong=said, chosen=chosen), settings())
    assert table.ids.tolist() == ["item-0", "item-1", "item-1"]
    assert table.options.tolist() == ["", "B", "C"]
    assert table.said.tolist() == [0.6, 0.6, 0.0]
    assert table.weak.tolist() == [False, False, True]
    assert table.attracts[:1].tolist() == [True]
    assert table.item_columns()["said_wrong"] == {"item-0": 0.6, "item-1": 0.6}
    nothing = wrong_answers(answered(scores), settings())
    assert nothing.sentences(EN) == [EN("analysis.no_wrong_answers")]
