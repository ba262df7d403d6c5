"""Puts a wrong entity in the place of a triple's answer."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from benchbuilder.ports.stage import Map, Port
from benchbuilder.records.envelope import Row, Span
from benchbuilder.records.fact import Fact, Triple
from benchbuilder.records.fates import Dropped, Fate, Kept, NotApplicable
from benchbuilder.records.statement import Statement
from benchbuilder.records.table import Table
from benchbuilder.spec.base import StepSpec
from benchbuilder.text.answers import overlaps, same_key
from benchbuilder.text.edits import replace_span


class ReplaceTripleSpec(StepSpec):
    """Whether and how wrong entities are put in."""

    enabled: bool
    entity: Literal["same_type", "any"]
    """Which entities of the pool may stand in: those of the answer's type, or any."""
    unknown_only: bool
    """Whether the entity must be no known end of (concept, relation) over all triples, through any synonym."""
    any_relation: bool
    """With `unknown_only`: whether ends known under any other relation, read either way, are barred too.

    Sources name relations differently, so that what one calls a part of a thing another calls belonging to it.
    """
    inverse_suffix: str
    """What marks a relation that reads tail to head (empty: none does): X and X with the suffix are one relation."""
    ignore: str
    """Characters that do not count when entities are compared."""


class ReplaceTriple(Map):
    """A false statement: the true one with an entity in the answer's place that the known triples do not put there."""

    kind = "replace_triple"
    version = 3
    spec_class = ReplaceTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "fact": Port(Fact[Triple], mode="parent"),
        "pool": Port(Fact[Triple], mode="lookup"),
        "known": Port(Fact[Triple], mode="lookup"),
    }
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "switched_off": "The recipe does not replace entities of triples.",
        "no_answer_span": "The statement does not say where its answer stands.",
        "no_wrong_entity": "No entity of the same type is surely wrong.",
    }

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Collect the entities of the pool by type and the known ends of each concept and relation."""
        self._pool: dict[str, list[str]] = {}
        self._known: dict[tuple[str, str], set[str]] = {}
        self._linked: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {}
        if not self.spec.enabled:
            return
        pool: dict[str, set[str]] = {}
        for triple in _triples(lookups["pool"]):
            for name, type_ in ((triple.head, triple.head_type), (triple.tail, triple.tail_type)):
                pool.setdefault(type_ if self.spec.entity == "same_type" else "", set()).add(name)
        self._pool = {type_: sorted(names) for type_, names in pool.items()}
        for triple in _triples(lookups["known"]) if self.spec.unknown_only else ():
            heads, tails, relation = self._edge(triple)
            for names in (heads, tails):
                for name in names:
                    self._names.setdefault(name, set()).update(names)
            for name in heads if self.spec.any_relation else ():
                self._linked.setdefault(name, set()).update(tails)
            for name in tails if self.spec.any_relation else ():
                self._linked.setdefault(name, set()).update(heads)
            for head in heads:
                self._known.setdefault((head, f"{relation}>"), set()).update(tails)
            for tail in tails:
                self._known.setdefault((tail, f"{relation}<"), set()).update(heads)

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Fate]:
        """One ticket a statement."""
        true: Statement = row
        triple: Triple = parents["fact"].payload
        if not self.spec.enabled:
            return [NotApplicable("switched_off")]
        answer = true.answer.of(true.text) if true.answer is not None else ""
        if true.answer is None or answer not in (triple.head, triple.tail):
            return [Dropped("no_answer_span", true.text)]
        entity = self._entity(true.id, triple, answer == triple.tail)
        if entity is None:
            return [Dropped("no_wrong_entity", true.text)]
        checks = ["differs_from_true"]
        if self.spec.entity == "same_type":
            checks.append("same_type")
        if self.spec.unknown_only:
            checks.append("not_a_known_end")
        false = Statement.child(
            true,
            made_by=self.made_by(self.spec.entity),
            polarity="false",
            text=replace_span(true.text, true.answer, entity),
            joined="replacement",
            answer=Span(start=true.answer.start, end=true.answer.start + len(entity)),
            context=true.context,
            fact=true.fact,
            checks=tuple(checks),
        )
        return [Kept(false)]

    def _key(self, name: str) -> str:
        return same_key(name, self.spec.ignore)

    def _edge(self, triple: Triple) -> tuple[set[str], set[str], str]:
        """All names of both ends, in reading direction, and the relation without its inverse mark."""
        heads = {self._key(name) for name in (triple.head, *triple.head_terms)}
        tails = {self._key(name) for name in (triple.tail, *triple.tail_terms)}
        suffix: str = self.spec.inverse_suffix
        if suffix and triple.relation.endswith(suffix):
            return tails, heads, triple.relation.removesuffix(suffix)
        return heads, tails, triple.relation

    def _entity(self, seed_id: str, triple: Triple, replaces_tail: bool) -> str | None:
        type_ = triple.tail_type if replaces_tail else triple.head_type
        names = list(self._pool.get(type_ if self.spec.entity == "same_type" else "", ()))
        random.Random(f"{self.context.seed}:{seed_id}").shuffle(names)
        heads, tails, relation = self._edge(triple)
        inverse = bool(self.spec.inverse_suffix) and triple.relation.endswith(self.spec.inverse_suffix)
        fixed, mark = (heads, ">") if replaces_tail != inverse else (tails, "<")
        barred = heads | tails
        for name in [synonym for known in fixed for synonym in self._names.get(known, ())] + sorted(fixed):
            barred |= self._known.get((name, relation + mark), set()) | self._linked.get(name, set())
        for name in names:
            key = self._key(name)
            if not self.spec.unknown_only:
                if key not in heads | tails:
                    return name
            elif not (self._names.get(key, {key}) & barred) and not any(overlaps(key, other) for other in barred):
                return name
        return None


def _triples(table: Table[Any]) -> Iterable[Triple]:
    for fact in table:
        yield fact.payload
