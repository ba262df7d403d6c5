"""Chooses the statements that true/false questions ask about: one of a fact, or those of a whole family in one form."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.core import NotApplicable, Outcome, Row, SpecIssue, Statement, Table

PolarityRule = Literal["family", "every", "balanced", "even", "true_only"]
ONE_OF_FACT: tuple[PolarityRule, ...] = ("balanced", "even", "true_only")
"""The rules by which a fact gets one question."""
CHOICE_REASONS: Mapping[str, str] = {
    "other_polarity": "The question of this fact is about its other statement.",
    "other_form": "The questions of this family have the other form, affirmed or negated.",
    "no_counterpart": "The fact has no false statement of the same form, so its question would give its verdict away.",
    "family_incomplete": "The fact with which this one exchanges its answer is missing.",
}
"""Why a statement is not asked about; no loss, for its fact may have another question."""
_COLUMNS = ("fact", "family", "polarity", "negated", "text", "answer")


def is_asked_as_true(seed: int, fact: str) -> bool:
    """Whether the one tf question of `fact` is about its true statement: with probability 1/2, and reproducibly.

    >>> is_asked_as_true(1, "fact-a") == is_asked_as_true(1, "fact-a")
    True
    """
    return _coin(seed, fact) < 0.5


def missing_statements(rule: PolarityRule, rows: Mapping[str, type[Row]]) -> Iterator[SpecIssue]:
    """The issue of a rule about families where the port ``statements`` is left out; `rows` are the ports' rows."""
    if rule not in ONE_OF_FACT and rows and "statements" not in rows:
        yield SpecIssue("polarity", "the rule needs the port `statements`", rule, ONE_OF_FACT)


def _coin(seed: int, name: str) -> float:
    return random.Random(f"{seed}:polarity:{name}").random()


@dataclass(frozen=True, slots=True)
class _Frame:
    """A statement in short: its truth value, its form, and its text around the answer."""

    polarity: str
    negated: bool
    around: str
    text: str


class StatementChoice:
    """Which statements become tf questions, by a rule and all statements of a step.

    With ``family``, a family is asked as a whole: about the true and the false statement of each of its facts, and all
    of them affirmed or all negated. Then nothing that hangs on one end of a fact and on the form can give a verdict
    away. Half of the families of each partition and template that can be negated are. A pair of statements counts if
    the two differ in nothing but their answer. ``every`` leaves the choice of the form to a later step. The other rules
    ask one question about each fact: ``balanced`` and ``even`` about its true or its false statement, ``true_only``
    always about the true one. Without a table, they take every fact to have a false statement. `names` are those by
    which facts are drawn, if not by their ids.
    """

    def __init__(
        self, rule: PolarityRule, seed: int, statements: Table[Any] | None, names: Mapping[str, str] | None = None
    ) -> None:
        self._rule: PolarityRule = rule
        self._seed = seed
        self._names = names or {}
        self._family_of: dict[str, str] = {}
        self._forms: dict[str, tuple[bool, ...]] = {}
        self._texts: dict[tuple[str, bool], list[str]] = {}
        self._incomplete = frozenset[str]()
        self._replaced: frozenset[str] | None = None
        self._falsified: frozenset[str] | None = None
        self._even: frozenset[str] | None = None
        if statements is None:
            return
        if rule in ONE_OF_FACT:
            self._read_facts(statements)
        else:
            self._read_families(statements)

    def family_of(self, statement: Statement) -> str:
        """The family of a statement: that of its fact, by any of its statements; empty if it is the fact alone."""
        return statement.family or self._family_of.get(statement.fact, "")

    def exclusion(self, statement: Statement) -> Outcome | None:
        """Why a statement is not asked about; ``None`` if it is."""
        if self._rule in ONE_OF_FACT:
            return None if self._is_the_one(statement) else NotApplicable("other_polarity")
        family = self.family_of(statement) or statement.fact
        forms = self._forms.get(family, ())
        if not forms:
            return NotApplicable("family_incomplete" if family in self._incomplete else "no_counterpart")
        return None if statement.negated in forms else NotApplicable("other_form")

    def texts_beside(self, statement: Statement) -> Sequence[str]:
        """The texts of all statements of the family that are asked in the same form; the own text without a family."""
        return self._texts.get((self.family_of(statement) or statement.fact, statement.negated), [statement.text])

    def _is_the_one(self, statement: Statement) -> bool:
        if statement.polarity != self._polarity_of(statement.fact):
            return False
        if statement.polarity == "true":
            return not statement.negated
        return not statement.negated or self._replaced is None or statement.fact not in self._replaced

    def _polarity_of(self, fact: str) -> Literal["true", "false"]:
        """The polarity of the statement that the one question of `fact` is about."""
        if self._even is not None:
            return "false" if fact in self._even else "true"
        if self._rule == "true_only" or is_asked_as_true(self._seed, self._name(fact)):
            return "true"
        return "true" if self._falsified is not None and fact not in self._falsified else "false"

    def _name(self, fact: str) -> str:
        return self._names.get(fact, fact)

    def _read_facts(self, statements: Table[Any]) -> None:
        """Which facts have a false statement, and which a replaced one; by ``even``, half of them ask about it."""
        facts: list[str] = statements.column("fact")
        rows = list(zip(facts, statements.column("polarity"), statements.column("negated"), strict=True))
        self._falsified = frozenset(fact for fact, polarity, _ in rows if polarity == "false")
        self._replaced = frozenset(fact for fact, polarity, negated in rows if polarity == "false" and not negated)
        if self._rule == "even":
            drawn = sorted(self._falsified, key=lambda fact: (_coin(self._seed, self._name(fact)), fact), reverse=True)
            self._even = frozenset(drawn[: len(set(facts)) // 2])

    def _read_families(self, statements: Table[Any]) -> None:
        """The form or forms in which each family is asked."""
        by_fact: dict[str, list[_Frame]] = defaultdict(list)
        for fact, family, polarity, negated, text, answer in zip(
            *(statements.column(name) for name in _COLUMNS), strict=True
        ):
            if family and family != fact:
                self._family_of[fact] = family
            around = "" if answer is None else f"{text[: answer['start']]}\0{text[answer['end'] :]}"
            by_fact[fact].append(_Frame(polarity, negated, around, text))
        members: dict[str, list[str]] = defaultdict(list)
        for fact in sorted(by_fact):
            members[self._family_of.get(fact, fact)].append(fact)
        self._incomplete = frozenset(f for f, facts in members.items() if len(facts) == 1 and facts[0] != f)
        possible = {
            family: tuple(negated for negated in (False, True) if all(_is_pair(by_fact[f], negated) for f in facts))
            for family, facts in members.items()
            if family not in self._incomplete
        }
        self._forms = (
            possible if self._rule == "every" else {f: self._one_form(f, forms) for f, forms in possible.items()}
        )
        for family, forms in self._forms.items():
            for negated in forms:
                self._texts[family, negated] = [
                    frame.text for fact in members[family] for frame in by_fact[fact] if frame.negated == negated
                ]

    def _one_form(self, family: str, forms: tuple[bool, ...]) -> tuple[bool, ...]:
        """The form of a family: by a coin if it has both, else the one that it has."""
        return forms if len(forms) < 2 else (_coin(self._seed, family) < 0.5,)


def _is_pair(frames: Sequence[_Frame], negated: bool) -> bool:
    """Whether a fact has one true and one false statement of a form, which differ in their answer alone."""
    chosen = [frame for frame in frames if frame.negated == negated]
    return (
        sorted(frame.polarity for frame in chosen) == ["false", "true"] and len({frame.around for frame in chosen}) == 1
    )
