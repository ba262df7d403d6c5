"""Asks for all known ends of a concept: the right answer is a set, the wrong one that of another concept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    OPEN_SET,
    SET_FORM,
    Candidate,
    Dropped,
    Fact,
    GatherStream,
    Kept,
    NotApplicable,
    Outcome,
    Passage,
    Regex,
    Row,
    SpecIssue,
    Statement,
    Table,
    Triple,
    combined_column,
    compose_characters,
    content_id,
    has_match,
    join_members,
    matches_whole,
    outcome_pieces,
    take_rows,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.known_graph import KnownGraph, Side
from benchbuilder.steps.language.questions import is_one_sentence, leaks_answer
from benchbuilder.steps.language.relations import (
    SET_QUESTION,
    UNKNOWN_RELATION,
    RelationRow,
    RelationStepSpec,
    fill_relation,
    question_issues,
    read_tables,
)
from benchbuilder.steps.swapping.answer_sets import AnswerSet, Member, drawn, exchange_sets
from benchbuilder.steps.swapping.bars import KnownWorld
from benchbuilder.steps.swapping.exchange import known_world
from benchbuilder.steps.swapping.fact_bars import FactBars
from benchbuilder.steps.swapping.facts import SwapGroup
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.spec import ExchangeSpec, SwapBars

_NAMES = 3
"""So many names of a member are told."""


class AskSetTripleSpec(RelationStepSpec):
    """Which sets are asked for, and how."""

    enabled: bool = True
    least: Annotated[int, Field(ge=2)] = 2
    """The smallest set: one known end is an open question of its own."""
    most: Annotated[int, Field(ge=2)] = 8
    """The largest set."""
    most_sets: Annotated[int, Field(ge=2)] | None = 600
    """How many sets of one relation are asked for; the seed draws them."""
    question: str | None
    """The question of relations without an `oe_set` in their table that match `plain`, over ``{head}`` and
    ``{relation}``; it asks for tails."""
    plain: Regex = ""
    unusable: tuple[Regex, ...]
    """Patterns of ends that are a list, a clause or none. The set of an `open` relation leaves them out; another set is
    not asked for then, since its answer would lack an end."""
    mark: str
    """The end of every question."""
    ends: str
    """Characters that end a sentence; a question contains none except its mark."""
    exchange: ExchangeSpec
    """Which concepts may exchange their sets: as in `swap_triple`."""


class AskSetTriple(Gather):
    """Open questions for all known ends of a concept, with the equally many ends of another concept as wrong answer.

    Two concepts exchange their sets, so each set is once right and once wrong. A bar of `swap_triple` between a concept
    and any end of the other set bars the pair. Facts that a true/false question asks about are left to it. Relations of
    `ranges`, `preferences` and `kinds` are not asked for.

    Sets of `open` relations carry the tag ``open_set``: the graph does not list all right ends. So an end of another
    concept is wrong only if similar concepts speak against it. Where too few of them are known, or no other set fits,
    such a question has no wrong answer.
    """

    kind: ClassVar[str] = "ask_set_triple"
    version = 3
    spec_class: ClassVar[type[StepSpec]] = AskSetTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Fact[Triple]),
        "known": Port(Fact[Triple], mode="lookup"),
        "statements": Port(Statement, mode="lookup", optional=True),
        "passages": Port(Passage, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Candidate
    reasons: ClassVar[Mapping[str, str]] = {
        **UNKNOWN_RELATION,
        "switched_off": "The recipe asks no questions about sets.",
        "no_set": "The answers of the relation are ranges, advice or classes.",
        "asked_true_or_false": "A true/false question asks about an end of the set.",
        "in_set": "Another fact of the set carries its question.",
        "one_end": "The concept has fewer known ends that can be asked for than a set needs.",
        "too_many_ends": "The concept has more known ends in the relation than a question can ask for.",
        "unusable_end": "An end is a list, a clause or none: it, or the set that needs it, is not asked for.",
        "no_template": "The relation has no question about sets.",
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "leaks_answer": "The question contains an end of the set.",
        "over_limit": "The relation has more sets than the recipe asks for.",
        "unspecific": "An end of the set may be an end of anything, so the set is no wrong answer.",
        "barred": "An end of every set of that size may be right for the concept.",
        "no_partner": "No other set of the relation has as many ends.",
        "left_over": "Every partner that nothing bars has another one.",
    }

    spec: AskSetTripleSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """Sentences that are no question; RecipeError lists all faults of the relation tables."""
        return question_issues(read_tables(self.spec), SET_QUESTION, self.spec.mark, self.spec.ends)

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every fact with the question about its set, or why there is none."""
        each = tables["each"]
        if not self.spec.enabled:
            return GatherStream(outcome_pieces(each, Candidate, lambda _, __: [NotApplicable("switched_off")]))
        self._forms = NameForms(self.spec.exchange.unit, self.spec.exchange.ignore)
        self._bars = FactBars(self.spec.exchange, self._forms)
        outcomes: dict[int, Dropped | NotApplicable] = {}
        groups = self._grouped(each, tables.get("statements"), outcomes)
        known = self._known(tables, groups)
        asked: dict[int, _Asked] = {}
        for group, concepts in sorted(groups.items()):
            sets = dict(self._sets(group, concepts, known.graph, outcomes))
            self._exchange(sets, known, outcomes, asked)
        found = Counter(one.own.group.relation for one in asked.values())
        pieces = outcome_pieces(each, Candidate, lambda place, row: self._decided(place, row, outcomes, asked, each))
        return GatherStream(pieces, notes={"sets": dict(sorted(found.items()))})

    def _grouped(
        self, facts: Table[Any], statements: Table[Any] | None, outcomes: dict[int, Dropped | NotApplicable]
    ) -> dict[SwapGroup, dict[str, list[_SetFact]]]:
        """The facts that may be asked for, by what an exchange has in common and by the key of their concept."""
        tables, lists = read_tables(self.spec), self.spec.exchange.relations
        without = {*map(compose_characters, (*lists.ranges, *lists.preferences, *lists.kinds))}
        exchanged = set[str]()
        if statements is not None:
            pairs = zip(statements.column("fact"), statements.column("polarity"), strict=True)
            exchanged = {fact for fact, polarity in pairs if polarity == "false"}
        groups: dict[SwapGroup, dict[str, list[_SetFact]]] = {}
        taken = set[tuple[SwapGroup, str]]()
        places = 0
        for batch in facts.batches(["id", "partition", "payload"]):
            names = ("head", "relation", "tail")
            columns = (combined_column(batch, name).to_pylist() for name in
                       ("id", "partition", *(f"payload.{name}" for name in names)))  # fmt: skip
            for place, (row, partition, head, relation, tail) in enumerate(zip(*columns, strict=True), places):
                entry = tables.find(partition, relation, head, tail)
                if entry is None:
                    outcomes[place] = Dropped("unknown_relation", relation)
                    continue
                side = Side.of(compose_characters(relation), entry.answer_end, self.spec.exchange.inverse_suffix)
                if not without.isdisjoint((compose_characters(relation), side.relation)):
                    outcomes[place] = NotApplicable("no_set")
                    continue
                question = self._question(entry, relation)
                group = SwapGroup(partition, compose_characters(relation), question, entry.answer_end, "", side)
                concept = head if entry.answer_end == "tail" else tail
                key = self._forms.key(concept)
                groups.setdefault(group, {}).setdefault(key, []).append(
                    _SetFact(place, Triple(head=head, relation=relation, tail=tail))
                )
                if row in exchanged:
                    taken.add((group, key))
            places += batch.num_rows
        for group, key in taken:
            outcomes.update((one.place, NotApplicable("asked_true_or_false")) for one in groups[group].pop(key))
        return {group: concepts for group, concepts in groups.items() if concepts}

    def _question(self, entry: RelationRow, relation: str) -> str:
        """The template of the question about a relation; empty if it has none."""
        if entry.oe_set:
            return entry.oe_set
        plain = entry.answer_end == "tail" and matches_whole(self.spec.plain, relation)
        return self.spec.question or "" if plain else ""

    def _known(self, tables: Mapping[str, Table[Any]], groups: Mapping[SwapGroup, Mapping[str, Any]]) -> KnownWorld:
        """What is known of the concepts and of their ends."""
        exchange, known = self.spec.exchange, (tables["known"], tables["each"])
        concepts = {key for by_concept in groups.values() for key in by_concept}
        near = KnownGraph.around(known, concepts, exchange.known_rule)
        ends = {end for group, by_concept in groups.items() for key in by_concept for end in near.ends(key, group.side)}
        return known_world(exchange, self._forms, known, concepts | ends, tables.get("passages"))

    def _sets(
        self, group: SwapGroup, concepts: Mapping[str, Sequence[_SetFact]], graph: KnownGraph,
        outcomes: dict[int, Dropped | NotApplicable],
    ) -> Iterator[tuple[AnswerSet, str]]:  # fmt: skip
        """The sets of a group that can be asked for, each with its question.

        Where the graph does not list all right ends anyway, a set does without its unusable ones.
        """
        is_open = self._is_open(group)
        for key, every in concepts.items():
            asked = [fact for fact in every if not (is_open and self._is_unusable(getattr(fact.triple, group.end)))]
            if len(asked) < len(every):
                kept = {fact.place for fact in asked}
                left = [(fact.place, getattr(fact.triple, group.end)) for fact in every if fact.place not in kept]
                outcomes.update((place, Dropped("unusable_end", name)) for place, name in left)
            if not asked:
                continue
            triple = asked[0].triple
            concept = triple.head if group.end == "tail" else triple.tail
            members = _members(graph.ends(key, group.side), graph, asked, group.end, self._forms)
            if is_open:
                members = tuple(member for member in members if not self._is_unusable(member.names[0]))
            one = AnswerSet(concept, key, group, members, tuple(fact.place for fact in asked))
            text = fill_relation(group.frame, triple)[0] if group.frame else ""
            if (fault := self._fault(one, text)) is None:
                yield one, text
                continue
            outcomes.update((place, fault) for place in one.places)

    def _fault(self, one: AnswerSet, text: str) -> Dropped | NotApplicable | None:
        """Why a set is not asked for."""
        spec = self.spec
        if len(one.members) < spec.least:
            return NotApplicable("one_end")
        if len(one.members) > spec.most:
            return Dropped("too_many_ends", f"{one.concept} | {one.group.relation}: {len(one.members)}")
        unusable = next((name for name, *_ in (member.names for member in one.members) if self._is_unusable(name)), "")
        if unusable:
            return Dropped("unusable_end", f"{one.text}: {unusable}")
        if not text:
            return Dropped("no_template", one.group.relation)
        if not is_one_sentence(text, spec.mark, spec.ends):
            return Dropped("not_one_question", text)
        matching, ignore = spec.exchange.unit, spec.exchange.ignore
        if any(leaks_answer(name, text, ignore, matching) for member in one.members for name in member.names):
            return Dropped("leaks_answer", text)
        return None

    def _is_unusable(self, end: str) -> bool:
        return ";" in end or " / " in end or any(has_match(pattern, end) for pattern in self.spec.unusable)

    def _exchange(
        self, sets: Mapping[AnswerSet, str], known: KnownWorld, outcomes: dict[int, Dropped | NotApplicable],
        asked: dict[int, _Asked],
    ) -> None:  # fmt: skip
        """Pair the sets of a group; what becomes of the facts of each."""
        order = drawn(sets, self.context.seed)
        kept, left = order[: self.spec.most_sets], order[self.spec.most_sets or len(order) :]
        if not kept:
            return
        is_open = self._is_open(kept[0].group)
        found = exchange_sets(kept, self.spec.exchange, known, self._bars)
        bar = self.spec.exchange.bar
        is_wrong = [not is_open or _is_well_known(one, known, bar) for one in kept]
        for row, one in enumerate(kept):
            partner = found[row]
            if isinstance(partner, Dropped):
                if not is_open:
                    outcomes.update((place, partner) for place in one.places)
                    continue
                asked[one.places[0]] = _Asked(sets[one], one, None, (one,))
            else:
                other = kept[partner]
                # one family with the set whose ends stand in either question
                family = (one, other) if is_wrong[row] or is_wrong[partner] else (one,)
                asked[one.places[0]] = _Asked(sets[one], one, other if is_wrong[row] else None, family)
            outcomes.update((place, NotApplicable("in_set")) for place in one.places[1:])
        for one in left:
            outcomes.update((place, Dropped("over_limit", one.text)) for place in one.places)

    def _decided(
        self, place: int, row: Any, outcomes: Mapping[int, Dropped | NotApplicable], asked: Mapping[int, _Asked],
        table: Table[Any],
    ) -> Sequence[Outcome]:  # fmt: skip
        if place not in asked:
            return [outcomes[place]]
        one = asked[place]
        own, other = one.own, one.other
        parents = Table(
            take_rows(table.arrow, np.array([*own.places[1:], *(other.places if other else ())], np.int64)), table.row
        )
        family = content_id("family", sorted(f"{known.group.partition}:{known.text}" for known in one.family), "")
        return [Kept(Candidate.child(
            row, *parents, produced_by=self.produced_by(own.group.frame), type="oe", question=one.text,
            answer=self._told(own), answer_wrong=self._told(other) if other else "", fact=row.id, family=family,
            form=SET_FORM, wrong_from="exchanged" if other else "",
            checks=("one_question", "no_leak", *(("disjoint",) if other else ())),
            tags=(OPEN_SET,) if self._is_open(own.group) else (),
        ))]  # fmt: skip

    def _is_open(self, group: SwapGroup) -> bool:
        names = set(map(compose_characters, self.spec.exchange.relations.open))
        return not names.isdisjoint((group.relation, group.side.relation))

    def _told(self, one: AnswerSet) -> str:
        """A set as an answer, in an order that says nothing."""
        members = sorted(one.members, key=lambda member: content_id(str(self.context.seed), [member.key], ""))
        return join_members([member.names for member in members])


