"""The known ends of concepts as sets that two concepts exchange."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchbuilder.core import Dropped
from benchbuilder.steps.swapping.bars import KnownWorld, PairBars
from benchbuilder.steps.swapping.fact_bars import FactBars
from benchbuilder.steps.swapping.facts import SwapFact, SwapGroup
from benchbuilder.steps.swapping.pairing import Pairing
from benchbuilder.steps.swapping.relatedness import FULLY_RELATED
from benchbuilder.steps.swapping.spec import ExchangeSpec


@dataclass(frozen=True, slots=True)
class Member:
    """One known end of a concept: its names, the displayed one first, and the key of that."""

    key: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """All known ends of a concept in a relation; `places` are the positions of the facts that are asked about."""

    concept: str
    concept_key: str
    group: SwapGroup
    members: tuple[Member, ...]
    places: tuple[int, ...]

    @property
    def text(self) -> str:
        """The set as details show it."""
        return f"{self.concept} | {self.group.relation} | {'; '.join(member.names[0] for member in self.members)}"


def exchange_sets(
    sets: Sequence[AnswerSet], spec: ExchangeSpec, known: KnownWorld, bars: FactBars
) -> dict[int, int | Dropped]:
    """For each set of one relation, by position, the set that it exchanges its ends with, or why there is none.

    Two sets have as many members. No member of either is a known end of the other concept, or one that a bar of pairs
    speaks against. A member that may be an end of anything makes its set no wrong answer.
    """
    facts = [_as_fact(one, member) for one in sets for member in one.members]
    functional, transitive = bars.is_functional(facts[0]), bars.is_transitive(facts[0])
    block = PairBars(facts, spec.bar, known, functional=functional, transitive=transitive)
    column_of = {key: column for column, (key, _) in enumerate(block.answers)}
    row_of = {key: row for row, (key, _) in enumerate(block.concepts)}
    rows = np.array([row_of[one.concept_key] for one in sets])
    having = np.zeros((len(sets), len(column_of)), np.float32)
    for row, one in enumerate(sets):
        having[row, [column_of[member.key] for member in one.members]] = 1
    loose = np.array([_is_loose(key, name, known, bars) for key, name in block.answers], np.float32)
    sizes = np.array([len(one.members) for one in sets])
    unsafe = having @ loose > 0
    barred = block.barred()[rows].astype(np.float32) @ having.T > 0
    alike = block.alike_concepts().take(rows, axis=0).take(rows, axis=1)
    fits = (sizes[:, None] == sizes) & ~(unsafe[:, None] | unsafe) & ~np.eye(len(sets), dtype=bool)
    allowed = fits & ~(barred | barred.T) & ~alike
    related = block.related // (FULLY_RELATED // 20)
    pairing = Pairing(allowed, rows, np.arange(len(sets)), related, spec.partner)
    found: dict[int, int | Dropped] = {}
    for row, one in enumerate(sets):
        if (mate := int(pairing.mate[row])) >= 0:
            found[row] = mate
        elif unsafe[row]:
            member = next(member for member in one.members if loose[column_of[member.key]])
            found[row] = Dropped("unspecific", f"{one.text}: {member.names[0]}")
        elif not fits[row].any():
            found[row] = Dropped("no_partner", one.text)
        else:
            found[row] = Dropped("left_over" if allowed[row].any() else "barred", one.text)
    return found


def _is_loose(key: str, name: str, known: KnownWorld, bars: FactBars) -> bool:
    """Whether an answer may be an end of anything."""
    return bars.by_answer(name) is not None or (known.similar is not None and bars.is_unspecific(key, known.similar))


def _as_fact(one: AnswerSet, member: Member) -> SwapFact:
    return SwapFact(-1, one.concept_key, one.concept, member.names[0], one.concept_key, member.key, one.group)


def drawn(sets: Iterable[AnswerSet], seed: int) -> list[AnswerSet]:
    """Sets in the order in which the seed draws them."""
    return sorted(sets, key=lambda one: hashlib.blake2b(f"{seed}:{one.group}:{one.concept_key}".encode()).digest())
