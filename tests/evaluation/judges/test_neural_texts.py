from __future__ import annotations

import functools

import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from benchbuilder.core.errors import DataError, ServiceError
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.evaluation.judges.neural.inputs import GAP, PairInputs, TruncatingTokenizer

TEXTS = st.text(alphabet="孕妇应当注意叶酸补充 abcRewrite.，。？\n<s>🤰é", max_size=60)


@functools.cache
def bytewise() -> TruncatingTokenizer:
    """Several tokens for one character, as with GPT-like tokenizers."""
    return TruncatingTokenizer(tiny_models.tokenizer(None), "bytes")


@functools.cache
def spaced() -> TruncatingTokenizer:
    """A mark before each text, as with SentencePiece."""
    letters = dict.fromkeys("▁孕妇应当注意叶酸补充abcRewrite.，。？<>s")
    inner = Tokenizer(models.WordLevel({one: at for at, one in enumerate(["<unk>", "</s>", *letters])}, "<unk>"))
    marked = pre_tokenizers.Metaspace(split=False)
    inner.pre_tokenizer = pre_tokenizers.Sequence([marked, pre_tokenizers.Split("", "isolated")])
    inner.decoder = decoders.Metaspace()
    return TruncatingTokenizer(
        PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="<unk>", eos_token="</s>"), "marks"
    )


@pytest.mark.parametrize("words", [bytewise, spaced])
@settings(max_examples=150)
@given(text=TEXTS, room=st.integers(0, 60))
def test_shortened_texts_fit_and_are_parts(words, text, room):
    found = words()
    start, end, both = found.start(text, room), found.end(text, room), found.both_ends(text, room)
    assert all(found.count(part) <= room for part in (start, end, both))
    assert text.startswith(start)
    assert text.endswith(end)
    if found.count(text) <= room:
        assert start == end == both == text
    elif both:
        assert any(text.startswith(both[:at]) and text.endswith(both[at + 1 :]) for at in _gaps(both))


def _gaps(text: str) -> list[int]:
    return [at for at, one in enumerate(text) if one == GAP]


@settings(max_examples=100)
@given(question=TEXTS, answer=TEXTS, evidence=st.lists(TEXTS, max_size=3), limit=st.integers(2, 120))
def test_a_pair_never_has_more_tokens_than_fit_and_keeps_an_answer_that_does(question, answer, evidence, limit):
    words = bytewise()
    case = words.without_special_tokens(Case(question, answer, tuple(evidence)))
    row = PairInputs(words, limit).row(case)
    special = 1
    assert len(row.ids) <= limit
    if words.count(case.answer) <= limit - special:
        wanted = words.ids(case.answer) if case.answer else []
        assert _holds(list(row.ids), wanted)
        assert row.truncation != "answer"
    else:
        assert row.truncation == "answer"


def _holds(ids: list[int], wanted: list[int]) -> bool:
    return any(ids[at : at + len(wanted)] == wanted for at in range(len(ids) - len(wanted) + 1))


def test_no_room_at_all():
    with pytest.raises(DataError, match="no room for an answer"):
        PairInputs(bytewise(), 1)


def test_a_tokenizer_that_does_not_know_where_its_tokens_stand():
    class Slow:
        is_fast = False

    with pytest.raises(ServiceError, match="does not say where"):
        TruncatingTokenizer(Slow(), "slow")