def _is_well_known(one: AnswerSet, known: KnownWorld, bar: SwapBars) -> bool:
    """Whether similar concepts speak against what they do not have."""
    similar = known.similar
    return bar.similar is not None and similar is not None and similar.is_well_known(
        one.concept_key, one.group.side, bar.similar
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about a set, the set of its wrong answer if it has one, and the sets that its family is named by."""

    text: str
    own: AnswerSet
    other: AnswerSet | None
    family: tuple[AnswerSet, ...]


@dataclass(frozen=True, slots=True)
class _SetFact:
    """A fact that may be asked for, by its position."""

    place: int
    triple: Triple


def _members(
    ends: Mapping[str, int], graph: KnownGraph, asked: Sequence[_SetFact], end: str, forms: NameForms
) -> tuple[Member, ...]:
    """The ends of a concept, each once with some of its names; those of the facts that are asked about come first."""
    shown = [getattr(fact.triple, end) for fact in asked]
    found: dict[frozenset[str], Member] = {}
    for name in (*shown, *(graph.spelled(key) for key in sorted(ends))):
        key = forms.key(name)
        same = graph.synonyms(key)
        if any(key in names for names in found):
            continue
        others = sorted({graph.spelled(other) for other in same if other != key} - {name})
        names = [name, *(other for other in others if ";" not in other and " / " not in other)]
        found[same | {key}] = Member(key, tuple(names[:_NAMES]))
    return tuple(found.values())
