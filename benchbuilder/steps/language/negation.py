"""Negation by search, counted and done with words that the recipe brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import model_validator

from benchbuilder.core import FrozenModel, Regex, Span, find_all, replace_all


class SearchRule(FrozenModel):
    """One step of an ordered search for the place to negate.

    The last place where any of `words` stands is negated: by `insert` before it, or by `replace` in its place. The
    rule does not apply to a text that holds any of `unless`.
    """

    words: tuple[str, ...]
    unless: tuple[str, ...] = ()
    insert: str = ""
    replace: str = ""

    @model_validator(mode="after")
    def _check_one_edit(self) -> Self:
        if not self.words or not all(self.words):
            raise ValueError("words: at least one word is needed, and none may be empty")
        if bool(self.insert) == bool(self.replace):
            raise ValueError("either insert or replace says how to negate, not both")
        return self


def search_negation(text: str, rules: Sequence[SearchRule]) -> tuple[Span, str] | None:
    """The span that the first rule that applies edits and what stands there then; ``None`` if no rule applies.

    >>> search_negation("it is so", [SearchRule(words=("is",), insert="never ")])
    (Span(start=3, end=3), 'never ')
    """
    for rule in rules:
        if any(word in text for word in rule.unless):
            continue
        start, word = max((text.rfind(word), word) for word in rule.words)
        if start < 0:
            continue
        if rule.insert:
            return Span(start=start, end=start), rule.insert
        return Span(start=start, end=start + len(word)), rule.replace
    return None


def count_negations(text: str, negations: Sequence[Regex], harmless: Sequence[Regex]) -> int:
    """How many negations `text` holds; what `harmless` matches (words that only look like one) is left out.

    >>> count_negations("not a non-stick pan", ["not?", "non"], ["non-stick"])
    1
    """
    if not negations:
        return 0
    if harmless:
        text = replace_all("|".join(f"(?:{pattern})" for pattern in harmless), "\0", text)
    return len(find_all("|".join(f"(?:{pattern})" for pattern in negations), text))


def without_negations(text: str, negations: Sequence[Regex], harmless: Sequence[Regex]) -> str:
    """`text` with every negation taken out; what `harmless` matches stays.

    >>> without_negations("not a non-stick pan", ["not? ?", "non"], ["non-stick"])
    'a non-stick pan'
    """
    if not negations:
        return text
    kept, out = ("|".join(f"(?:{pattern})" for pattern in patterns) for patterns in (harmless, negations))
    return replace_all(f"(?P<kept>{kept})|{out}" if harmless else f"(?P<kept>(?!))|{out}", r"\g<kept>", text)
