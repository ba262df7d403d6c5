"""Makes false statements of triples in pairs: two facts of one relation exchange their answers."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import (
    DataError,
    Dropped,
    Fact,
    GatherStream,
    NotApplicable,
    Passage,
    Row,
    RowIndex,
    Statement,
    Table,
    Triple,
    combined_column,
    take_rows,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.known_edges import KnownRule
from benchbuilder.steps.language.known_graph import KnownGraph, Side, functionality
from benchbuilder.steps.swapping.bars import PairBars
from benchbuilder.steps.swapping.explain import PairReasons
from benchbuilder.steps.swapping.fact_bars import FactBars
from benchbuilder.steps.swapping.facts import FactReader, SwapFact, groups_of
from benchbuilder.steps.swapping.mentions import Mentions
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.pairing import Pairing
from benchbuilder.steps.swapping.popularity import Popularity
from benchbuilder.steps.swapping.relatedness import FULLY_RELATED
from benchbuilder.steps.swapping.spec import SwapTripleSpec
from benchbuilder.steps.swapping.swapped import SwappedStatements

_compute: Any = pc
_READ = ["id", "partition", "polarity", "text", "answer", "fact"]
_WINDOW = 16_384

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

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every statement with its swapped one or the reason why it has none, in the order of the input."""
        spec, bar, statements = self.spec, self.spec.bar, tables["each"]
        self._forms = NameForms(spec.unit, spec.ignore)
        self._bars = FactBars(spec, self._forms)
        outcomes: list[Dropped | NotApplicable | None] = [None] * len(statements)
        relations: list[str | None] = [None] * len(statements)
        facts = list(self._take_apart(statements, tables["fact"], outcomes, relations))
        known = (tables["known"], tables["fact"])
        facts = self._without_popular(facts, known, outcomes)
        rule = KnownRule(spec.ignore, spec.inverse_suffix, frozenset(bar.synonyms))
        self._graph = self._known_near(facts, known, rule)
        self._mentions = self._mentions_of(facts, tables.get("passages"))
        partners = np.full(len(statements), -1, np.int64)
        functional = np.zeros(len(statements), bool)
        for group in groups_of(facts).values():
            for block in self._blocks(group):
                self._pair(block, partners, outcomes)
                functional[[fact.place for fact in block]] = self._bars.is_functional(block[0])
        checks = {is_on: self._checks(functional=is_on) for is_on in (False, True)}
        del self._graph, self._mentions  # rows are made without them
        swapped = SwappedStatements(statements, outcomes, partners, self.produced_by(spec.partner),
                                    lambda place: checks[bool(functional[partners[place]])])  # fmt: skip
        return GatherStream(swapped.pieces(), notes=self._notes(relations, partners, tables["known"]))

    def _take_apart(
        self, statements: Table[Any], facts: Table[Any], outcomes: list[Dropped | NotApplicable | None],
        relations: list[str | None],
    ) -> Iterator[SwapFact]:  # fmt: skip
        """The facts that no bar by text drops; the outcomes of all others, and the relation of each."""
        index = RowIndex(combined_column(batch, "id") for batch in facts.batches(["id"]))
        reader, false = FactReader(self._forms, self.spec.inverse_suffix), NotApplicable("false_statement")
        for first, window in statements.windows(_WINDOW):
            at = index.positions(combined_column(window.arrow, "fact"))
            triples = iter(_triples_at(facts, at[at >= 0]))
            for place, row in enumerate(window.arrow.select(_READ).to_pylist(), first):
                triple = next(triples) if at[place - first] >= 0 else None
                if row["polarity"] != "true":
                    outcomes[place] = false
                    continue
                if triple is None:
                    raise DataError(f"the fact {row['fact']} of statement {row['id']} is not in the port `fact`",
                                    where=self.context.step, next="wire the step whose facts are stated")  # fmt: skip
                relations[place] = sys.intern(triple["relation"])
                fact = reader.read(place, row, triple)
                dropped = Dropped("no_answer_span", row["text"]) if fact is None else self._bars.by_text(fact)
                if fact is None or dropped is not None:
                    outcomes[place] = dropped
                else:
                    yield fact
            facts.release()

    def _without_popular(
        self, facts: Sequence[SwapFact], known: Sequence[Table[Any]], outcomes: list[Dropped | NotApplicable | None]
    ) -> list[SwapFact]:
        """The facts whose answers few concepts have, and whose concepts are not too general."""
        popularity = Popularity(known, facts, self.spec, self._forms)
        for fact in facts:
            outcomes[fact.place] = self._bars.by_popularity(fact, popularity)
        return [fact for fact in facts if outcomes[fact.place] is None]

    def _known_near(self, facts: Sequence[SwapFact], tables: Sequence[Table[Any]], rule: KnownRule) -> KnownGraph:
        keys = {key for fact in facts for key in (fact.concept_key, fact.answer_key)}
        sides: dict[str, set[Side]] = {}
        for fact in facts if self.spec.bar.plausible is not None else ():
            sides.setdefault(fact.answer_key, set()).add(fact.side)
        chains: dict[str, set[Side]] = {}
        for fact in filter(self._bars.is_transitive, facts):
            chains.setdefault(fact.concept_key, set()).add(fact.side)
        return KnownGraph.around(tables, keys, sides, rule, chains)

    def _mentions_of(self, facts: Sequence[SwapFact], passages: Table[Any] | None) -> Mentions | None:
        if passages is None or not self.spec.bar.together:
            return None
        ends = {key for fact in facts for key in (fact.concept_key, fact.answer_key)}
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

    def _pair(
        self, block: Sequence[SwapFact], partners: NDArray[np.int64], outcomes: list[Dropped | NotApplicable | None]
    ) -> None:
        """The partner of each fact of a block, or the reason why it has none."""
        parts = (self.spec.bar, self._forms, self._graph, self._mentions)
        barred = PairBars(block, *parts, functional=self._bars.is_functional(block[0]),
                          transitive=self._bars.is_transitive(block[0]))  # fmt: skip
        related = barred.related // (FULLY_RELATED // 20)  # in steps of 5 %
        pairing = Pairing(barred.allowed(), barred.concept_of, barred.answer_of, related, self.spec.partner)
        reasons = PairReasons(barred, *parts)
        for row, fact in enumerate(block):
            if (mate := int(pairing.mate[row])) >= 0:
                partners[fact.place] = block[mate].place
                continue
            other = pairing.first_choice(row)
            if other is None:
                outcomes[fact.place] = Dropped("no_partner", fact.text)
            else:
                outcomes[fact.place] = reasons.reason(row, other) or Dropped("left_over", block[other].text)

    def _checks(self, *, functional: bool) -> tuple[str, ...]:
        """The bars that swapped statements of a relation passed."""
        bar, guesses = self.spec.bar, not functional
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

    def _notes(self, relations: Sequence[str | None], partners: NDArray[np.int64], known: Table[Any]) -> dict[str, Any]:
        """For each relation its facts, its families, and its heads by its triples (1: no head has two tails)."""
        facts = Counter(name for name in relations if name is not None)
        used = Counter(relations[place] for place in np.flatnonzero(partners >= 0).tolist())
        functional = functionality(known, facts.keys())
        return {"relations": {
            name: {"facts": count, "families": used[name] // 2, "functionality": functional.get(name)}
            for name, count in sorted(facts.items())
        }}  # fmt: skip


def _triples_at(facts: Table[Any], places: NDArray[np.int64]) -> list[dict[str, Any]]:
    """The triples of the facts at these positions."""
    payload: Any = combined_column(take_rows(facts.arrow.select(["payload"]), places), "payload")
    names = ("head", "relation", "tail", "head_type", "tail_type")
    return pa.table({name: _compute.struct_field(payload, name) for name in names}).to_pylist()
