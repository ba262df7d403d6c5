from __future__ import annotations

import pytest
from pydantic import ValidationError

from benchbuilder.core.registry import create_from_spec
from benchbuilder.retrieval.tokenizers.character_ngrams import CharacterNgramsSpec


def tokens(text, shortest=3, longest=4, within="words"):
    spec = CharacterNgramsSpec(kind="character_ngrams", shortest=shortest, longest=longest, within=within)
    return create_from_spec("tokenizer", spec).tokens(text)


def test_runs_of_each_length_inside_words_by_where_they_begin():
    assert tokens("umama, uyaphi") == [
        "uma",
        "umam",
        "mam",
        "mama",
        "ama",
        "uya",
        "uyap",
        "yap",
        "yaph",
        "aph",
        "aphi",
        "phi",
    ]


def test_short_words_are_tokens_as_they_are_and_marks_between_words_are_none():
    assert tokens("u-no: (a)") == ["u", "no", "a"]


def test_over_the_whole_text_where_words_are_not_apart():
    assert tokens("ab c", 2, 2, "text") == ["ab", "b ", " c"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("คือน้ำนม", "คื"),  # a vowel above stays with its consonant
        ("o\u0323\u0300mo\u0323", "o\u0323\u0300m"),  # a tone and a dot below
        ("कि\u200dक", "कि\u200dक"),
    ],
)
def test_a_letter_is_never_cut_from_its_marks(text, first):
    found = tokens(text, 1 if first == "คื" else 2, 2)
    assert found[0] == first
    assert not any(token[0] in "\u0323\u0300\u0e37\u200d\u093f" for token in found)


def test_the_longest_is_not_shorter_than_the_shortest():
    with pytest.raises(ValidationError, match="less than shortest"):
        tokens("a", 4, 3)


def test_its_tokens_overlap_and_a_step_that_needs_words_says_so():
    from benchbuilder.retrieval.tokenizers.base import word_boundary_problem

    made = create_from_spec(
        "tokenizer", CharacterNgramsSpec(kind="character_ngrams", shortest=2, longest=3, within="words")
    )
    assert [complaint.key for complaint in word_boundary_problem(made)] == ["tokenizer"]
    assert [complaint.actual for complaint in word_boundary_problem(None)] == ["null"]
