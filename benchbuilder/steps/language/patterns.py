"""Words and patterns of a recipe, searched in a text one after another."""

from __future__ import annotations

from typing import Literal

from benchbuilder.core import (
    Regex,
    Span,
    TokeniseText,
    find_all,
    find_substring,
    has_match,
    pattern_excerpt,
    truncate_text,
    word_boundaries,
)

MatchMode = Literal["substring", "regex", "word"]


Patterns = tuple[Regex, ...] | dict[str, Regex]
"""A field that holds several patterns, plain or under names."""


def first_match(patterns: Patterns, text: str) -> str | None:
    """The first of `patterns` that occurs in `text`: its name, a short pattern itself, or else what it matches.

    >>> first_match({"digits": "[0-9]+"}, "a 12"), first_match(("[0-9]+",), "a 12"), first_match((), "a")
    ('digits', '[0-9]+', None)
    >>> first_match(("(?:" + "x|" * 40 + "[0-9]+)",), "a 12 b")
    '“12”'
    """
    named = patterns if isinstance(patterns, dict) else {pattern: pattern for pattern in patterns}
    found = next(((name, pattern) for name, pattern in named.items() if has_match(pattern, text)), None)
    if found is None or len(found[0]) <= _SHORT:
        return found and found[0]
    [span, *_] = find_all(found[1], text)
    return f"“{truncate_text(span.slice_of(text), _SHORT)}”" if span.end > span.start else pattern_excerpt(found[0])


_SHORT = 40
"""A pattern of more characters says less than the words that it matches, which are shown up to as many."""


def find_word(word: str, text: str, tokens: TokeniseText) -> list[Span]:
    """Where `word` occurs in `text` as one or several whole tokens.

    >>> [span.start for span in find_word("an", "an ant ran an", str.split)]
    [0, 11]
    """
    spans = find_substring(word, text)
    if not spans:
        return []
    cuts = word_boundaries(text, tokens(text))
    return [span for span in spans if span.start in cuts and span.end in cuts]


def find_pattern(pattern: str, text: str, mode: MatchMode, tokens: TokeniseText | None = None) -> list[Span]:
    """Where `pattern` occurs in `text`, interpreted by `mode`; ``word`` needs `tokens`.

    >>> find_pattern("b.", "abc", "regex")
    [Span(start=1, end=3)]
    """
    if mode == "regex":
        return find_all(pattern, text)
    if mode == "substring":
        return find_substring(pattern, text)
    if tokens is None:
        raise ValueError("the mode 'word' needs a tokenizer")
    return find_word(pattern, text, tokens)
