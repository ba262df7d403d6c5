"""The tokenizer `syllables`."""

from __future__ import annotations

import pytest
from benchbuilder_example.syllables import Syllables, SyllablesSpec

from benchbuilder.testing import check_tokenizer

TEXTS = ["Umntwana uyaphila.", "Ọmọ náà sàn", "o\u0323mo\u0323", "BMI ≥ 30", "新生儿", "\u0301a", "  \n", "a"]


def made() -> Syllables:
    return Syllables(SyllablesSpec(kind="syllables", vowels="aeiou"))


def test_it_keeps_the_contract() -> None:
    check_tokenizer(made, TEXTS)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Umntwana uyaphila.", ["U", "mntwa", "na", "u", "ya", "phi", "la", "."]),
        ("ọmọ o\u0323mo\u0323", ["ọ", "mọ", "o\u0323", "mo\u0323"]),
        ("(30 kg)", ["(", "30", "kg", ")"]),
    ],
)
def test_words_are_cut_behind_vowels(text: str, tokens: list[str]) -> None:
    assert made().tokens(text) == tokens


def test_forms_of_a_word_share_tokens() -> None:
    one, other = (set(made().tokens(word)) for word in ("umntwana", "nabantwana"))
    assert "na" in one & other
