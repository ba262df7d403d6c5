"""Many texts cut together have the tokens of each text cut alone, which are jieba's."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_jieba_compiled import CHARACTERS, RARE, SCRIPT, compiled, pure, some_text

from benchbuilder.core.text.wordlist import load_words
from benchbuilder.retrieval.tokenizers import jieba, jieba_columns
from benchbuilder.retrieval.tokenizers.hidden_states import guess_words, later_words
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec, JiebaTokenizer
from benchbuilder.retrieval.tokenizers.jieba_compiled import column_cut
from benchbuilder.retrieval.tokenizers.jieba_words import JiebaDictionary, jieba_dictionary
from benchbuilder.retrieval.tokenizers.word_trie import WordTrie, code_points

WORDS = Path(__file__).parents[3] / "recipes" / "recipe" / "care_mi" / "words.txt"


@cache
def together(*own):
    return column_cut(own)


def split(columns):
    lengths, tokens, terms = columns
    assert int(lengths.sum()) == len(tokens)
    assert terms == list(dict.fromkeys(terms[number] for number in tokens.tolist()))
    parts = np.split(tokens, np.cumsum(lengths)[:-1])
    return [[terms[number] for number in part.tolist()] for part in parts] if len(lengths) else []


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(jieba_columns, "_LEAST", 0)
    monkeypatch.setattr(jieba_columns, "_PER_STEP", 0)


@pytest.mark.push
@pytest.mark.parametrize("most", [100, 1 << 19])
def test_random_texts(any_size, monkeypatch, most):
    monkeypatch.setattr(jieba_columns, "_MOST", most)
    chance, words = random.Random(5), list(jieba_dictionary().frequencies)
    texts = [text[:190] for text in (some_text(chance, words) for _ in range(2500 if most > 100 else 300))]
    assert split(together()(texts)) == [pure().lcut(text) for text in texts]


@pytest.mark.push
@settings(max_examples=100)
@given(
    st.lists(
        st.text(alphabet=st.sampled_from([*"子痫前期是妊娠孕婦產後出血哈\x00", *CHARACTERS]), max_size=40),
        min_size=1,
        max_size=5,
    )
)
@example(["", ""])
@example(["\r", "\n", "\r\n\n\r", "a\x00", "\x00b"])
@example(
    [
        "哈哈哈哈哈哈哈哈哈",
        "The α-thalassemia trait 100% of COVID-19 cases_",
        "孕妇应当补充叶酸，每天0.4mg（well-known）。" * 50,
    ]
)
def test_any_texts(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jieba_columns, "_LEAST", 0)
        patch.setattr(jieba_columns, "_PER_STEP", 0)
        assert split(together()(texts)) == [compiled(True)(text) for text in texts]


@pytest.mark.push
def test_with_the_words_of_a_recipe(any_size):
    chance = random.Random(1)
    own = (*((word, None) for word in load_words(WORDS)), ("胎膜早破-1", 7), ("".join(RARE[:3]), 10**6))
    known = [word for word, _ in own]
    texts = ["".join(chance.choice([chance.choice(known), "的", "孕妇", "，"]) for _ in range(12)) for _ in range(500)]
    assert split(together(*own)(texts)) == [compiled(True, *own)(text) for text in texts]


def test_guesses_are_those_of_one_run_after_another():
    chance = random.Random(3)
    runs = ["".join(chance.choices(chance.choice([SCRIPT, RARE]), k=chance.randint(1, 12))) for _ in range(1500)]
    ends = np.cumsum([len(run) for run in runs])
    starts = np.concatenate([[0], ends[:-1]])
    later = set(later_words(code_points("".join(runs)), starts, ends).tolist())
    for start, run in zip(starts.tolist(), runs, strict=True):
        places = np.cumsum([0, *map(len, guess_words(run))])[1:-1] + start
        assert [at for at in range(start + 1, start + len(run)) if at in later] == places.tolist()
    nothing = np.zeros(0, np.int64)
    assert not len(later_words(nothing, nothing, nothing))


def test_a_trie_knows_every_word_and_no_other():
    words = JiebaDictionary({"甲": 4, "甲乙丙": 2, "乙": 0, "丙b": 1, "乙丙": 3, "𠮷": 1}, 100)
    starts, sizes, weights, nodes = WordTrie(words).edges(np.append(code_points("甲乙丙b𠮷"), 0))
    assert np.diff(starts).tolist() == [2, 1, 1, 1, 1, 0]
    assert sizes.tolist() == [1, 3, 2, 2, 1, 1]
    counts = [4, 2, 3, 1, 1, 1]
    assert weights.tolist() == [np.log(count) - np.log(100) for count in counts]
    assert (nodes == 0).tolist() == [False, False, False, False, True, False]


def test_texts_are_cut_one_by_one_until_there_are_many(monkeypatch):
    texts = ["孕妇应当补充叶酸，预防神经管缺陷。", "琦胸与尉沐昕。"] * 600
    one_by_one = JiebaTokenizer(JiebaSpec(kind="jieba", implementation="compiled")).token_columns(texts)
    calls = []
    monkeypatch.setattr(jieba, "column_cut", lambda own: lambda texts: calls.append(len(texts)) or together()(texts))
    monkeypatch.setattr(jieba, "_COLUMNS_FROM", 20_000)
    tokenizer = JiebaTokenizer(JiebaSpec(kind="jieba"))
    first = tokenizer.token_columns(texts)
    assert not calls
    again = tokenizer.token_columns(texts)
    assert calls == [1200]
    few = tokenizer.token_columns(texts[:2])
    assert split(first) == split(again) == split(one_by_one) == split(few) * 600


def test_a_run_without_end_is_left_to_the_other_way():
    assert together()(["a" * 10_000, "孕妇。" * 10_000]) is None
    assert together()(["孕妇。"]) is None
    assert together()([]) is None
    assert together()(["孕妇。" * 400_000]) is None  # it would take much memory
    assert together()(["孕妇。" * 10_000]) is not None
