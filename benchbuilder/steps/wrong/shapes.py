"""What an answer looks like, and what a question asks for, without a word of any language."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from benchbuilder.core import Regex, comparison_form, match_groups

_DOTS = frozenset("·・‧•∙⋅")
_LEAST, _MOST = 0.5, 2.0


class AskedThing(NamedTuple):
    """The type of a question, and the noun that its question word belongs to (may be empty)."""

    type: str
    head: str


class AnswerShape(NamedTuple):
    """How an answer is written: its first mark, its scripts, whether a dot parts a name, and a capital at the start."""

    mark: str
    scripts: tuple[str, ...]
    dotted: bool
    capital: bool


def asked_thing(question: str, question_words: Mapping[str, Sequence[Regex]]) -> AskedThing | None:
    """What a question asks for, by the first pattern that it holds; ``None`` if it holds none.

    >>> asked_thing("Which river is it?", {"thing": ["Which (?P<head>[a-z]+)"]})
    AskedThing(type='thing', head='river')
    """
    for name, patterns in question_words.items():
        for pattern in patterns:
            groups = match_groups(rf"(?s:.*?)(?:{pattern})(?s:.*)", question)
            if groups is not None:
                return AskedThing(name, comparison_form(groups.get("head", "")))
    return None


def answer_shape(answer: str) -> AnswerShape:
    """The shape of an answer.

    >>> answer_shape("Oslo"), answer_shape("oslo") == answer_shape("Oslo")
    (AnswerShape(mark='', scripts=('LATIN',), dotted=False, capital=True), False)
    """
    first = answer[:1]
    mark = first if first and unicodedata.category(first)[0] in "PS" else ""
    scripts = sorted({_script(mark) for mark in set(answer) if mark.isalpha()})
    letter = next((letter for letter in answer if letter.isalpha()), "")
    return AnswerShape(mark, tuple(scripts), not _DOTS.isdisjoint(answer), letter.isupper() or letter.istitle())


def same_length_class(answer: str, other: str) -> bool:
    """Whether one answer is no more than twice as long as the other.

    >>> same_length_class("Oslo", "Bergen"), same_length_class("Oslo", "Kristiansand")
    (True, False)
    """
    return _LEAST * len(answer) <= len(other) <= _MOST * len(answer)


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "OTHER").partition(" ")[0].partition("-")[0]
