"""Overlap of two texts in tokens: ROUGE-L."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq


def rouge_l(text: Sequence[str], reference: Sequence[str]) -> float:
    """ROUGE-L of two texts in tokens, from 0 to 1: the F1 of their longest common subsequence.

    >>> rouge_l(["milk", "is", "white"], ["milk", "is", "very", "white"]) == 6 / 7
    True
    """
    if not text or not reference:
        return 0.0
    return 2 * LCSseq.similarity(text, reference) / (len(text) + len(reference))
