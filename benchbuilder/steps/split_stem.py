"""Split the stem of a multiple-choice question into context and question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Choice,
    Dropped,
    Fact,
    Kept,
    LengthUnit,
    Outcome,
    Regex,
    Row,
    normalise_space,
    replace_all,
    sentence_spans,
    strip_marks,
    strip_marks_right,
    text_length,
)
from benchbuilder.steps.base import Map, Port


class SplitStemSpec(StepSpec):
    """How a stem is split.

    `stops` end a sentence anywhere; `soft_stops` only where they are not part of a number, name or abbreviation
    (`abbreviations`, written without the stop). `blank` matches the place for the answer. A question of more than
    `max_question` characters or words (`unit`) is cut at its last `clause_mark`. `trailing` lists the marks that a
    question may not begin or end with. `joiner` stands between sentences, and ends every context: a space in
    languages that write one there, else nothing.
    """

    stops: tuple[str, ...]
    soft_stops: tuple[str, ...]
    abbreviations: tuple[str, ...]
    blank: Regex | None
    max_question: Annotated[int, Field(ge=1)]
    unit: LengthUnit
    clause_mark: str
    trailing: tuple[str, ...]
    joiner: str


class SplitStem(Map):
    """Makes the last sentence of a stem the question, and all before it the context.

    The blank goes. Of a question that is too long only the last clause stays, the rest joins the context.
    """

    kind: ClassVar[str] = "split_stem"
    spec_class: ClassVar[type[StepSpec]] = SplitStemSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    output: ClassVar[type[Row] | None] = None
    reasons: ClassVar[Mapping[str, str]] = {
        "no_question": "Nothing is left of the question beside the blank and marks.",
    }

    spec: SplitStemSpec

    def map(self, row: Fact[Choice], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The fact with context and question apart."""
        spec = self.spec
        text = row.payload.question
        if spec.blank is not None:
            text = normalise_space(replace_all(spec.blank, "", text))
        sentences = sentence_spans(text, spec.stops, spec.soft_stops, spec.abbreviations)
        while sentences and not strip_marks(sentences[-1].slice_of(text), spec.trailing):
            sentences.pop()
        if not sentences:
            return [Dropped("no_question", row.payload.question)]
        last = sentences[-1]
        before = self._context(row.payload.context, text[: last.start])
        context, question = self._shorten(before, strip_marks(last.slice_of(text), spec.trailing))
        payload = row.payload.model_copy(update={"context": context, "question": question})
        if payload == row.payload:
            return [Kept(row)]
        return [Kept(type(row).child(row, produced_by=self.produced_by(), payload=payload, original=row.original))]

    def _context(self, *parts: str) -> str:
        """`parts` as one context, which ends in the joiner unless it is empty."""
        said = filter(None, (part.strip() for part in parts))
        return "".join(part + self.spec.joiner for part in said)

    def _shorten(self, context: str, question: str) -> tuple[str, str]:
        """Context and question, the question cut to its last clause if it is too long."""
        mark = self.spec.clause_mark
        if text_length(question, self.spec.unit) <= self.spec.max_question or mark not in question:
            return context, question
        rest, _, clause = question.rpartition(mark)
        return context + strip_marks_right(rest, self.spec.trailing) + mark + self.spec.joiner, clause.strip()
