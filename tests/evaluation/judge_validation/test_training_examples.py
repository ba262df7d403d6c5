"""What judges learn from: rated answers and statements, and which of their items belong together."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_world import TRAINING, World, answer, item, score, world

from benchbuilder.core.errors import DataError
from benchbuilder.evaluation.judge_training.examples import drop_some_evidence, examples_digest, make_examples
from benchbuilder.evaluation.judge_training.item_groups import GroupMember, item_families, jaccard, near_pairs, trigrams
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


WORDS = st.text("abcdef", min_size=0, max_size=12)
SETS = st.lists(st.frozensets(st.sampled_from(string.ascii_lowercase[:12]), max_size=9), max_size=25, unique=True)


@settings(max_examples=200)
@given(SETS, st.floats(0.05, 1.0))
def test_every_pair_above_the_border_is_found_and_no_other(sets: list[frozenset[str]], near: float):
    wanted = {
        (one, other)
        for one in range(len(sets))
        for other in range(one + 1, len(sets))
        if jaccard(sets[one], sets[other]) > near
    }
    found = [tuple(sorted(pair)) for pair in near_pairs(sets, near)]
    assert len(found) == len(set(found))
    assert set(found) == wanted


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(["", "f1", "f2", "f3"]), st.tuples(WORDS, WORDS)), max_size=12),
       st.randoms())  # fmt: skip
def test_the_order_of_items_makes_no_difference_and_kin_stays_together(
    rows: list[tuple[str, tuple[str, str]]], rng: random.Random
):
    members = [GroupMember(f"i{place}", fact, texts) for place, (fact, texts) in enumerate(rows)]
    families = item_families(members, 0.5)
    assert item_families(rng.sample(members, len(members)), 0.5) == families
    for one in members:
        for other in members:
            texts = [(trigrams(a), trigrams(b)) for a in one.texts for b in other.texts]
            near = any(jaccard(a, b) > 0.5 or (a and a == b) for a, b in texts)
            if near or (one.fact and one.fact == other.fact):
                assert families[one.id] == families[other.id]


def test_marks_widths_and_case_do_not_tell_questions_apart():
    members = [
        GroupMember("a", "f1", ("早产儿的胎龄小于３７周吗？",)),
        GroupMember("b", "f2", ("早产儿的胎龄小于37周吗?",)),
    ]
    assert len(set(item_families(members, 1.0).values())) == 1


def test_kin_of_kin_is_kin_and_a_family_has_its_first_name():
    members = [
        GroupMember("a", "f9", ("abcdefgh",)),
        GroupMember("b", "f1", ("bcdefghi",)),
        GroupMember("c", "f5", ("cdefghij",)),
        GroupMember("d", "f7", ("zzzzzzzz",)),
    ]
    assert jaccard(trigrams("abcdefgh"), trigrams("cdefghij")) <= 0.6
    assert item_families(members, 0.6) == {"a": "f1", "b": "f1", "c": "f1", "d": "f7"}


def test_items_without_a_fact_and_without_texts_are_alone():
    members = [
        GroupMember("a", "", ("",)),
        GroupMember("b", "", ("！？",)),
        GroupMember("c", "", ("ab",)),
        GroupMember("d", "", ("abc",)),
    ]
    assert item_families(members, 0.1) == {name: name for name in "abcd"}
