"""The ways in which a family of true/false questions may be asked."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

AskRule = Literal["both", "one"]
"""``both``: each fact of a family is asked in its true and in its false version; ``one``: each fact is asked once."""


@dataclass(frozen=True, slots=True)
class TfQuestion:
    """What the choice needs to know of a question; `row` is its position in the table."""

    row: int
    fact: str
    family: str
    negated: bool
    yes: bool


@dataclass(frozen=True, slots=True)
class Variant:
    """Questions of one family and one form that can be asked together."""

    family: str
    negated: bool
    questions: tuple[TfQuestion, ...]


def list_variants(questions: Iterable[TfQuestion], ask: AskRule, seed: int) -> list[Variant]:
    """Every variant of every family, in an order that depends on ids and `seed` only.

    A family that has no variant is incomplete.
    """
    families: dict[str, list[TfQuestion]] = defaultdict(list)
    for question in questions:
        families[question.family].append(question)
    facts = {question.fact for rows in families.values() for question in rows}
    variants: list[Variant] = []
    for family in sorted(families, key=lambda name: (hashlib.blake2b(f"{seed}:{name}".encode()).digest(), name)):
        variants += _variants_of(family, families[family], 1 if family in facts else 2, ask)
    return variants


def _variants_of(family: str, rows: Sequence[TfQuestion], least: int, ask: AskRule) -> Iterator[Variant]:
    """The variants of one family, which must have at least `least` facts."""
    names = sorted({question.fact for question in rows})
    if len(names) < least:
        return
    for negated in (False, True):
        found: dict[tuple[str, bool], list[TfQuestion]] = defaultdict(list)
        for question in rows:
            if question.negated == negated:
                found[question.fact, question.yes].append(question)
        for chosen in _whole_choices(names, found) if ask == "both" else _single_choices(names, found):
            yield Variant(family, negated, tuple(chosen))


def _whole_choices(
    names: Sequence[str], found: Mapping[tuple[str, bool], Sequence[TfQuestion]]
) -> Iterator[list[TfQuestion]]:
    """All questions of a form, if every fact has as many with the verdict yes as with no, and at least one."""
    counts = [(len(found.get((name, True), ())), len(found.get((name, False), ()))) for name in names]
    if all(yes == no > 0 for yes, no in counts):
        yield [question for name in names for verdict in (True, False) for question in found[name, verdict]]


def _single_choices(
    names: Sequence[str], found: Mapping[tuple[str, bool], Sequence[TfQuestion]]
) -> Iterator[list[TfQuestion]]:
    """One question for each fact; the verdicts alternate. There are two ways."""
    for first in (True, False):
        wanted = [(name, first if place % 2 == 0 else not first) for place, name in enumerate(names)]
        if all(key in found for key in wanted):
            yield [found[key][0] for key in wanted]
