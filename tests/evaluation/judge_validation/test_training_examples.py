"""What judges learn from: rated answers and statements, and which of their items belong together."""

from __future__ import annotations

import random

import pytest
from judge_world import TRAINING, World, answer, item, score, world

from benchbuilder.core.errors import DataError
from benchbuilder.evaluation.judge_training.examples import drop_some_evidence, examples_digest, make_examples
from benchbuilder.evaluation.judges.base import Example


def of(made: World, aspect: str = "correctness", **changes: object) -> list[Example]:
    training = TRAINING.model_copy(update=changes)
    return make_examples(made.items, made.answers, made.scores, aspect, training)


def test_answers_come_with_their_ratings_and_statements_as_right_and_wrong_answers():
    one = item(1, "甲会引起乙。", "甲会引起丙。", "甲会引起什么？", evidence=["甲会引起乙。"], source="bios")
    said = answer(one, "alpha", "乙。")
    made = World([one], [said], [score(said, 0.75)])
    *rated, true, false = sorted(of(made), key=lambda example: (example.synthetic, -example.target))
    (example,) = rated
    assert (example.target, example.weight, example.model, example.source) == (0.75, 1.0, "alpha", "bios")
    assert (example.case.question, example.case.answer, example.case.evidence) == (
        "甲会引起什么？", "乙。", ("甲会引起乙。",),
    )  # fmt: skip
    assert example.ratings == (("r1", 0.75), ("r2", 0.75), ("r3", 0.75))
    assert [(e.case.answer, e.target, e.weight, e.model) for e in (true, false)] == [
        ("甲会引起乙。", 1.0, 0.3, ""), ("甲会引起丙。", 0.0, 0.3, ""),
    ]  # fmt: skip
    assert {e.family for e in (example, true, false)} == {"fact-1"}


def test_items_do_not_belong_together_because_their_answers_are_the_same_verdicts():
    asked = ("甲会引起乙，对吗？", "水是由氢和氧组成的，对吗？")
    items = [item(n, "对。", "不对。", text) for n, text in enumerate(asked, 1)]
    apart = [one.model_copy(update={"verdict_only": True}) for one in items]
    answers = [answer(one, "alpha", "对。") for one in items]
    for rows, families in ((items, 1), (apart, 2)):
        made = World(rows, answers, [score(said, 0.75) for said in answers])
        assert len({example.family for example in of(made)}) == families


def test_statements_say_nothing_of_an_aspect_that_is_not_about_truth():
    made = world(3)
    made.scores = [row.model_copy(update={"aspect": "interpretability"}) for row in made.scores]
    assert not any(example.synthetic for example in of(made, "interpretability"))
    with pytest.raises(DataError, match="no answer with a rating of its correctness"):
        of(made)


def test_only_scores_of_the_scorer_with_a_value_and_an_item_count():
    made = world(4)
    stray = item(99, "a。", "b。", "c？")
    said = answer(stray, "alpha", "d")
    made.answers.append(said)
    made.scores += [
        score(said, 1.0), score(made.answers[0], 0.2, scorer="verdict"),
    ]  # fmt: skip
    made.scores[0] = score(made.answers[0], None)
    rated = [example for example in of(made) if not example.synthetic]
    assert len(rated) == 4 * 4 - 1


def test_the_order_of_rows_makes_no_difference():
    made, rng = world(10), random.Random(2)
    before = of(made)
    for rows in (made.items, made.answers, made.scores):
        rng.shuffle(rows)
    assert of(made) == before
    assert examples_digest(rng.sample(before, len(before))) == examples_digest(before)


def test_the_digest_sees_a_changed_rating_an_edited_paragraph_and_a_weight():
    made = world(4)
    digests = {examples_digest(of(made)), examples_digest(of(made, synthetic_weight=0.5))}
    made.scores[0] = score(made.answers[0], 0.33)
    digests.add(examples_digest(of(made)))
    payload = made.items[0].payload
    support = payload.evidence[0].model_copy(update={"text": "x"})
    made.items[0] = made.items[0].model_copy(update={"payload": payload.model_copy(update={"evidence": (support,)})})
    digests.add(examples_digest(of(made)))
    assert len(digests) == 4


def test_a_share_of_the_examples_loses_its_paragraphs_and_always_the_same_ones():
    examples = of(world(80))
    fewer = drop_some_evidence(examples, 0.3, 5)
    lost = {place for place, example in enumerate(fewer) if not example.case.evidence}
    assert 0.24 < len(lost) / len(examples) < 0.36
    assert [e.target for e in fewer] == [e.target for e in examples]
    assert drop_some_evidence(examples, 0.0, 5) == examples
    again = drop_some_evidence(examples[50:], 0.3, 5)
    assert again == fewer[50:]
    more = {place for place, example in enumerate(drop_some_evidence(examples, 0.6, 5)) if not example.case.evidence}
    assert lost < more
    assert drop_some_evidence(examples, 0.3, 6) != fewer
