"""Makes false statements of triples in pairs: two facts of one relation exchange their answers."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    compose_characters,
    content_id,
    take_rows,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.known_graph import functionality
from benchbuilder.steps.swapping.exchange import FactExchange
from benchbuilder.steps.swapping.fact_bars import FactBars
from benchbuilder.steps.swapping.facts import FactReader, SwapFact
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.spec import PRESETS, SwapTripleSpec
from benchbuilder.steps.swapping.swapped import SwappedStatements

_compute: Any = pc
_READ = ["id", "partition", "polarity", "text", "answer", "fact"]
_WINDOW = 16_384

_TRIED = 4_000
"""Facts on which other presets are tried."""


class SwapTriple(Gather):
    """The false statement of a fact: its true one with the answer of a partner, which gets its answer in return.

    Both facts have one relation, one sentence, one source and one type of answer. They are one item family: each of
    their concepts and answers is in one true and one false statement, so no end alone gives the verdict away. A fact
    without a partner is dropped.
    """

    kind = "swap_triple"
    version = 2
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
        "unspecific": "The concepts that have the answer have little in common: it says nothing of any.",
        "known_end": "The swapped answer is a known end of the concept.",
        "known_elsewhere": "The swapped answer is linked to the concept by another relation.",
        "near_known": "The swapped answer contains a known end of the concept, or is contained in one.",
        "kin_has_it": "A relative of the concept has the swapped answer.",
        "similar_have_it": "Concepts that are similar to this one have the swapped answer.",
        "class_has_it": "Concepts of the same class have the swapped answer, or the concept has no class.",
        "heads_alike": "The concepts of the pair are alike.",
        "answers_alike": "The answers of the pair are alike.",
        "together_in_text": "A paragraph mentions the concept and the swapped answer.",
        "shares_letters": "Concept and answer share a letter that few names have, in the true or a swapped statement.",
        "letters_tell": "The letters that concept and answer share tell the swapped statements from the true ones.",
        "no_partner": "No other fact has the same relation, sentence, source and type of answer.",
        "left_over": "Every partner that nothing bars has another one.",
    }

    spec: SwapTripleSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every statement with its swapped one or the reason why it has none, in the order of the input."""
        spec, statements = self.spec, tables["each"]
        self._forms = NameForms(spec.unit, spec.ignore)
        outcomes: list[Dropped | NotApplicable | None] = [None] * len(statements)
        relations: list[str | None] = [None] * len(statements)
        opened: list[SwapFact] = []
        facts = list(self._take_apart(statements, tables["fact"], outcomes, relations, opened))
        exchange = FactExchange(spec, self._forms, facts, tables, self.context.seed)
        partners = np.full(len(statements), -1, np.int64)
        exchange.pair(partners, outcomes)
        checks = {is_on: self._checks(exchange, functional=is_on) for is_on in (False, True)}
        functional = {fact.place for fact in facts if exchange.bars.is_functional(fact)}
        del exchange  # rows are made without what it knows
        swapped = SwappedStatements(statements, outcomes, partners, self.produced_by(spec.partner),
                                    lambda place: checks[int(partners[place]) in functional])  # fmt: skip
        notes = self._notes(relations, partners, tables["known"])
        return GatherStream(
            swapped.pieces(), notes=notes | self._gains(facts or opened, partners, tables, opened=not facts)
        )

    def _gains(
        self, facts: Sequence[SwapFact], partners: NDArray[np.int64], tables: Mapping[str, Table[Any]], *, opened: bool,
    ) -> dict[str, Any]:  # fmt: skip
        """Where few facts exchange their answers: how many each preset lets, counted on `_TRIED` facts.

        Where none does, also how many it were if relations in which no concept has two ends were `functional`. Where a
        list of relations bars all, how many it were without that list.
        """
        exchanged = np.count_nonzero(partners >= 0)
        if not facts or exchanged >= len(facts) // 2:
            return {}
        tried = sorted(facts, key=lambda fact: content_id("tried", [fact.statement], ""))[:_TRIED]
        counts: dict[str, int] = {}
        single = [] if exchanged or opened else self._single_ended(facts, tables["known"])
        specs = {"now": self.spec, **{name: self.spec.with_preset(name) for name in PRESETS}}
        if single:
            specs["functional"] = self.spec.with_functional(single)
        if opened:
            specs, counts = {"unlisted": self.spec}, {"now": 0}
        for name, spec in specs.items():
            found = np.full(len(partners), -1, np.int64)
            exchange = FactExchange(spec, self._forms, tried, tables, self.context.seed)
            exchange.pair(found, [None] * len(partners))
            counts[name] = int(np.count_nonzero(found >= 0))
        noted = {"facts": len(tried), "of": len(facts), "exchanged": counts}
        lists = {"functional": [*self.spec.relations.functional, *single]} if single else {}
        return {"presets": noted | lists | ({"lists": self._lists_with(facts)} if opened else {})}

    def _lists_with(self, facts: Iterable[SwapFact]) -> list[str]:
        """The lists of relations that bar these facts."""
        names, lists = {name for fact in facts for name in (fact.relation, fact.side.relation)}, self.spec.relations
        barring = {"open": lists.open, "ranges": lists.ranges, "preferences": lists.preferences, "kinds": lists.kinds}
        found = [name for name, listed in barring.items() if not names.isdisjoint(map(compose_characters, listed))]
        return found or ["checkable"]  # a relation that this list lacks is barred, too

    def _single_ended(self, facts: Sequence[SwapFact], known: Table[Any]) -> list[str]:
        """The relations that are not called functional, though no concept has two ends in them."""
        names = {fact.relation for fact in facts if fact.group.end == "tail"} - {*self.spec.relations.functional}
        return [name for name, share in functionality(known, names).items() if share == 1]

    def _take_apart(
        self, statements: Table[Any], facts: Table[Any], outcomes: list[Dropped | NotApplicable | None],
        relations: list[str | None], opened: list[SwapFact],
    ) -> Iterator[SwapFact]:  # fmt: skip
        """The facts that no bar by text drops; the outcomes of all others, relations, and the `opened` facts."""
        index = RowIndex(combined_column(batch, "id") for batch in facts.batches(["id"]))
        bars, reader, false = (
            FactBars(self.spec, self._forms),
            FactReader(self._forms, self.spec.inverse_suffix),
            NotApplicable("false_statement"),
        )
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
                dropped = Dropped("no_answer_span", row["text"]) if fact is None else bars.by_text(fact)
                if fact is None or dropped is not None:
                    outcomes[place] = dropped
                    if fact is not None and dropped is not None and dropped.reason == "open_relation":
                        opened.append(fact)
                else:
                    yield fact
            facts.release()

    def _checks(self, exchange: FactExchange, *, functional: bool) -> tuple[str, ...]:
        """The bars that swapped statements of a relation passed."""
        bar, guesses, known = self.spec.bar, not functional, exchange.known
        passed = {
            "known_end": bar.known, "known_elsewhere": bar.known and bar.any_relation,
            "near_known": bar.near_known != "none" and guesses, "generic_answer": bool(bar.generic),
            "unspecific": (bar.cohesion is not None or known.has_classes) and guesses,
            "kin_has_it": bar.kin != "none" and guesses, "similar_have_it": bar.similar is not None and guesses,
            "class_has_it": bar.spread is not None and known.has_classes and guesses,
            "together_in_text": known.mentions is not None and guesses,
            "shares_letters": bar.shared_letters == "common", "letters_tell": bar.shared_letters != "allowed",
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
