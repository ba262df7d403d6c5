"""Finds claims in paragraphs by patterns of the language, without a model: definitions, rows of tables, measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from benchbuilder.config import Spec, StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
    LabelledClaim,
    NotApplicable,
    Outcome,
    Passage,
    Regex,
    Row,
    Table,
    fill_template,
    find_all,
    group_names,
    has_match,
    match_groups,
    split_sentences,
    template_faults,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.claim_rules import CLAIM_FAULTS, ClaimCheck, ClaimRules, Proposal, ReadText

_FACT = Fact[LabelledClaim]
_BEHIND_UNIT = re.compile(r"(?:(?<=\d \w\.)|(?<=\d\w\.)|(?<=\u00b0 \w\.)|(?<=\u00b0\w\.)) (?=[^\W\d_])")
"""Between a sentence that ends in a unit of one letter, which looks like an initial, and the next one: 5 m, 60 °C."""
_CELLS = " | "
"""Stands between the cells of a row of a table; each is ``column: value``."""


class ClaimPattern(Spec):
    """Sentences that are claims as they stand, or of which one is written."""

    match: Regex
    """Pattern of whole sentences; of a row of a table: its first cell, `` | `` and another one, for each other one."""
    write: str = ""
    """The claim, with the named groups of `match` in braces; empty: the sentence as it stands."""
    inside: dict[str, Regex] = {}
    """Groups that stand inside the sentence of `write`, with a pattern of those that take a small letter there."""
    title: Regex = ""
    """What the title of the paragraph, with the headings above it, must hold; empty: anything."""
    unless: tuple[Regex, ...] = ()
    """Patterns of sentences that are no claims although they match."""

    @model_validator(mode="after")
    def _names_groups(self) -> Self:
        names = group_names(self.match)
        if faults := template_faults(self.write, names):
            raise ValueError(f"write: {faults[0]}")
        if unknown := set(self.inside) - set(names):
            raise ValueError(f"inside: `match` has no group {min(unknown)}")
        return self


class FindClaimsSpec(StepSpec):
    """Which sentences are claims. The patterns and words are data of the language."""

    patterns: dict[str, ClaimPattern | None]
    """The patterns by a name of your choice; the first that fits counts. ``null`` removes an inherited one."""
    numbering: Regex = ""
    """The number of a recommendation, which begins a sentence and is no part of it."""
    rules: ClaimRules


class FindClaims(Map):
    """True claims that stand in a paragraph, each with its title as what it is about.

    Each passes the checks of `read_claims`. The slot is the number of the sentence, from 1, and in rows of tables that
    of the cell behind it.
    """

    kind: ClassVar[str] = "find_claims"
    version = 4
    spec_class: ClassVar[type[StepSpec]] = FindClaimsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage)}
    output: ClassVar[type[Row] | None] = _FACT
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_rule": "No pattern finds a claim in the sentence; a model may read one.",
        **CLAIM_FAULTS,
    }

    spec: FindClaimsSpec

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Prepare the checks."""
        self._check = ClaimCheck(self.spec.rules, str.split)

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """A branch for each sentence, and for each cell of a row of a table."""
        accepted: list[Proposal] = []
        outcomes = [self._outcome(row, accepted, *part) for part in self._parts(row.text)]
        return outcomes or [NotApplicable("no_rule")]

    def _parts(self, text: str) -> Iterator[tuple[str, str, str, str]]:
        """The slot, the sentence, its quote and what else supports it, for each sentence or cell."""
        first, *cells = text.split(_CELLS)
        if cells:
            yield from ((f"1.{n}", f"{first}{_CELLS}{cell}", cell, first) for n, cell in enumerate(cells, 1))
            return
        rules = self.spec.rules
        found = (
            sentence
            for part in self._between_numbers(text)
            for sentence in split_sentences(part, rules.stops, rules.soft_stops, rules.abbreviations)
        )
        sentences = (part for sentence in found for part in _BEHIND_UNIT.split(sentence))
        yield from ((str(number), sentence, sentence, "") for number, sentence in enumerate(sentences, 1))

    def _between_numbers(self, text: str) -> Iterator[str]:
        """The text without the numbers of recommendations, cut there: one stands at its beginning, or behind a stop."""
        begin = 0
        for span in find_all(self.spec.numbering, text) if self.spec.numbering else ():
            before = text[begin : span.start].rstrip()
            if not before or before.endswith((*self.spec.rules.stops, *self.spec.rules.soft_stops, ";", ":")):
                yield before
                begin = span.end
        yield text[begin:]

    def _outcome(
        self, row: Passage, accepted: list[Proposal], slot: str, sentence: str, quote: str, known: str
    ) -> Outcome:
        name, claim = self._found(sentence, row.title)
        if not claim:
            return NotApplicable("no_rule", slot)
        proposal = Proposal(claim, quote)
        fault = self._check.fault(proposal, ReadText(row.text, f"{row.title}\n{known}"), accepted)
        if fault is not None:
            return Dropped(fault[0], " | ".join(filter(None, (fault[1], claim))), slot)
        accepted.append(proposal)
        payload = LabelledClaim(text=claim, label="true", gold=(row.text,), premise=row.title, quote=quote)
        return Kept(_FACT.child(row, produced_by=self.produced_by(name), slot=slot, payload=payload), slot)

    def _found(self, sentence: str, title: str) -> tuple[str, str]:
        """The name of the first pattern that fits and the claim; empty texts if none does."""
        for name, pattern in self.spec.patterns.items():
            if pattern is None or (pattern.title and not has_match(pattern.title, title)):
                continue
            groups = match_groups(pattern.match, sentence)
            if groups is not None and not any(has_match(bad, sentence) for bad in pattern.unless):
                return name, _written(pattern, groups) if pattern.write else sentence
        return "", ""


def _written(pattern: ClaimPattern, groups: Mapping[str, str]) -> str:
    """The claim that a pattern writes of its groups."""
    small = (name for name, begins in pattern.inside.items() if has_match(begins, groups[name]))
    return fill_template(pattern.write, {**groups, **{k: groups[k][:1].lower() + groups[k][1:] for k in small}})[0]
