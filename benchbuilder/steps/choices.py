"""Prepares multiple-choice questions: splits answers, cleans stems, splits context and question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Choice,
    Dropped,
    Fact,
    FrozenModel,
    Kept,
    LengthUnit,
    MultipleAnswerChoice,
    Option,
    Outcome,
    Regex,
    Row,
    find_all,
    has_match,
    normalise_space,
    replace_all,
    sentence_spans,
    text_length,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.punctuation import strip_marks, strip_marks_right


class QuestionInversion(FrozenModel):
    """A pattern in questions for the options that are *not* true, and its replacement in the positive question."""

    find: Regex
    put: str


class SplitAnswersSpec(StepSpec):
    """What happens to questions with several right options.

    ``split`` makes a fact from each right option, ``drop`` drops such questions. `turned` lists inversions of questions
    that ask for untrue options. The first that matches swaps the right and wrong options, and rewrites the question
    accordingly. This is valid only if every option is true or false by itself.
    """

    several: Literal["drop", "split"]
    turned: tuple[QuestionInversion, ...] = ()


class SplitAnswers(Map):
    """A fact with one right option for each right option of a question.

    Its options do not include the other right ones, so that none of them becomes a wrong answer. The slot of a fact is
    the key of its option (empty if questions with several right options are dropped).
    """

    kind: ClassVar[str] = "split_answers"
    spec_class: ClassVar[type[StepSpec]] = SplitAnswersSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[MultipleAnswerChoice])}
    output: ClassVar[type[Row] | None] = Fact[Choice]
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "several_answers": "Several options are right, and the recipe drops such questions.",
        "none_right": "The question asks for the options that are not true, and that is all of them.",
    }

    spec: SplitAnswersSpec

    def map(self, row: Fact[MultipleAnswerChoice], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """A branch for each right option, or one drop without any."""
        payload = row.payload
        question, rule, right = payload.question, "as_asked", set(payload.answer_keys)
        turn = next((turn for turn in self.spec.turned if has_match(turn.find, question)), None)
        if turn is not None:
            question, rule = replace_all(turn.find, turn.put, question), "turned"
            right = {option.key for option in payload.options} - right
        if not right:
            return [Dropped("none_right", payload.question)]
        if self.spec.several == "drop" and len(right) > 1:
            return [Dropped("several_answers", " ".join(sorted(right)))]
        return [self._fact(row, question, option, right, rule) for option in payload.options if option.key in right]

    def _fact(
        self, row: Fact[MultipleAnswerChoice], question: str, right: Option, all_right: set[str], rule: str
    ) -> Outcome:
        payload = row.payload
        slot = right.key if self.spec.several == "split" else ""
        choice = Choice(
            context=payload.context, question=question, answer_key=right.key, answer=right.text,
            options=tuple(o for o in payload.options if o.key == right.key or o.key not in all_right),
            category=payload.category, split=payload.split,
        )  # fmt: skip
        produced_by = self.produced_by(rule)
        return Kept(
            Fact[Choice].child(row, produced_by=produced_by, slot=slot, payload=choice, original=row.original), slot
        )


class CleanChoiceSpec(StepSpec):
    """What is cleaned; an empty list or ``null`` changes nothing.

    `remove` lists marks that are removed everywhere. `numbering` matches an item's number at the start of the stem.
    `inner_numbering` matches the number of a sub-question inside a stem. `inner` replaces it by a sentence break (the
    mark `sentence_break`, unless the text before it ends in one of `stops`) or deletes it.
    """

    remove: tuple[str, ...]
    numbering: Regex | None
    inner_numbering: Regex | None
    inner: Literal["break", "delete"]
    sentence_break: str
    stops: tuple[str, ...]


class CleanChoice(Map):
    """Cleans question and context, and normalises white space and the end (in options too): stops, a lone quote.

    An unchanged fact stays the same row.
    """

    kind: ClassVar[str] = "clean_choice"
    version = 3
    spec_class: ClassVar[type[StepSpec]] = CleanChoiceSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    reasons: ClassVar[Mapping[str, str]] = {
        "no_question": "Nothing is left of the question after cleaning.",
        "options_alike": "Another option equals the right one after cleaning.",
    }

    spec: CleanChoiceSpec

    def map(self, row: Fact[Choice], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The cleaned fact."""
        payload = row.payload.map_texts(lambda text: _with_tidy_end(normalise_space(text)))
        context = self._clean(payload.context, opens=True)
        if context:  # its separator from the question stays
            context += row.payload.context[len(row.payload.context.rstrip()) :]
        question = self._clean(payload.question, opens=not context)
        if not question:
            return [Dropped("no_question", row.payload.question)]
        if any(option.text == payload.answer for option in payload.wrong_options()):
            return [Dropped("options_alike", payload.answer)]
        return [_with_stem(self, row, payload, context, question)]

    def _clean(self, text: str, *, opens: bool) -> str:
        """`text` cleaned; with `opens`, it is the start of the stem."""
        if opens and self.spec.numbering is not None:
            text = _without_first(self.spec.numbering, text)
        if self.spec.inner_numbering is not None:
            text = self._break(self.spec.inner_numbering, text)
        for mark in self.spec.remove:
            text = text.replace(mark, "")
        return normalise_space(text)

    def _break(self, pattern: str, text: str) -> str:
        parts: list[str] = []
        end = 0
        for span in find_all(pattern, text):
            before = text[end : span.start].rstrip()
            broken = self.spec.inner == "delete" or before.endswith(self.spec.stops) or not (before or parts)
            parts.append(before if broken else before + self.spec.sentence_break)
            end = span.end
        return "".join([*parts, text[end:]])


