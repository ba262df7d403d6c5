from __future__ import annotations

from benchbuilder.core.registry import create_from_spec
from benchbuilder.retrieval.tokenizers.whitespace import WhitespaceSpec


def test_words_between_white_space():
    tokenizer = create_from_spec("tokenizer", WhitespaceSpec(kind="whitespace"))
    tokenizer.open()
    assert tokenizer.tokens(" Folic acid,\u3000taken\tearly.\n") == ["Folic", "acid,", "taken", "early."]
    assert tokenizer.tokens("") == []
    assert tokenizer.fingerprint() == {}


def test_punctuation_apart_from_words_but_not_inside_them():
    tokenizer = create_from_spec("tokenizer", WhitespaceSpec(kind="whitespace", punctuation="apart"))
    said = "Don't give 2.5 mg (self-care), e.g. «ọmọ»؟ ٢٫٥ क्\u200dष कि।"
    assert tokenizer.tokens(said) == [
        "Don't", "give", "2.5", "mg", "(", "self-care", ")", ",", "e", ".", "g", ".", "«", "ọmọ", "»", "؟", "٢٫٥",
        "क्\u200dष", "कि", "।",
    ]  # fmt: skip


def test_marks_that_stand_apart_from_their_letters_stay_with_them():
    tokenizer = create_from_spec("tokenizer", WhitespaceSpec(kind="whitespace", punctuation="apart"))
    assert tokenizer.tokens("o\u0323\u0301mo\u0323 náà") == ["o\u0323\u0301mo\u0323", "náà"]
