"""Checks of every generated question, and the choice between a fact's true and false statement."""

from __future__ import annotations

import random
from typing import Any, Literal

import regex

from benchbuilder.core import LengthUnit, ProducedBy, Question, Statement, Table, contains_text, to_half_width

_STOP = "."
_POINTS = regex.compile(r"(?<=\p{Nd})\.(?=\p{Nd})|(?<=[\p{LC}\p{M}])\.(?=[\p{LC}\p{Nd}])|\.(?=[,;:)])")
"""Full stops that end no sentence: inside a number or a name of cased letters, and before another mark."""


def open_question(statement: Statement, produced_by: ProducedBy, text: str, checks: tuple[str, ...]) -> Question:
    """The open-ended question `text` about a statement."""
    return Question.child(
        statement, produced_by=produced_by, type="oe", text=text, context=statement.context, fact=statement.fact,
        family=statement.family, negated=statement.negated, checks=checks,
    )  # fmt: skip


def is_one_sentence(question: str, mark: str, ends: str) -> bool:
    """Whether `question` ends in `mark` (empty: in anything) and contains no other character of `ends`.

    A full stop inside a number or a name is allowed.

    >>> is_one_sentence("Is it so?", "?", ".?!")
    True
    >>> is_one_sentence("It is. Is it?", "?", ".?!")
    False
    """
    body = question.removesuffix(mark)
    if (mark and body == question) or not body.strip():
        return False
    return not any(end in (_POINTS.sub("", body) if end == _STOP else body) for end in ends)


def with_end_mark(question: str, mark: str) -> str:
    """`question`, with `mark` instead of a final mark that differs from it in width only.

    >>> with_end_mark("Is it so？", "?")
    'Is it so?'
    """
    end = question[-1:]
    return question[:-1] + mark if end and to_half_width(end) == to_half_width(mark) else question


def leaks_answer(answer: str, question: str, ignore: str, matching: LengthUnit = "characters") -> bool:
    """Whether the normalised `question`, without the characters `ignore`, contains `answer` (or has it as whole words).

    >>> leaks_answer("Iron", "what contains IRON?", "")
    True
    """
    return contains_text(question, answer, matching, ignore)


def is_asked_as_true(seed: int, fact: str) -> bool:
    """Whether the tf question of `fact` is about its true statement: with probability 1/2, and reproducibly.

    >>> is_asked_as_true(1, "fact-a") == is_asked_as_true(1, "fact-a")
    True
    """
    return _coin(seed, fact) < 0.5


def _coin(seed: int, fact: str) -> float:
    return random.Random(f"{seed}:polarity:{fact}").random()


PolarityRule = Literal["balanced", "even", "true_only"]


class Polarities:
    """Chooses the statement of each fact for its tf question: by `is_asked_as_true`, or always the true one.

    For facts without a false statement in the table `statements`, it is the true one. Without a table, every fact is
    assumed to have a false one. With the rule ``even``, half of the facts in the table are asked about a false
    statement, or all that have one.
    """

    def __init__(self, rule: PolarityRule, seed: int, statements: Table[Any] | None) -> None:
        self._always_true = rule == "true_only"
        self._seed = seed
        self._falsified: frozenset[str] | None = None
        self._even: frozenset[str] | None = None
        if statements is not None and not self._always_true:
            facts: list[str] = statements.column("fact")
            pairs = zip(facts, statements.column("polarity"), strict=True)
            self._falsified = frozenset(fact for fact, polarity in pairs if polarity == "false")
            if rule == "even":
                drawn = sorted(self._falsified, key=lambda fact: (_coin(seed, fact), fact), reverse=True)
                self._even = frozenset(drawn[: len(set(facts)) // 2])

    def polarity_of(self, fact: str) -> Literal["true", "false"]:
        """The polarity of the statement that is asked about."""
        if self._even is not None:
            return "false" if fact in self._even else "true"
        if self._always_true or is_asked_as_true(self._seed, fact):
            return "true"
        return "true" if self._falsified is not None and fact not in self._falsified else "false"
