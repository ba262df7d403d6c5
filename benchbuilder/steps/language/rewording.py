"""Answers that say the same in another order of words: a wrong one may be a paraphrase of the right one."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import LengthUnit, Regex, comparison_key, find_all, rouge_l, split_words


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
    unless: tuple[Regex, ...] = ()
    """Patterns of statements and options in which the order is what differs: sequences, numbers, formulae."""

    def fits(self, option: str, answer: str, statement: str, unit: LengthUnit, ignore: str) -> bool:
        """Whether `option` is a rewording of `answer` in the true `statement`."""
        if any(find_all(pattern, text) for pattern in self.unless for text in (statement, option)):
            return False
        left, right = (_pieces(text, unit, ignore) for text in (option, answer))
        if min(len(left), len(right)) < self.least:
            return False
        shared = 2 * sum((Counter(left) & Counter(right)).values()) / (len(left) + len(right))
        return shared >= self.shared and shared - rouge_l(left, right) >= self.moved


def _pieces(text: str, unit: LengthUnit, ignore: str) -> list[str]:
    return split_words(text, ignore) if unit == "words" else list(comparison_key(text, ignore))
