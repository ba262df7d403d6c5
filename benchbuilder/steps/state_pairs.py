"""States questions by rules that are induced from pairs which a speaker wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import CasingSpec, FileRef, StepSpec, display_path, open_casing
from benchbuilder.core import (
    Choice,
    Fact,
    Kept,
    LengthUnit,
    NotApplicable,
    Outcome,
    Row,
    SpecIssue,
    Statement,
    Table,
    count_phrase,
    sentence_spans,
    text_length,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.pairs.files import PairsFile, read_accepted, read_pairs
from benchbuilder.steps.pairs.induction import PairRules


class StatePairsSpec(StepSpec):
    """How questions become statements by example."""

    pairs: FileRef | None = None
    """A table of questions, answers and statements, as ``benchbuild stem-shapes`` writes it; ``null``: no rule."""
    accepted: FileRef | None = None
    """The rules whose outputs a speaker accepted (``benchbuild stem-shapes --accept N``); no other is used."""
    unit: LengthUnit
    """What a rule compares: words, or characters in languages without spaces."""
    stop: str
    """The end of every statement."""
    stops: tuple[str, ...] = ()
    """What ends a sentence of a question anywhere: only its last sentence is stated, after the others."""
    soft_stops: tuple[str, ...] = (".",)
    """What ends a sentence unless it is part of a number, a name or an abbreviation."""
    abbreviations: tuple[str, ...] = ()
    """Abbreviations, without their stop."""
    joiner: str = " "
    """What stands between two sentences."""
    max_length: Annotated[int, Field(ge=1)] = 60
    """The largest length of a statement with its stop, in words or characters (`unit`)."""
    casing: CasingSpec | None = CasingSpec(default="keep")
    """The case of answers inside a statement, and of its first letter; ``null``: unchanged."""

    def split(self, question: str) -> tuple[str, str]:
        """The sentences before the last one, which end in the joiner, and the last one."""
        spans = sentence_spans(question, self.stops, self.soft_stops, self.abbreviations)
        if len(spans) < 2:
            return "", question
        start = spans[-1].start
        return question[:start].rstrip() + self.joiner, question[start:].strip()


class StatePairs(Map):
    """A true statement of question and answer, by the first accepted rule that fits.

    A rule is induced from one pair of the file, or from two that differ in words which the statement leaves out.
    """

    kind = "state_pairs"
    spec_class = StatePairsSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Fact[Choice]),
        "facts": Port(Fact[Choice], mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "no_rule": "No rule from pairs fits the question.",
        "not_accepted": "Only a rule fits whose outputs were not accepted.",
        "too_long": "The statement is longer than the recipe allows.",
    }

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the pairs and the accepted rules; the texts of all facts tell words of asking from others."""
        self._accepted = self._read_accepted()
        self._rules = self._read_rules(lookups.get("facts") or ())

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The statement, or that there is none; a fact without one may be asked in another form."""
        fact: Fact[Choice] = row
        spec: StatePairsSpec = self.spec
        before, question = spec.split(fact.payload.question)
        made = self._rules.apply(question, fact.payload.answer, self._accepted)
        if made is None:
            waiting = self._rules.apply(question, fact.payload.answer)
            return [NotApplicable("no_rule" if waiting is None else "not_accepted")]
        text = made.text + spec.stop
        if text_length(text, spec.unit) > spec.max_length:
            return [NotApplicable("too_long")]
        statement = Statement.child(
            fact, produced_by=self.produced_by(made.rule.digest), polarity="true", text=text, joined="induced",
            answer=made.answer, context=fact.payload.context + before, fact=fact.id,
            checks=("holds_answer", "no_question_word", "within_length"),
        )  # fmt: skip
        return [Kept(statement)]

    def remarks(self) -> Iterator[SpecIssue]:
        """Rules that wait to be accepted, questions that are stated twice, and pairs that no other pair confirms."""
        spec: StatePairsSpec = self.spec
        if spec.pairs is None:
            return
        file, rules, accepted = self._read_file(), self._read_rules(()), self._read_accepted()
        name = display_path(spec.pairs.file)
        for first, second in file.repeated:
            yield SpecIssue(
                "pairs", f"{name}:{first} and :{second} write the same question in two ways; the first counts", "", ()
            )
        waiting = [(n, rule) for n, rule in enumerate(rules.rules, 1) if rule.digest not in accepted]
        if waiting and len(waiting) == len(rules.rules):
            yield SpecIssue("accepted", f"no rule of {name} was accepted, so it makes no statement", "", ())
        for number, rule in waiting:
            what = "leaves words of the question out of the statement" if rule.drops_words else "was not looked at yet"
            yield SpecIssue("accepted", f"rule {number} ({rule.shape}) {what}: accept its outputs before it is used "
                            f"(benchbuild stem-shapes --accept {number})", "", ())  # fmt: skip
        left_out = list(rules.not_reproduced())
        for pair, made in left_out:
            what = f"make of it: {made}" if made else "make nothing of it"
            yield SpecIssue("pairs", f"{name}:{pair.line}: without this pair the others {what}", pair.statement, ())
        if left_out:
            said = f"{len(file.pairs) - len(left_out)} of {count_phrase(len(file.pairs), 'pair')}"
            yield SpecIssue(
                "pairs", f"{said} are what the others make, too; two pairs a shape confirm each other", "", ()
            )

    def _read_file(self) -> PairsFile:
        spec: StatePairsSpec = self.spec
        return PairsFile((), ()) if spec.pairs is None else read_pairs(spec.pairs.file, spec.unit)

    def _read_accepted(self) -> frozenset[str]:
        return frozenset() if self.spec.accepted is None else read_accepted(self.spec.accepted.file)

    def _read_rules(self, facts: Iterable[Any]) -> PairRules:
        pairs = self._read_file().pairs
        payloads: list[Choice] = [fact.payload for fact in facts] if pairs else []
        return PairRules(
            pairs, self.spec.unit, open_casing(self.spec.casing, self.context.language),
            (self.spec.split(payload.question)[1] for payload in payloads),
            (option.text for payload in payloads for option in payload.options),
        )  # fmt: skip

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """Faults of the two files, as errors with their lines."""
        spec: StatePairsSpec = self.spec
        if all(ref is None or ref.file.is_file() for ref in (spec.pairs, spec.accepted)):  # else reported already
            self._read_file()
            self._read_accepted()
        return ()
