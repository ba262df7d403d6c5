"""No split lets a judge see what it is held to account on."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_world import MODELS, TRAINING, World, answer, item, score, world

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.payloads import Item
from benchbuilder.core.text.near_duplicates import jaccard, trigrams
from benchbuilder.evaluation.judge_training.examples import make_examples
from benchbuilder.evaluation.judge_training.splits import Split, split_examples
from benchbuilder.evaluation.judges.base import Example

HOLDS_QUESTIONS = ("by_question", "both")


def examples(made: World, **changes: Any) -> list[Example]:
    training = TRAINING.model_copy(update=changes)
    return make_examples(made.items, made.answers, made.scores, "correctness", training)


def parted(found: list[Example], by: str, seed: int = 1, **changes: Any) -> Split:
    return split_examples(found, TRAINING.model_copy(update={"split": by, **changes}), seed)


def texts(example: Example) -> list[str]:
    """Whatever of an example could give its question away: itself, and its synthetic statements."""
    case = example.case
    return [case.question, case.right, case.wrong, *([case.answer] if example.synthetic else [])]


def assert_no_leak(found: Split, near: float) -> None:
    """Nothing that is learned from is, or nearly is, what is held out."""
    learned = {trigrams(text) for example in found.training for text in texts(example)} - {frozenset()}
    held = {trigrams(text) for example in found.held_out for text in texts(example)} - {frozenset()}
    for one, other in itertools.product(learned, held):
        assert one != other
        assert jaccard(one, other) <= near
    for field in ("item", "family"):
        sides = [{getattr(example, field) for example in side} for side in (found.training, found.held_out)]
        assert not sides[0] & sides[1]


def planted(items: list[Item[Any]], rng: random.Random) -> list[Item[Any]]:
    """Near duplicates of a third of the items, as facts of their own: other marks, a word more, a statement asked."""
    more: list[Item[Any]] = []
    for number, one in enumerate(rng.sample(items, len(items) // 3)):
        claim = one.payload
        changed = rng.choice([
            {"question": claim.question.replace("？", "?  "), "answer": "", "answer_wrong": ""},
            {"question": f"请问{claim.question}", "answer": "", "answer_wrong": ""},
            {"question": claim.answer.rstrip("。") + "吗？", "answer": "", "answer_wrong": ""},
            {"question": f"{number}{number + 7}?", "answer": claim.answer_wrong.rstrip("。"), "answer_wrong": ""},
        ])  # fmt: skip
        row = one.model_copy(update={
            "id": f"item-planted-{number}", "fact": f"fact-planted-{number}",
            "payload": claim.model_copy(update={**changed, "context": ""}),
        })  # fmt: skip
        more.append(row)
    return more


def rated(items: list[Item[Any]], rng: random.Random) -> World:
    """Every model answers every item, and is rated."""
    answers = [answer(one, model, f"{model}: {one.payload.answer}") for one in items for model in MODELS]
    return World(items, answers, [score(said, rng.random()) for said in answers])


@pytest.mark.push
@pytest.mark.parametrize("by", HOLDS_QUESTIONS)
def test_the_sample_with_planted_near_duplicates_does_not_leak(sample_items: list[Item[Any]], by: str):
    rng = random.Random(7)
    near = 0.6
    duplicates = planted(sample_items, rng)
    assert len(duplicates) > 100
    made = rated([*sample_items, *duplicates], rng)
    found = parted(examples(made, near=near), by, near=near, held_out=0.25)
    assert_no_leak(found, near)
    held = {example.item for example in found.held_out}
    asked = {example.item for example in examples(made, near=near)}
    assert 0.15 < len(held) / len(asked) < 0.35
    assert any(name.startswith("item-planted") for name in held)


@pytest.mark.push
@pytest.mark.parametrize("by", HOLDS_QUESTIONS)
def test_without_families_the_planted_duplicates_would_leak(sample_items: list[Item[Any]], by: str):
    rng = random.Random(7)
    made = rated([*sample_items, *planted(sample_items, rng)], rng)
    alone = [Example(**{name: getattr(example, name) for name in example.__slots__} | {"family": example.item})
             for example in examples(made)]  # fmt: skip
    with pytest.raises(AssertionError):
        assert_no_leak(parted(alone, by, held_out=0.25), 0.6)


TEXT = st.text("abcdeft？。", max_size=10)
ITEMS = st.lists(st.tuples(st.sampled_from(["f1", "f2", "f3", "f4", "f5", "f6"]), TEXT, TEXT, TEXT), min_size=4,
                 max_size=14)  # fmt: skip


@pytest.mark.push
@settings(max_examples=150)
@given(ITEMS, st.sampled_from(HOLDS_QUESTIONS), st.floats(0.2, 0.9), st.integers(0, 5), st.floats(0.2, 0.8))
def test_no_split_leaks(rows: list[tuple[str, str, str, str]], by: str, near: float, seed: int, share: float):
    items = [item(number, right, wrong, question, fact=fact) for number, (fact, right, wrong, question) in
             enumerate(rows)]  # fmt: skip
    found = examples(rated(items, random.Random(seed)), near=near)
    try:
        sides = parted(found, by, seed, near=near, held_out=share)
    except DataError:
        return
    assert_no_leak(sides, near)
    assert not any(example.synthetic for example in sides.held_out)
    together = [*sides.training, *sides.held_out, *sides.left_out]
    assert len(together) == len(found)
    assert set(map(id, together)) == set(map(id, found))
    learned = {example.model for example in sides.training} - {""}
    if by == "both":
        held = {example.model for example in sides.held_out}
        assert not learned & held
        assert all(
            (example.model in sides.models) != (example.family in sides.families)
            or (example.synthetic and example.family in sides.families)
            for example in sides.left_out
        )
    else:
        assert all(example.synthetic and example.family in sides.families for example in sides.left_out)


def test_by_model_keeps_the_held_out_models_out_and_every_question_in():
    found = examples(world(20))
    sides = parted(found, "by_model", models=("beta", "delta"))
    assert {example.model for example in sides.held_out} == {"beta", "delta"}
    assert {example.model for example in sides.training} == {"", "alpha", "gamma"}
    assert not sides.left_out
    assert {e.item for e in sides.held_out} == {e.item for e in sides.training}
    assert (sides.models, sides.families) == (("beta", "delta"), ())


def test_both_leaves_out_what_is_half_in():
    sides = parted(examples(world(40)), "both", models=("beta",))
    held = set(sides.families)
    assert {(e.model, e.family in held) for e in sides.held_out} == {("beta", True)}
    assert {(e.model, e.family in held) for e in sides.training} == {
        (m, False) for m in ("", "alpha", "gamma", "delta")
    }
    assert {(e.model, e.family in held) for e in sides.left_out} == {
        ("beta", False), *((m, True) for m in ("", "alpha", "gamma", "delta")),
    }  # fmt: skip


def test_every_source_gives_its_share_of_questions():
    found = examples(world(100))
    sides = parted(found, "by_question", held_out=0.3)
    for source in ("medqa", "mlecqa"):
        held = {example.item for example in sides.held_out if example.source == source}
        assert len(held) == 15


def test_the_draw_hangs_on_the_seed_and_not_on_the_order():
    found = examples(world(40))
    sides = parted(found, "both")
    again = parted(random.Random(3).sample(found, len(found)), "both")
    assert (again.models, again.families) == (sides.models, sides.families)
    draws = {(s.models, s.families) for s in (parted(found, "both", seed) for seed in range(8))}
    assert len(draws) > 4


def test_what_cannot_be_split_is_refused_with_a_way_on():
    made = world(12)
    with pytest.raises(DataError) as told:
        parted(examples(made), "by_model", models=("omega",))
    assert "no rated answer of omega" in str(told.value)
    assert "alpha, beta, delta, gamma" in str(told.value)
    lonely = [example for example in examples(made) if example.model in ("", "alpha")]
    with pytest.raises(DataError, match="no rated answer is left for training by the split by_model"):
        parted(lonely, "by_model")


def test_paragraphs_on_both_sides_are_counted():
    sides = parted(examples(world(40)), "both", models=("beta",))
    number = len(sides.held_out)
    assert sides.card_data()["shared_paragraphs"] == {"answers": number, "some": 0, "all": 0}
    known = sides.training[0].case.evidence
    some, every, none, *rest = sides.held_out
    held = (
        replace(some, case=replace(some.case, evidence=(*some.case.evidence, known[0]))),
        replace(every, case=replace(every.case, evidence=known[::-1])),
        replace(none, case=none.case.without_evidence()),
        *rest,
    )
    told = replace(sides, held_out=held).card_data()
    assert told["shared_paragraphs"] == {"answers": number - 1, "some": 2, "all": 1}


def test_what_is_left_out_is_half_known():
    sides = parted(examples(world(40)), "both", models=("beta",))
    found = sides.partly_seen()
    assert {example.model for example, side in found if side == "known_model"} == {"alpha", "gamma", "delta"}
    assert {example.model for example, side in found if side == "known_question"} == {"beta"}
    held = {example.item for example in sides.held_out}
    assert all((example.item in held) == (side == "known_model") for example, side in found)
    assert len(found) == sum(not example.synthetic for example in sides.left_out)
    assert parted(examples(world(40)), "by_model", models=("beta",)).partly_seen() == []


def test_the_card_says_who_is_held_out():
    sides = parted(examples(world(40)), "both", models=("beta",))
    told = sides.card_data()
    assert (told["by"], told["models"]) == ("both", ["beta"])
    assert told["counts"]["held_out"] == {
        "rated": len(sides.held_out), "synthetic": 0, "questions": told["questions"], "families": len(told["families"]),
        "models": 1,
    }  # fmt: skip
