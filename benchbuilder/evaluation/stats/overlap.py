"""Overlap of two texts by chrF, and how near a text is to the right one and to the wrong one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

Tokenise = Callable[[str], list[str]]

CHRF_OF = {"sacrebleu": "2.6.0"}
"""The library and the version whose chrF `chrf` computes, to the last bit: the fingerprint of what uses it."""

_ORDERS = range(1, 7)

_SHORT = 400


def chrf(text: str, reference: str) -> float:
    """chrF2 of `text` against `reference`, from 0 to 1, as sacrebleu computes it for one sentence.

    It compares n-grams of 1 to 6 characters without white space.

    >>> round(chrf("milk is white", "milk is not white"), 4)
    0.5134
    """
    if not text.strip() or not reference.strip():
        return 0.0
    long = len(text) + len(reference) > _SHORT
    return (_compared if long else _compared_cached)(text, reference)


def content_tokens(text: str, tokens: Tokenise) -> list[str]:
    """The tokens of `text` that hold a letter or a digit, without case.

    >>> content_tokens("It is (not) Milk", str.split)
    ['it', 'is', '(not)', 'milk']
    """
    return [token for token in tokens(text.casefold()) if any(mark.isalnum() for mark in token)]


def truncate_for_overlap(text: str, longest: int) -> tuple[str, str]:
    """The first `longest` characters of `text`, and a note if there are more.

    >>> truncate_for_overlap("abc", 3), truncate_for_overlap("abcd", 3)
    (('abc', ''), ('abc', 'the first 3 of 4 characters'))
    """
    return text[:longest], "" if len(text) <= longest else f"the first {longest:,} of {len(text):,} characters"


def relative_closeness(right: float, wrong: float) -> float:
    """How much closer a text is to the right one than to the wrong one, from 0 to 1; 0.5 if equally close.

    >>> relative_closeness(1.0, 0.0), relative_closeness(0.3, 0.3), relative_closeness(0.0, 1.0)
    (1.0, 0.5, 0.0)
    """
    return (1 + right - wrong) / 2


def _compared(text: str, reference: str) -> float:
    precision = recall = 0.0
    orders = 0
    marks, wanted = "".join(text.split()), "".join(reference.split())
    for size in _ORDERS:
        count, wanted_count = len(marks) - size + 1, len(wanted) - size + 1
        if count <= 0 or wanted_count <= 0:
            break
        grams, others = _count_ngrams(marks, size), _count_ngrams(wanted, size)
        common = sum([min(number, others[gram]) for gram, number in grams.items() if gram in others])
        precision, recall, orders = precision + common / count, recall + common / wanted_count, orders + 1
    if not precision + recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    score = 5 * precision * recall
    score /= 4 * precision + recall
    return 100 * score / 100  # sacrebleu scores from 0 to 100, which rounds


def _count_ngrams(text: str, size: int) -> Counter[str]:
    return Counter([text[start : start + size] for start in range(len(text) - size + 1)])


_compared_cached = lru_cache(maxsize=8192)(_compared)
"""Caches recent comparisons: a scorer and a judge ask for the same ones."""
