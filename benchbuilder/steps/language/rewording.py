"""Answers that say the same in another order of words: a wrong one may be a paraphrase of the right one."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import (
    LengthUnit,
    Regex,
    comparison_key,
    has_match,
    rouge_l,
    split_words,
)


class Rewording(Spec):
    """What makes a wrong option a rewording of the answer: it shares most of it, and much of that in another order.

    Shares are taken of both texts together. A wrong option that differs in one place has the rest in the same order.
    """

    shared: Annotated[float, Field(gt=0, le=1)]
    """The lowest share of characters (or words) that both have, in any order."""
    moved: Annotated[float, Field(gt=0, le=1)]
    """The lowest share that both have only in another order."""
    least: Annotated[int, Field(ge=2)]
    """The shortest texts that are compared, in characters or words."""
    same: tuple[Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=2)], ...] = ()
    """Groups of words that say the same. Two texts that have the same characters once these are one are rewordings."""
    unless: tuple[Regex, ...] = ()
    """Patterns of statements and options in which the order is what differs: sequences, numbers, formulae."""

    def fits(self, option: str, answer: str, statement: str, unit: LengthUnit, ignore: str) -> bool:
        """Whether `option` is a rewording of `answer` in the true `statement`."""
        if any(has_match(pattern, text) for pattern in self.unless for text in (statement, option)):
            return False
        left, right = (_pieces(text, unit, ignore) for text in (option, answer))
        if min(len(left), len(right)) < self.least:
            return False
        plain = [self._with_one_word(text) for text in (option, answer)]
        if plain != [option, answer] and len({tuple(sorted(_pieces(text, unit, ignore))) for text in plain}) == 1:
            return True
        shared = 2 * sum((Counter(left) & Counter(right)).values()) / (len(left) + len(right))
        return shared >= self.shared and shared - rouge_l(left, right) >= self.moved

    def _with_one_word(self, text: str) -> str:
        """`text` with the first word of each group of `same` for the others."""
        for first, *others in self.same:
            for other in others:
                text = text.replace(other, first)
        return text


class NearAnswer(Spec):
    """A wrong option that may be a paraphrase: part by part, it says nearly what the answer says.

    Another option is taken first. Where there is none, it is taken, and the statement's rule ends in ``_near``.
    """

    between: Annotated[str, Field(min_length=1)]
    """The marks between the parts of an answer."""
    longest: Annotated[int, Field(ge=1)]
    """The length of the longest parts that may differ, in characters."""
    opposites: tuple[Annotated[str, Field(min_length=2, max_length=2)], ...] = ()
    """Pairs of characters; two parts with one of each are plainly different."""

    def fits(self, option: str, answer: str) -> bool:
        """Whether both have several parts, as many, and those that differ are short and share a character."""
        left, right = (_parts(text, self.between) for text in (option, answer))
        if len(left) != len(right) or len(left) < 2:
            return False
        unlike = [pair for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
        return all(max(map(len, pair)) <= self.longest and self._is_near(*pair) for pair in unlike)

    def _is_near(self, one: str, other: str) -> bool:
        opposed = any((a in one and b in other) or (b in one and a in other) for a, b in self.opposites)
        return not opposed and not set(one).isdisjoint(other)


def _parts(text: str, between: str) -> list[str]:
    for mark in between[1:]:
        text = text.replace(mark, between[0])
    return [part for part in text.split(between[0]) if part]


def _pieces(text: str, unit: LengthUnit, ignore: str) -> list[str]:
    return split_words(text, ignore) if unit == "words" else list(comparison_key(text, ignore))
