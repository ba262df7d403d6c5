from __future__ import annotations

from benchbuilder.kinds import create
from benchbuilder.tokenizers.whitespace import WhitespaceSpec


def test_words_between_white_space():
    tokenizer = create("tokenizer", WhitespaceSpec(kind="whitespace"))
    tokenizer.open()
    assert tokenizer.tokens(" Folic acid,\u3000taken\tearly.\n") == ["Folic", "acid,", "taken", "early."]
    assert tokenizer.tokens("") == []
    assert tokenizer.fingerprint() == {}
