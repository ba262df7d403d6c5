"""Near duplicates: which texts are near, which rows form a family, and which texts count as equal."""

from __future__ import annotations

import random
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.core.text.near_duplicates import equality_key, jaccard, near_texts, trigrams
from benchbuilder.core.text.near_sets import NumberSets, near_sets, trigram_sets
from benchbuilder.evaluation.judge_training.examples import GroupMember, item_families

WORDS = st.text("abcdef", min_size=0, max_size=12)
SETS = st.lists(st.frozensets(st.sampled_from(string.ascii_lowercase[:12]), max_size=9), max_size=25, unique=True)


@pytest.mark.push
@settings(max_examples=200)
@given(SETS, st.floats(0.05, 1.0))
def test_every_pair_above_the_border_is_found_and_no_other(sets: list[frozenset[str]], near: float):
    wanted = {
        (one, other)
        for one in range(len(sets))
        for other in range(one + 1, len(sets))
        if jaccard(sets[one], sets[other]) > near
    }
    owners = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
    members = np.array([ord(sign) for one in sets for sign in one], np.uint64)
    pairs = near_sets(NumberSets.of(owners, members, len(sets)), near)
    found = [tuple(sorted(pair)) for ones, others in pairs for pair in zip(ones.tolist(), others.tolist(), strict=True)]
    assert len(found) == len(set(found))
    assert set(found) == wanted


def read_back(number: int) -> str:
    return "".join(chr(sign) for sign in (number >> 42, number >> 21 & 0x1FFFFF, number & 0x1FFFFF) if sign)


@settings(max_examples=60)
@given(st.lists(st.text("abcdé Ａ１2，。\u094d疾病\u0301\ud800𠀀ß", max_size=9) | st.text(max_size=9), max_size=9))
def test_trigrams_as_numbers_are_those_of_each_text(texts: list[str]) -> None:
    sets = trigram_sets(texts)
    held = [sets.take(np.array([place])).members.tolist() for place in range(len(texts))]
    assert [sorted(map(read_back, members)) for members in held] == [sorted(trigrams(text)) for text in texts]


def test_few_pairs_at_a_time_are_the_same_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(4)
    texts = ["".join(rng.choices("abc", k=rng.randint(0, 8))) for _ in range(60)]
    pairs = sorted(near_texts(texts, 0.3))
    assert len(pairs) > 20
    monkeypatch.setattr("benchbuilder.core.text.near_sets._COMPARED", 3)
    monkeypatch.setattr("benchbuilder.core.text.near_sets._TEXTS", 2)
    assert sorted(near_texts(texts, 0.3)) == pairs


def test_long_texts_that_share_many_rare_members_are_compared_once_if_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, compared = random.Random(4), list[int]()
    words = ["".join(rng.choices(string.ascii_lowercase, k=6)) for _ in range(300)]
    texts = [" ".join(rng.choices(words, k=150)) for _ in range(30)]
    near_ones = [f"{text} {rng.choice(words)}" for text in texts[:5]]

    def common(sets: NumberSets, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        compared.append(len(left))
        return share(sets, left, right)

    share = NumberSets.common
    monkeypatch.setattr(NumberSets, "common", common)
    found = [
        pair
        for ones, others in near_sets(trigram_sets(texts + near_ones), 0.8)
        for pair in zip(ones, others, strict=True)
    ]
    assert {tuple(sorted(map(int, pair))) for pair in found} == {(place, 30 + place) for place in range(5)}
    assert sum(compared) <= 20  # of 595 pairs, each of which shares dozens of rare trigrams


@pytest.mark.push
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


def test_texts_are_equal_without_widths_marks_and_case_but_not_without_their_signs():
    assert equality_key("HBsAg（＋），首选的是（ ）。") == equality_key("hbsag(+)首选的是")
    assert equality_key("0.5～1.0mg") != equality_key("5～10mg")
    assert equality_key("血糖 1.5%") != equality_key("血糖 15%")
    assert equality_key("HBeAg（-）") != equality_key("HBeAg（+）")
    assert equality_key("。！") == ""
