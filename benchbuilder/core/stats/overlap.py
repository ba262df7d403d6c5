"""Overlap of two texts: ROUGE-L in tokens, chrF in characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz.distance import LCSseq

_ORDERS = range(1, 7)
_SHORT = 400


def rouge_l(text: Sequence[str], reference: Sequence[str]) -> float:
    """ROUGE-L of two texts in tokens, from 0 to 1: the F1 of their longest common subsequence.

    >>> rouge_l(["milk", "is", "white"], ["milk", "is", "very", "white"]) == 6 / 7
    True
    """
    if not text or not reference:
        return 0.0
    return 2 * LCSseq.similarity(text, reference) / (len(text) + len(reference))


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
