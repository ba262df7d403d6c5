"""Asks the question of a fact as it stands, or for what completes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from benchbuilder.config import ClozeSentence, StepSpec
from benchbuilder.core import (
    AnsweredQuestion,
    Dropped,
    Fact,
    Kept,
    LengthUnit,
    NotApplicable,
    Outcome,
    Question,
    Regex,
    Row,
    SpecIssue,
    Statement,
    fill_template,
    find_all,
    inner_quotes,
    sentence_spans,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.edits import answer_text
from benchbuilder.steps.language.option_texts import issues_of_payload, stem_size
from benchbuilder.steps.language.patterns import first_match
from benchbuilder.steps.language.questions import leaks_answer, shown_context

_NAME = 24
"""An answer of more letters than this, in whatever script, is more than a name."""

_COLONS = ":：﹕"
"""Marks at the end of a text that its answer completes, in any language."""


class AskPassSpec(StepSpec):
    """What is a question as it stands, and what needs its options."""

    cloze: ClozeSentence = ""
    """Asks what stands between ``{left}`` and ``{right}``; empty: unfinished sentences are not asked."""
    cloze_ends: tuple[Regex, ...] = ()
    """Patterns of unfinished sentences that few words complete (is, by, the). What breaks off elsewhere has many right
    ends if it takes more than a name to end it (*Oxygen is used… in the conversion of fats to acetyl CoA*), and is not
    asked openly then. Without any, every unfinished sentence is asked."""
    asks: tuple[Regex, ...] = ()
    """Patterns of texts that are questions, besides a question mark at the end."""
    marks: str = "?？؟;;՞⁇"
    """Question marks."""
    blank: Regex = r"[_＿]{2,}|[(（]\s*[)）]|\.{4,}|…{2,}"
    """The place of the answer in a text."""
    stops: tuple[str, ...] = ()
    """What ends a sentence anywhere: only the last sentence of a case is completed, and the others stand before it."""
    soft_stops: tuple[str, ...] = (".",)
    """What ends a sentence unless it is part of a number, a name or an abbreviation."""
    abbreviations: tuple[str, ...] = ()
    """Abbreviations, without their stop."""
    options_named: tuple[Regex, ...] | None = ()
    """Patterns of questions that nobody can answer without the options. Without any, no question that has options is
    passed, for nothing would tell those questions from others; ``null``: no fact has options."""
    ignore: str = ""
    """Characters that are ignored when the question is searched for its answer."""
    matching: LengthUnit = "words"
    """Whether the question holds the answer anywhere, or as whole words only."""


class AskPass(Map):
    """One open-ended question for each fact: its own question, or one about the gap in an unfinished sentence."""

    kind: ClassVar[str] = "ask_pass"
    version = 4
    spec_class: ClassVar[type[StepSpec]] = AskPassSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement), "fact": Port(Fact, mode="parent")}
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        "false_statement": "Open-ended questions are asked about right answers only.",
        "options_unknown": "The recipe has no words for questions that need their options (`options_named`).",
        "speaks_of_options": "The question speaks of its options, or asks which of them is not right.",
        "not_a_question": "The text is neither a question nor an unfinished sentence.",
        "no_cloze": "The recipe has no sentence for unfinished ones (`cloze`).",
        "open_end": "The sentence breaks off where many right ends fit, and its answer is more than a name.",
        "several_gaps": "The text has several gaps.",
        "only_a_gap": "Nothing but the gap is left.",
        "leaks_answer": "The question or its context contains the answer.",
    }

    spec: AskPassSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterator[SpecIssue]:
        """Facts without a question and answers."""
        yield from issues_of_payload(rows, "fact")

    def remarks(self) -> Iterator[SpecIssue]:
        """That no question is passed without words for options, and which words the language lacks."""
        if self.spec.options_named == ():
            yield SpecIssue("options_named", "no question is asked openly: no words find questions that need their "
                            "options (forms.options_named)", "", ())  # fmt: skip
        if self.spec.cloze and not self.spec.cloze_ends:
            message = "no words find unfinished sentences with many right ends (forms.cloze_ends)"
            yield SpecIssue("cloze_ends", message, "", ())

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """The question, or the reason why it cannot be asked openly."""
        statement: Statement = row
        payload: AnsweredQuestion = parents["fact"].payload
        if statement.polarity != "true":
            return [NotApplicable("false_statement")]
        has_options = bool(getattr(payload, "options", ()))
        options_named = (self.spec.options_named or ()) if has_options else ()
        if has_options and not options_named:
            return [NotApplicable("options_unknown")]
        asked, answer = payload.question.strip(), answer_text(statement)
        if (found := first_match(options_named, asked)) is not None:
            return [Dropped("speaks_of_options", found)]
        if leaks_answer(answer, payload.context + asked, self.spec.ignore, self.spec.matching):
            return [Dropped("leaks_answer", asked)]
        return [self._ask(statement, payload, asked)]

    def _ask(self, statement: Statement, payload: AnsweredQuestion, asked: str) -> Outcome:
        gaps = find_all(self.spec.blank, asked)
        if len(gaps) > 1:
            return Dropped("several_gaps", asked)
        if gaps:
            left, right = asked[: gaps[0].start], asked[gaps[0].end :]
            if not any(mark.isalnum() for mark in left + right):
                return Dropped("only_a_gap", asked)
            return self._complete(statement, payload, left, right)
        if asked.rfind("¿") > asked.rfind("?"):  # neither a question, which would end, nor a sentence to complete
            return Dropped("not_a_question", asked)
        if asked.endswith(tuple(self.spec.marks)) or first_match(self.spec.asks, asked) is not None:
            return self._question(statement, payload, "passed", asked)
        if asked.endswith(tuple(_COLONS)):
            return self._complete(statement, payload, asked.rstrip(_COLONS + " "), "")
        if asked[-1:].isalnum() or asked[-1:] in ",，、…" or asked.endswith("..."):
            return self._complete(statement, payload, asked.rstrip(",，、…. "), "")
        return Dropped("not_a_question", asked)

    def _complete(self, statement: Statement, payload: AnsweredQuestion, left: str, right: str) -> Outcome:
        if not self.spec.cloze:
            return Dropped("no_cloze", left + right)
        ends = self.spec.cloze_ends if stem_size(answer_text(statement)) > _NAME else ()
        if ends and not right.strip() and first_match(ends, left.rstrip()) is None:
            return Dropped("open_end", left)
        start, asks = self._last_sentence(left)
        if asks and not any(mark.isalnum() for mark in right):  # what follows a question is no gap
            return Dropped("not_a_question", left)
        case = left[:start].rstrip() + "\n" if start else ""
        sides = {"left": (part := left[start:]).rstrip() + (" " if part.endswith(" ") else ""), "right": right}
        shown = {name: inner_quotes(text, self.spec.cloze) for name, text in sides.items()}
        return self._question(statement, payload, "cloze", case + fill_template(self.spec.cloze, shown)[0])

    def _last_sentence(self, left: str) -> tuple[int, bool]:
        """Where the sentence begins whose gap `left` stands before, and whether one before it asks something."""
        spans = sentence_spans(left, self.spec.stops, self.spec.soft_stops, self.spec.abbreviations)
        ended = left.rstrip().endswith((*self.spec.stops, *self.spec.soft_stops))  # the gap opens a sentence of its own
        start, before = (len(left), spans) if ended else (spans[-1].start if spans else 0, spans[:-1])
        while before and left[start : start + 1].islower():  # it was an abbreviation that nobody listed
            start, before = before[-1].start, before[:-1]
        return (start if before else 0), any(span.slice_of(left).endswith(tuple(self.spec.marks)) for span in before)

    def _question(self, statement: Statement, payload: AnsweredQuestion, form: str, text: str) -> Outcome:
        question = Question.child(
            statement, produced_by=self.produced_by(form), type="oe", text=text, context=shown_context(payload.context),
            fact=statement.fact, family=statement.family, checks=("shown_whole", "no_leak"), form=form,
            asked=payload.question,
        )  # fmt: skip
        return Kept(question)
