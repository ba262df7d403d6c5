"""What claims did to answers: figures of scripted models, transitions, false alarms and planted effects."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from benchbuilder.evaluation.results.columns import AskedItems, TextColumn
from benchbuilder.evaluation.results.context import BootstrapSettings
from benchbuilder.evaluation.results.pressed_answers import PressedAnswers
from benchbuilder.evaluation.results.pressure import (
    PressureFigures,
    PressureResults,
    _keeps_by_wrong,  # pyright: ignore[reportPrivateUsage]
    pressure_figures,
)

RIGHT, WRONG, NEITHER, NONE = 0, 1, 2, -1
BOOTSTRAP: BootstrapSettings = {"samples": 199, "level": 0.95, "seed": 3}


def asked(expected: list[str], per_family: int = 2, forms: list[str] | None = None) -> AskedItems:
    count = len(expected)
    same = TextColumn.of(["medqa"] * count)
    families = TextColumn.of(f"family-{place // per_family}" for place in range(count))
    return AskedItems(
        [f"item-{place}" for place in range(count)], same, TextColumn.of("TF" if key else "OE" for key in expected),
        TextColumn.of(forms or ["statement"] * count), TextColumn.of(expected), same, families, families,
        same,
    )  # fmt: skip


def figures(
    items: AskedItems, first: Any, contexts: Mapping[str, tuple[Any, Any]], control: Any, seed: int = 3
) -> list[PressureFigures]:
    states = {f"{name}.{side}": np.array(told, np.int8) for name, pair in contexts.items()
              for side, told in zip(("wrong", "right"), pair, strict=True)}  # fmt: skip
    answers = PressedAnswers("m", np.array(first, np.int8), {**states, "control": np.array(control, np.int8)})
    return pressure_figures(answers, items, list(contexts), {**BOOTSTRAP, "seed": seed})


def alternating(count: int) -> list[str]:
    return ["yes", "no"] * (count // 2)


@pytest.mark.parametrize("expected", [alternating(60), [""] * 60])
def test_one_that_copies_takes_up_whatever_it_is_told_and_one_that_ignores_claims_nothing(expected: list[str]):
    items = asked(expected)
    first = np.random.default_rng(5).choice([RIGHT, WRONG, NEITHER], 60, p=[0.6, 0.3, 0.1])
    told = (np.full(60, WRONG), np.full(60, RIGHT))
    copier, ignorer = (figures(items, first, {"stated": pair}, first)[0] for pair in (told, (first, first)))
    wrong, right = (float((first == side).mean()) for side in (WRONG, RIGHT))
    assert copier.uptake_wrong.value == pytest.approx(1 - wrong, abs=0.05)
    assert copier.uptake_right.value == pytest.approx(1 - right, abs=0.05)
    if not expected[0]:
        assert (copier.uptake_wrong.value, copier.uptake_right.value) == pytest.approx((1 - wrong, 1 - right))
    assert copier.discernment.value == pytest.approx(0, abs=0.01)
    assert (copier.misled.value, copier.misled_control.value, copier.lost.value) == (1, 0, 1)
    assert copier.p_holm is not None
    assert copier.p_holm < 0.05
    for name in ("damage", "misled", "excess", "lost", "uptake_wrong", "uptake_right", "uptake_control", "discernment"):
        own = getattr(ignorer, name)
        assert (own.value, own.low, own.high) == (0, 0, 0), name
    assert ignorer.p_holm is None


def test_figures_are_ratios_of_the_counts_and_rest_on_items_with_every_answer():
    items = asked([""] * 8, per_family=1)
    first = [RIGHT, RIGHT, RIGHT, RIGHT, WRONG, WRONG, NEITHER, RIGHT]
    wrong = [RIGHT, WRONG, WRONG, NEITHER, WRONG, RIGHT, WRONG, NONE]
    right = [RIGHT, RIGHT, RIGHT, WRONG, RIGHT, RIGHT, NEITHER, RIGHT]
    control = [RIGHT, RIGHT, WRONG, RIGHT, WRONG, WRONG, NEITHER, RIGHT]
    (one,) = figures(items, first, {"lay": (wrong, right)}, control)
    assert (one.n, one.families, one.type, one.key) == (7, 7, "oe", "")
    assert one.cells["wrong"] == ((1, 2, 1), (1, 1, 0), (0, 1, 0))
    assert one.cells["right"] == ((3, 1, 0), (2, 0, 0), (0, 0, 1))
    assert one.cells["control"] == ((3, 1, 0), (0, 2, 0), (0, 0, 1))
    values = {name: getattr(one, name).value for name in (
        "accuracy", "damage", "misled", "misled_control", "excess", "lost", "uptake_wrong", "uptake_right",
        "uptake_control", "discernment", "neither", "sycophancy",
    )}  # fmt: skip
    assert values == pytest.approx({
        "accuracy": 4 / 7, "damage": 2 / 7, "misled": 2 / 4, "misled_control": 1 / 4, "excess": 1 / 4, "lost": 3 / 4,
        "uptake_wrong": 2 / 7, "uptake_right": 1 / 7, "uptake_control": 1 / 7,
        "discernment": 1 / 3 - 2 / 5, "neither": 0, "sycophancy": 4 / 5,
    })  # fmt: skip
    assert (one.excess.p, one.p_holm) == (None, None)
    assert "fewer than 5 families" in one.excess.why
    states = {"lay.wrong": np.array(wrong, np.int8), "control": np.array(control, np.int8)}
    found = PressureResults(items, (PressedAnswers("m", np.array(first, np.int8), states),), (one,), 0)
    assert found.figure("m", "lay", "oe") is one
    assert found.transitions("m", "lay.wrong", "oe") == one.cells["wrong"]
    assert found.transitions("m", "control", "oe") == ((4, 1, 0), (0, 2, 0), (0, 0, 1))
    for model, kind in (("m", "tf"), ("other", "oe")):
        with pytest.raises(KeyError):
            found.figure(model, "lay", kind)


@pytest.mark.parametrize("verdict", ["yes", "no"])
def test_one_that_always_says_the_same_keeps_the_mean_of_both_keys(verdict: str):
    expected = ["yes"] * 42 + ["no"] * 18
    states = np.array([RIGHT if key == verdict else WRONG for key in expected])
    sayer = figures(asked(expected), states, {"lay": (states, states)}, states)
    assert [one.key for one in sayer] == ["", "yes", "no"]
    assert sayer[0].accuracy.value == pytest.approx(0.5, abs=1e-12)
    assert sayer[0].damage.value == pytest.approx(0, abs=1e-12)
    mixed = np.array([RIGHT, WRONG] * 30)
    swayed = figures(asked(expected), mixed, {"lay": (states, states)}, states)
    assert swayed[0].accuracy.value == pytest.approx(0.5)
    assert swayed[0].damage.value == pytest.approx(0, abs=1e-12)
    assert {one.key: one.damage.value for one in swayed[1:]} == pytest.approx(
        {verdict: -0.5, "no" if verdict == "yes" else "yes": 0.5}
    )
    assert swayed[0].excess.value == pytest.approx(0, abs=1e-12)


def test_types_and_forms_are_never_pooled():
    items = asked([*alternating(24), *[""] * 12], forms=["statement", "statement", "answer", "answer"] * 9)
    same = np.zeros(36, np.int8)
    found = figures(items, same, {"lay": (same, same), "stated": (same, np.full(36, NONE))}, same)
    headlines = [(one.type, one.form, one.n) for one in found if not one.key]
    assert headlines == [("tf", "statement", 12), ("tf", "answer", 12), ("oe", "statement", 6), ("oe", "answer", 6)]
    one_form = np.where(items.forms.among(["statement"]), same, NONE)
    alone = figures(items, same, {"lay": (one_form, one_form)}, one_form)
    assert [(one.type, one.form, one.n) for one in alone if not one.key] == [("tf", "", 12), ("oe", "", 6)]


def flipped(random: np.random.Generator, states: Any, share: float) -> Any:
    return np.where(random.random(len(states)) < share, WRONG - states, states)


def noisy(seed: int, families: int, contexts: int, excess: float = 0.0, noise: float = 0.15) -> list[PressureFigures]:
    """A model whose every answer is flipped by chance, and a claim that makes `excess` more of the right ones wrong."""
    random = np.random.default_rng(seed)
    count = 2 * families
    knows = np.where(random.random(count) < 0.7, RIGHT, WRONG)
    first, control = flipped(random, knows, noise), flipped(random, knows, noise)
    told: dict[str, tuple[Any, Any]] = {}
    for number in range(contexts):
        wrong = flipped(random, knows, noise)
        wrong = np.where((first == RIGHT) & (wrong == RIGHT) & (random.random(count) < excess), WRONG, wrong)
        told[f"context{number}"] = (wrong, flipped(random, knows, noise))
    return figures(asked([""] * count), first, told, control, seed=seed)


@pytest.mark.full
def test_noise_alone_is_an_effect_no_more_often_than_it_may():
    found = [noisy(seed, 100, 1)[0] for seed in range(400)]
    alarms = sum(one.excess.p is not None and one.excess.p <= 0.05 for one in found)
    assert 0.03 * 400 <= alarms <= 0.07 * 400
    assert all(one.misled.low is not None and one.misled.low > 0 for one in found), "so it never stands alone"


@pytest.mark.push
def test_with_eight_contexts_holm_keeps_false_alarms_down_and_finds_what_was_planted():
    null = [noisy(seed, 100, 8) for seed in range(40)]
    assert sum(any(one.p_holm is not None and one.p_holm <= 0.05 for one in run) for run in null) <= 7
    planted = [noisy(seed, 300, 1, excess=0.118)[0] for seed in range(40)]
    assert fmean(one.excess.value or 0 for one in planted) == pytest.approx(0.1, abs=0.02)
    assert sum(one.excess.p is not None and one.excess.p <= 0.05 for one in planted) >= 30


@pytest.mark.full
def test_a_drop_of_five_points_is_found_with_the_families_that_the_quote_asks_for():
    found, runs = 0, 150
    for seed in range(runs):
        random = np.random.default_rng(seed)
        families = 302
        again = random.random(families) < 0.3  # the second question of a family does what the first one did
        first, wrong = (np.empty(2 * families, np.int8) for _ in range(2))
        fate = random.choice(4, (families, 2), p=[0.60, 0.10, 0.05, 0.25])
        fate[again, 1] = fate[again, 0]
        for place, one in enumerate(fate.ravel()):  # right twice, only at first, only later, never
            first[place], wrong[place] = ((RIGHT, RIGHT), (RIGHT, WRONG), (WRONG, RIGHT), (WRONG, WRONG))[one]
        (one,) = figures(asked([""] * 2 * families), first, {"lay": (wrong, first)}, first, seed=seed)
        found += one.damage.low is not None and one.damage.low > 0
    assert 0.70 * runs <= found <= 0.91 * runs


@pytest.mark.parametrize(
    ("questions", "keep", "judged"),
    [
        ({"wrong_is_wrong": {"field": None}}, {"wrong_is_wrong": 1}, True),
        ({"other": {"field": "wrong"}}, {"other": 1}, True),
        ({"other": {"field": "wrong"}}, {}, False),
        ({"fluent": {"field": None}, "gone": None}, {"fluent": 1}, False),
    ],
)
def test_items_are_judged_if_their_wrong_answers_are(questions: Any, keep: Any, judged: bool):
    assert _keeps_by_wrong({"questions": questions, "keep": keep}) is judged
    assert not _keeps_by_wrong({})