def _with_tidy_end(text: str) -> str:
    """`text` with one stop in place of two at its end (three are an ellipsis), and without a lone quote there."""
    if text.endswith((' "', '?"')) and text.count('"') == 1:
        text = text[:-1].rstrip()
    doubled = any(text.endswith(2 * stop) and not text.endswith(3 * stop) for stop in ".。")
    return text[:-1] if doubled else text


def _without_first(pattern: str, text: str) -> str:
    """`text` without a match of `pattern` at its start."""
    span = next(iter(find_all(pattern, text)), None)
    return text[span.end :].lstrip() if span is not None and span.start == 0 else text


def _with_stem(step: Map, row: Fact[Choice], payload: Choice, context: str, question: str) -> Kept:
    """The fact with another context and question; the same row if nothing changes."""
    payload = payload.model_copy(update={"context": context, "question": question})
    if payload == row.payload:
        return Kept(row)
    return Kept(type(row).child(row, produced_by=step.produced_by(), payload=payload, original=row.original))


class SplitStemSpec(StepSpec):
    """How a stem is split.

    `stops` end a sentence anywhere; `soft_stops` only if they are not part of a number, name or abbreviation
    (`abbreviations`, written without the stop). `blank` matches the place of the answer. A question of more than
    `max_question` characters or words (`unit`) is split at its last `clause_mark`; a clause that matches `not_alone`
    stays with the clause before it, and so does the text behind a place that `gap` matches. What is split off ends in
    `cut_stop`, as a sentence of its own, or in the mark if it only introduces the question (`leads`), such as *by law*.
    `trailing` lists the marks that a question must not begin or end with, `leading` those that a context must not begin
    with. `joiner` separates sentences and ends every context: a space in languages with spaces between sentences, else
    nothing.
    """

    stops: tuple[str, ...]
    soft_stops: tuple[str, ...]
    abbreviations: tuple[str, ...]
    blank: Regex | None
    max_question: Annotated[int, Field(ge=1)]
    unit: LengthUnit
    clause_mark: str
    cut_stop: str = ""
    leads: Regex | None = None
    not_alone: Regex | None = None
    gap: Regex | None = None
    trailing: tuple[str, ...]
    leading: tuple[str, ...] = ()
    joiner: str


class SplitStem(Map):
    """Makes the last sentence of a stem the question, and the text before it the context.

    The blank is removed. If a question is too long, only its last clause stays; the rest joins the context.
    """

    kind: ClassVar[str] = "split_stem"
    spec_class: ClassVar[type[StepSpec]] = SplitStemSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    reasons: ClassVar[Mapping[str, str]] = {"no_question": "The question consists only of the blank and marks."}

    spec: SplitStemSpec

    def map(self, row: Fact[Choice], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The fact with separate context and question."""
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
        return [_with_stem(self, row, row.payload, context.lstrip("".join(spec.leading)), question)]

    def _context(self, *parts: str) -> str:
        """`parts` as one context, which ends in the joiner unless it is empty."""
        return "".join(part + self.spec.joiner for part in map(str.strip, parts) if part)

    def _shorten(self, context: str, question: str) -> tuple[str, str]:
        """Context and question, with the question shortened to its last clause if it is too long."""
        mark = self.spec.clause_mark
        if text_length(question, self.spec.unit) <= self.spec.max_question or mark not in question:
            return context, question
        rest, _, clause = question.rpartition(mark)
        while self._leans(rest, clause.lstrip()):
            if mark not in rest:
                return context, question
            rest, _, before = rest.rpartition(mark)
            clause = before + mark + clause
        rest = strip_marks_right(rest, self.spec.trailing)
        introduces = not self.spec.cut_stop or (self.spec.leads is not None and has_match(self.spec.leads, rest))
        return context + rest + (mark if introduces else self.spec.cut_stop) + self.spec.joiner, clause.strip()

    def _leans(self, rest: str, clause: str) -> bool:
        """Whether `clause` says nothing without `rest`, or the place of the answer is in `rest`."""
        spec = self.spec
        return any(pattern is not None and has_match(pattern, text)
                   for pattern, text in ((spec.not_alone, clause), (spec.gap, rest)))  # fmt: skip
