"""Replaces the answers of statements about triples by wrong entities."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
    NotApplicable,
    Outcome,
    Row,
    Span,
    Statement,
    StepContext,
    Table,
    Triple,
    comparison_key,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.answer_texts import answers_overlap
from benchbuilder.steps.language.edits import altered_statement, answer_text, replace_span
from benchbuilder.steps.language.known_triples import (
    directed_edge,
    load_triples,
    save_triples,
    triple_columns,
    triple_edges,
    triples_naming,
)


class ReplaceTripleSpec(StepSpec):
    """Whether and how wrong entities are inserted."""

    enabled: bool
    entity: Literal["same_type", "any"]
    """Which entities of the pool are allowed: those of the answer's type, or any."""
    unknown_only: bool
    """Whether entities are excluded that are a known end of (concept, relation) in any triple, by any synonym."""
    any_relation: bool
    """With `unknown_only`: whether ends known under any other relation, in either direction, are excluded too. Sources
    name relations differently: one calls a thing part of another, one says that it belongs to it."""
    inverse_suffix: str
    """The suffix of relations that read from tail to head (empty: none): X and X with the suffix are one relation."""
    ignore: str
    """Characters that are ignored when entities are compared."""


class ReplaceTriple(Map):
    """A false statement: the true one with an entity instead of the answer that no known triple supports."""

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
        "no_answer_span": "The position of the answer in the statement is unknown.",
        "no_wrong_entity": "No entity of the same type is certainly wrong.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self._near = ""

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:
        """Find, once for all workers, the known triples of the pool's concepts."""
        if not (self.spec.enabled and self.spec.unknown_only):
            return ()
        near = triples_naming(lookups["known"], self._names_in(lookups["pool"]), self.spec.ignore)
        path = save_triples(near, self.context.cache, self.context.step)
        self._near = path.name
        return (path,)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Collect the entities of the pool by type, and the known ends of each concept and relation."""
        self._pool: dict[str, list[str]] = {}
        self._concepts: set[str] | None = None
        self._index_triples(())
        if not self.spec.enabled:
            return
        self._pool = self._entities(lookups["pool"])
        if not self.spec.unknown_only:
            return
        self._concepts = self._names_in(lookups["pool"])
        self._all = lookups["known"]
        if self._near:
            near = load_triples(self.context.cache / self._near)
        else:
            near = triples_naming(self._all, self._concepts, self.spec.ignore)
        self._index_triples([near])

    def _entities(self, table: Table[Any]) -> dict[str, list[str]]:
        """The names of both ends by type, or all of them."""
        pool: dict[str, set[str]] = {}
        for batch in table.batches(["payload.head", "payload.tail", "payload.head_type", "payload.tail_type"]):
            for row in (line["payload"] for line in batch.select(["payload"]).to_pylist()):
                for end in ("head", "tail"):
                    type_ = row[f"{end}_type"] if self.spec.entity == "same_type" else ""
                    pool.setdefault(type_, set()).add(row[end])
        return {type_: sorted(names) for type_, names in pool.items()}

    def _names_in(self, table: Table[Any]) -> set[str]:
        """The keys of all names of both ends."""
        edges = (edge for piece in triple_columns(table) for edge in triple_edges(piece, self.spec.ignore))
        return {name for heads, _, tails in edges for name in heads | tails}

    def _index_triples(self, tables: Iterable[pa.Table]) -> None:
        """Index the names of concepts and their known ends."""
        self._known: dict[tuple[str, str], set[str]] = {}
        self._linked: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {}
        for heads, relation, tails in (edge for table in tables for edge in triple_edges(table, self.spec.ignore)):
            for names in (heads, tails):
                for name in names:
                    self._names.setdefault(name, set()).update(names)
            for name in heads if self.spec.any_relation else ():
                self._linked.setdefault(name, set()).update(tails)
            for name in tails if self.spec.any_relation else ():
                self._linked.setdefault(name, set()).update(heads)
            first, second, forward = directed_edge(heads, relation, tails, self.spec.inverse_suffix)
            for head in first:
                self._known.setdefault((head, f"{forward}>"), set()).update(second)
            for tail in second:
                self._known.setdefault((tail, f"{forward}<"), set()).update(first)

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch per statement."""
        true: Statement = row
        triple: Triple = parents["fact"].payload
        if not self.spec.enabled:
            return [NotApplicable("switched_off")]
        answer = answer_text(true)
        if true.answer is None or answer not in (triple.head, triple.tail):
            return [Dropped("no_answer_span", true.text)]
        entity = self._choose_entity(true.id, triple, answer == triple.tail)
        if entity is None:
            return [Dropped("no_wrong_entity", true.text)]
        checks = ["differs_from_true"]
        if self.spec.entity == "same_type":
            checks.append("same_type")
        if self.spec.unknown_only:
            checks.append("not_a_known_end")
        text, span = replace_span(true.text, true.answer, entity), true.answer
        span = Span(start=span.start, end=span.start + len(entity))
        return [Kept(altered_statement(true, self.produced_by(self.spec.entity), text, "replacement", checks, span))]

    def _edge(self, triple: Triple) -> tuple[set[str], set[str], str]:
        """All names of both ends in reading direction, and the relation without its inverse suffix."""
        ends = ((triple.head, *triple.head_terms), (triple.tail, *triple.tail_terms))
        heads, tails = ({comparison_key(name, self.spec.ignore) for name in names} for names in ends)
        return directed_edge(heads, triple.relation, tails, self.spec.inverse_suffix)

    def _choose_entity(self, seed_id: str, triple: Triple, replaces_tail: bool) -> str | None:
        type_ = triple.tail_type if replaces_tail else triple.head_type
        names = list(self._pool.get(type_ if self.spec.entity == "same_type" else "", ()))
        random.Random(f"{self.context.seed}:{seed_id}").shuffle(names)
        heads, tails, relation = self._edge(triple)
        fixed, mark = (heads, ">") if replaces_tail == (relation == triple.relation) else (tails, "<")
        barred = heads | tails
        if self._concepts is not None and not barred <= self._concepts:
            self._concepts = None  # the pool lacks this fact: all known triples are needed
            self._index_triples(triple_columns(self._all))
        for name in [synonym for known in fixed for synonym in self._names.get(known, ())] + sorted(fixed):
            barred |= self._known.get((name, relation + mark), set()) | self._linked.get(name, set())
        for name in names:
            key = comparison_key(name, self.spec.ignore)
            if not self.spec.unknown_only:
                if key not in heads | tails:
                    return name
            elif not (self._names.get(key, {key}) & barred) and not any(
                answers_overlap(key, barred_key) for barred_key in barred
            ):
                return name
        return None
