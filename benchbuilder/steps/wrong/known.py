"""Questions with their answers, and what is known to be right for a question or for one like it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.fuzz import ratio

from benchbuilder.core import QuestionAnswer, Regex, comparison_form, equality_key, match_groups
from benchbuilder.steps.language.answer_texts import answers_overlap, says_answer

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


@dataclass(frozen=True, slots=True)
class AnsweredRow:
    """A question as wrong answers are looked for: `answer` is the one that is shown, `gold` what names its evidence.

    `asked` is the question as it is compared, `thing` what it asks for (``None``: unknown).
    """

    id: str
    asked: str
    answer: str
    right: tuple[str, ...]
    gold: frozenset[str]
    evidence: str
    thing: AskedThing | None
    shape: AnswerShape

    @property
    def answer_key(self) -> str:
        """The form in which its answer is compared."""
        return self.right[0]


class KnownAnswers:
    """Every known answer to every question, in the forms in which they are compared."""

    def __init__(self, rows: Iterable[QuestionAnswer], same_question: float, same_answer: float) -> None:
        self._most, self._answer = same_question * 100, same_answer * 100
        self._of: dict[str, set[str]] = {}
        self._questions: dict[str, list[str]] = {}
        self._texts: dict[str, dict[str, None]] = {}
        for payload in rows:
            asked = question_key(payload)
            keys = answer_keys(payload.answers)
            self._texts.setdefault(asked, {}).update(dict.fromkeys(payload.answers))
            self._of.setdefault(asked, set()).update(keys)
            for key in keys:
                self._questions.setdefault(key, []).append(asked)

    def has(self, row: AnsweredRow, answer: str) -> bool:
        """Whether an answer, in its compared form, is known to be right for the question or one much like it."""
        if answer in row.right or answer in self._of.get(row.asked, ()):
            return True
        return any(ratio(row.asked, other) >= self._most for other in self._questions.get(answer, ()))

    def says(self, row: AnsweredRow, answer: str) -> bool:
        """Whether an answer is known to be right, or is like one that is, contains it or is contained in it."""
        right = {*row.right, *self._of.get(row.asked, ())}
        if any(answers_overlap(answer, known) or ratio(answer, known) >= self._answer for known in right):
            return True
        return self.has(row, answer)

    def states(self, payload: QuestionAnswer, answer: str) -> bool:
        """Whether an answer says one that is known to be right for the question, or is a part of it."""
        known = {**dict.fromkeys(payload.answers), **self._texts.get(question_key(payload), {})}
        return any(says_answer(answer, right) for right in known)


def question_key(payload: QuestionAnswer) -> str:
    """The form in which questions are compared."""
    return equality_key(payload.context + payload.question)


def answer_keys(answers: Sequence[str]) -> tuple[str, ...]:
    """The forms in which answers are compared, each once; an answer without letters and digits stays as it is."""
    return tuple(dict.fromkeys(answer_key(answer) for answer in answers))


def answer_key(answer: str) -> str:
    """The form in which an answer is compared."""
    return equality_key(answer) or comparison_form(answer) or answer
