"""How near a text is to the right one and to the wrong one."""

from __future__ import annotations

from collections.abc import Callable

Tokenise = Callable[[str], list[str]]

CHRF_OF = {"sacrebleu": "2.6.0"}
"""The library and the version whose chrF the core computes, to the last bit: the fingerprint of what uses it."""


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
