"""Makes false statements of triples in pairs: two facts of one relation exchange their answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.core import (
    DataError,
    Dropped,
    Fact,
    GatherResult,
    Kept,
    NotApplicable,
    Outcome,
    Passage,
    Row,
    Span,
    Statement,
    Table,
    Triple,
    content_id,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.edits import replace_span
from benchbuilder.steps.language.known_graph import KnownGraph, KnownRule, Side, functionality
from benchbuilder.steps.swapping.bars import PairBars
from benchbuilder.steps.swapping.explain import PairReasons
from benchbuilder.steps.swapping.fact_bars import FactBars
from benchbuilder.steps.swapping.facts import SwapFact, groups_of
from benchbuilder.steps.swapping.mentions import Mentions
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.pairing import Pairing
from benchbuilder.steps.swapping.popularity import Popularity
from benchbuilder.steps.swapping.spec import SwapTripleSpec

_BLOCK = 4_096
"""Facts among which partners are searched: time and memory of a block grow with the square of this."""


class SwapTriple(Gather):
    """The false statement of a fact: its true one with the answer of a partner, which gets its answer in return.

    Both facts have one relation, one sentence, one source and one type of answer. They are one item family: each of
    their concepts and answers is in one true and one false statement, so no end alone gives the verdict away. A fact
    without a partner is dropped.
    """

    kind = "swap_triple"
    spec_class = SwapTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "fact": Port(Fact[Triple], mode="lookup"),
        "known": Port(Fact[Triple], mode="lookup"),
        "passages": Port(Passage, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "false_statement": "Only true statements are swapped.",
        "no_answer_span": "The position of the answer in the statement is unknown.",
        "open_relation": "The relation has more right ends than a graph lists; it is not swapped.",
        "generic_answer": "The answer fits almost any concept.",
        "popular_answer": "More concepts have the answer than a safe swap allows.",
        "general_concept": "More names contain the concept than a safe swap allows.",
        "known_end": "The swapped answer is a known end of the concept.",
        "known_elsewhere": "The swapped answer is linked to the concept by another relation.",
        "near_known": "The swapped answer contains a known end of the concept, or is contained in one.",
        "kin_has_it": "A relative of the concept has the swapped answer.",
        "plausible": "Concepts that share known ends with this one have the swapped answer.",
        "heads_alike": "The concepts of the pair are alike.",
        "answers_alike": "The answers of the pair are alike.",
        "together_in_text": "A paragraph mentions the concept and the swapped answer.",
        "shares_letters": "Concept and answer share letters, in the true or in the swapped statement.",
        "no_partner": "No other fact has the same relation, sentence, source and type of answer.",
        "left_over": "Every partner that nothing bars has another one.",
    }

    spec: SwapTripleSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Every statement with its swapped one or the reason why it has none, in the order of the input."""
        spec, bar = self.spec, self.spec.bar
        self._forms = NameForms(spec.unit, spec.ignore)
        self._bars = FactBars(spec, self._forms)
        rows: dict[str, Statement] = {row.id: row for row in tables["each"]}
        outcomes: dict[str, Outcome] = {}
        relations: dict[str, str] = {}
        facts = dict(self._take_apart(rows.values(), tables["fact"], outcomes, relations))
        rule = KnownRule(spec.ignore, spec.inverse_suffix, frozenset(bar.synonyms))
        known = (tables["known"], tables["fact"])
        popularity = Popularity(known, facts.values(), spec, self._forms)
        for row, fact in list(facts.items()):
            if (dropped := self._bars.by_popularity(fact, popularity)) is not None:
                outcomes[row] = dropped
                del facts[row]
        self._graph = self._known_near(facts, known, rule)
        self._mentions = self._mentions_of(facts, tables.get("passages"))
        pairs = dict[str, str]()
        for group in groups_of(facts).values():
            for block in self._blocks(group):
                self._pair(block, pairs, outcomes)
        for row, partner in pairs.items():
            outcomes[row] = Kept(self._swapped(rows[row], rows[partner], facts[partner]))
        notes = self._notes(relations, pairs, tables["known"])
        return GatherResult([(row, [outcomes[row]]) for row in rows], notes=notes)

    def _take_apart(
        self, rows: Iterable[Statement], table: Table[Any], outcomes: dict[str, Outcome], relations: dict[str, str]
    ) -> Iterator[tuple[str, SwapFact]]:
        """The facts that no bar by text drops; the outcomes of all others, and the relation of each."""
        rows = list(rows)
        triples: dict[str, Triple] = {fact.id: fact.payload for fact in table.find({row.fact for row in rows})}
        for row in rows:
            if row.polarity != "true":
                outcomes[row.id] = NotApplicable("false_statement")
                continue
            if row.fact not in triples:
                raise DataError(f"the fact {row.fact} of statement {row.id} is not in the port `fact`",
                                where=self.context.step, next="wire the step whose facts are stated")  # fmt: skip
            relations[row.id] = triples[row.fact].relation
            fact = SwapFact.of(row, triples[row.fact], self._forms, self.spec.inverse_suffix)
            dropped = Dropped("no_answer_span", row.text) if fact is None else self._bars.by_text(fact)
            if fact is None or dropped is not None:
                outcomes[row.id] = dropped or Dropped("no_answer_span", row.text)
            else:
                yield row.id, fact

    def _known_near(self, facts: Mapping[str, SwapFact], tables: Sequence[Table[Any]], rule: KnownRule) -> KnownGraph:
        keys = {key for fact in facts.values() for key in (fact.concept_key, fact.answer_key)}
        sides: dict[str, set[Side]] = {}
        for fact in facts.values() if self.spec.bar.plausible is not None else ():
            sides.setdefault(fact.answer_key, set()).add(fact.side)
        chains: dict[str, set[Side]] = {}
        for fact in filter(self._bars.is_transitive, facts.values()):
            chains.setdefault(fact.concept_key, set()).add(fact.side)
        return KnownGraph.around(tables, keys, sides, rule, chains)

    def _mentions_of(self, facts: Mapping[str, SwapFact], passages: Table[Any] | None) -> Mentions | None:
        if passages is None or not self.spec.bar.together:
            return None
        ends = {key for fact in facts.values() for key in (fact.concept_key, fact.answer_key)}
        return Mentions(
            passages, {name for key in ends for name in self._graph.synonyms(key)}, self._graph, self._forms
        )

    def _blocks(self, group: Sequence[SwapFact]) -> Iterator[list[SwapFact]]:
        """The facts of a group in random order, cut where it is large; all facts of an answer stay together."""

        def drawn(name: str) -> str:
            return hashlib.blake2b(f"{self.context.seed}:{name}".encode(), digest_size=16).hexdigest()

        counts = Counter(fact.answer_key for fact in group)
        numbers: dict[str, int] = {}
        size = number = 0
        for answer in sorted(counts, key=drawn):
            if size and size + counts[answer] > _BLOCK:
                size, number = 0, number + 1
            numbers[answer] = number
            size += counts[answer]
        blocks: list[list[SwapFact]] = [[] for _ in range(number + 1)]
        for fact in sorted(group, key=lambda fact: drawn(fact.statement)):
            blocks[numbers[fact.answer_key]].append(fact)
        yield from blocks

    def _pair(self, block: Sequence[SwapFact], pairs: dict[str, str], outcomes: dict[str, Outcome]) -> None:
        """The partner of each fact of a block, or the reason why it has none."""
        parts = (self.spec.bar, self._forms, self._graph, self._mentions)
        barred = PairBars(block, *parts, functional=self._bars.is_functional(block[0]),
                          transitive=self._bars.is_transitive(block[0]))  # fmt: skip
        pairing = Pairing(
            barred.allowed(), barred.concept_of, barred.answer_of, barred.relatedness(), self.spec.partner
        )
        reasons = PairReasons(barred, *parts)
        for row, fact in enumerate(block):
            if (mate := int(pairing.mate[row])) >= 0:
                pairs[fact.statement] = block[mate].statement
                continue
            other = pairing.first_choice(row)
            if other is None:
                outcomes[fact.statement] = Dropped("no_partner", fact.text)
            else:
                outcomes[fact.statement] = reasons.reason(row, other) or Dropped("left_over", block[other].text)

    def _swapped(self, true: Statement, partner: Statement, lent: SwapFact) -> Statement:
        """The false statement of a fact, with the answer of its partner."""
        span = true.answer
        if span is None:
            raise TypeError("a statement without a known answer has no partner")
        family = content_id("family", sorted((true.fact, partner.fact)), "")
        return Statement.child(
            true, partner, produced_by=self.produced_by(self.spec.partner), polarity="false",
            text=replace_span(true.text, span, lent.answer), joined="replacement",
            answer=Span(start=span.start, end=span.start + len(lent.answer)), context=true.context, fact=true.fact,
            family=family, checks=self._checks(lent),
        )  # fmt: skip

    def _checks(self, fact: SwapFact) -> tuple[str, ...]:
        """The bars that a swapped statement passed."""
        bar, guesses = self.spec.bar, not self._bars.is_functional(fact)
        passed = {
            "known_end": bar.known, "known_elsewhere": bar.known and bar.any_relation,
            "near_known": bar.near_known != "none",
            "generic_answer": bool(bar.generic), "popular_answer": bar.popular_answer is not None and guesses,
            "general_concept": bar.general_concept is not None,
            "kin_has_it": bar.kin != "none" and guesses, "plausible": bar.plausible is not None and guesses,
            "together_in_text": self._mentions is not None and guesses,
            "shares_letters": bar.shared_letters == "both_sides",
            "heads_alike": bar.alike is not None or bar.related is not None, "answers_alike": bar.alike is not None,
        }  # fmt: skip
        return ("differs_from_true", *(name for name, is_on in passed.items() if is_on))

    def _notes(self, relations: Mapping[str, str], pairs: Mapping[str, str], known: Table[Any]) -> dict[str, Any]:
        """For each relation its facts, its families, and its heads by its triples (1: no head has two tails)."""
        facts, used = Counter(relations.values()), Counter(relations[row] for row in pairs)
        functional = functionality(known, facts.keys())
        return {"relations": {
            name: {"facts": count, "families": used[name] // 2, "functionality": functional.get(name)}
            for name, count in sorted(facts.items())
        }}  # fmt: skip
