"""Joins a multiple-choice question and its answer into one true sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from benchbuilder.config import CasingSpec, FileRef, open_casing, open_word_forms
from benchbuilder.core import (
    Choice,
    Conversion,
    Dropped,
    Fact,
    Kept,
    LengthUnit,
    Outcome,
    Patterns,
    ProducedBy,
    Regex,
    Row,
    Span,
    Statement,
    Table,
    all_numbers,
    comparison_form,
    contains_text,
    convert_script,
    edit_distance,
    end_with,
    find_all,
    first_match,
    is_on_boundaries,
    is_whole_token,
    last_whole_match,
    locate_answer,
    matches_whole,
    replace_all,
    strip_marks,
    strip_marks_right,
    strip_wrapping,
    text_differences,
    text_length,
    truncate_text,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.edits import longest_end, replace_span
from benchbuilder.steps.language.frames import FramedText, SentenceFrame, SentenceFrames, check_frames
from benchbuilder.steps.language.negation import count_negations
from benchbuilder.steps.language.questions import is_one_sentence
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec

_ASCII_STOP = "."
_GAP = "\0"
"""Stands where a part was taken out, so that what was around it does not run together."""


class StateChoiceSpec(WriterSpec):
    """How questions become statements."""

    seams: tuple[str, ...]
    """What a question may end in so that the answer can simply follow; the longest that fits counts."""
    frames: dict[str, SentenceFrame | None] = {}
    """Questions that are written anew as a whole, by names of your choice; the first that fits counts, before seams."""
    shapes: dict[str, Regex] = {}
    """What answers look like, by a name that frames use."""
    forms: tuple[FileRef, ...] = ()
    """Tables of word forms, whose columns frames and shapes may name (``%column%``)."""
    parts: dict[str, Regex] = {}
    """Parts of patterns, which frames, shapes and later parts name in the same way."""
    before: dict[str, str] = {}
    """What a frame with `before` puts before an answer, by its shape; the first shape that it has counts."""
    casing: CasingSpec | None = None
    """How frames begin sentences and put texts into them; ``null``: letters stay as they are."""
    not_statements: Patterns = ()
    """What no statement of a frame may hold; a list of patterns, or a mapping with names of your choice, which tell
    readers of the ledger what is wrong."""
    not_questions: Patterns
    """Questions that no rule may join, whatever they end in; as a list or by names."""
    not_answers: Patterns
    """Answers that do not fit behind a seam; as a list or by names."""
    stop: str
    """What every statement ends in."""
    marks: str
    """Marks that are taken off the end of the question and off both ends of the answer."""
    joiner: str
    """What stands between question and answer: a space in languages that write one between words, else nothing."""
    max_length: Annotated[int, Field(ge=1)]
    """Characters or words that a statement made by rule may have, its stop included."""
    max_model_length: Annotated[int, Field(ge=1)]
    """Characters or words that a statement made by a model may have, its stop included."""
    unit: LengthUnit
    """What the lengths of statements are counted in."""
    ends: str
    """Characters that end a sentence; a statement made by a model holds none but its stop."""
    asking: tuple[Regex, ...]
    """What asks in a question: a model's statement need not keep it, and holds none of it outside the answer."""
    keeps: Annotated[float, Field(ge=0, le=1)]
    """Share of the question, without what asks and what may go, that a model's statement must keep."""
    may_go: tuple[Regex, ...]
    """What a model's statement need not keep of the question, where a line feed stands for what asks."""
    glue: tuple[Regex, ...]
    """What a model's statement may hold besides question and answer: words that only join them."""
    max_glue: Annotated[int, Field(ge=0)]
    """Characters of such words that it may hold."""
    max_edits: Annotated[int, Field(ge=0, le=5)]
    """Edits within which a part of a model's statement counts as the answer; 0: the answer as it is."""
    edits_from: Annotated[int, Field(ge=1)]
    """Characters that an answer must have for that: an edit of a short word is another word."""
    fixed: tuple[Regex, ...]
    """What such an edit must not touch, besides numbers, nor what is left out of the question."""
    matching: LengthUnit = "characters"
    """Whether a model's text holds answer and options anywhere, or as whole words only."""
    script: Conversion | None
    """An answer that this conversion leaves as it is must not be written so that the conversion would change it."""
    negations: tuple[Regex, ...]
    """What counts as a negation; a model's statement holds as many as question and answer. With none, none count."""
    harmless: tuple[Regex, ...]
    """Words that hold such a string and negate nothing."""

    @model_validator(mode="after")
    def _known_frames(self) -> Self:
        check_frames(self.frames, self.shapes, self.parts)
        return self


class StateChoice(Writer):
    """A true statement of question, answer and stop, where the question ends in a seam or fits a frame.

    The statement carries the span of its answer and of the seam. A question that no rule can join is put to the
    model, which gets the question without what stands before it; its statement has no seam.
    """

    kind = "state_choice"
    spec_class = StateChoiceSpec
    version = 2
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    output: ClassVar[type[Row] | None] = Statement
    faults: ClassVar[Mapping[str, str]] = {
        "not_one_sentence": "The model's text is not one sentence on one line.",
        "still_a_question": "The model's text still asks, or is the question itself.",
        "answer_missing": "The model's text does not hold the answer, not even within the edits it may have.",
        "inconsistent": "The model's text leaves out too much of the question, says more, or its numbers are others.",
        "other_option": "The model's text holds another option besides the answer.",
        "polarity_changed": "The model's text holds more negations than question and answer, or fewer.",
        "too_long": "The statement is longer than the recipe allows.",
    }
    """Why a model's text is not taken."""
    reasons: ClassVar[Mapping[str, str]] = {**MODEL_REASONS, **faults}
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "what stands before the question (may be empty)",
        "question": "the question, without its blank",
        "answer": "the right answer",
    }
    reply_field = "statement"

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the word forms, and the prompts."""
        super().open(lookups)
        spec: StateChoiceSpec = self.spec
        self._casing = open_casing(spec.casing)
        self._frames = SentenceFrames(
            spec.frames, spec.shapes, open_word_forms(spec.forms, spec.parts), self._casing, spec.before
        )

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """Every fact can be stated."""
        return None

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """What a frame makes of the question, or question, answer and stop, where the question ends in a seam."""
        fact: Fact[Choice] = row
        spec: StateChoiceSpec = self.spec
        question, answer = self._question_and_answer(fact)
        if not answer or (made := self._write_by_rule(question, answer)) is None:
            return NeedsModel(
                f"{self._frames.why_unmatched(question, answer) if spec.frames else 'no seam fits'}: {question}"
            )
        refusals = [("question", spec.not_questions, question), ("answer", spec.not_answers, answer)]
        refusals += [("statement", spec.not_statements, made.text)] if made.name else []
        for part, patterns, text in refusals:
            if (name := first_match(patterns, text)) is not None:
                return NeedsModel(f"{part} refused ({name}): {text}")
        joined = made.text + spec.stop
        if (size := text_length(joined, spec.unit)) > spec.max_length:
            return Dropped("too_long", f"{size} {spec.unit}")
        statement = Statement.child(
            fact,
            produced_by=self.produced_by(made.name or "seam"),
            polarity="true",
            text=joined,
            joined="template" if made.name else "seam",
            answer=made.answer,
            seam=made.seam,
            context=fact.payload.context,
            fact=fact.id,
            checks=("holds_answer", "within_length"),
        )
        return Kept(statement)

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Question and answer without the marks around them, and the context."""
        question, answer = self._question_and_answer(row)
        return {"context": row.payload.context, "question": question, "answer": answer}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The question without what asks in it, the answer and the stop."""
        question, answer = self._question_and_answer(row)
        bare = "".join(mark for mark in self._without_question_words(question, "") if mark not in self.spec.ends)
        rest = self.spec.joiner + answer + self.spec.stop
        return (
            truncate_text(bare, self.spec.max_model_length - text_length(rest, self.spec.unit), self.spec.unit) + rest
        )

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """A statement that says what the question says, with the answer in it, in one sentence."""
        fact: Fact[Choice] = row
        spec: StateChoiceSpec = self.spec
        question, answer = self._question_and_answer(fact)
        said = strip_wrapping(text)
        if not answer.endswith(_ASCII_STOP):
            said = said.removesuffix(_ASCII_STOP)
        text = end_with(said, spec.stop, spec.marks)
        place = self._answer_span(fact, answer, text)
        if text == end_with(question, spec.stop, spec.marks) or self._contains_question(said, place):
            return ReplyFault("still_a_question")
        if "\n" in said or not is_one_sentence(text, spec.stop, spec.ends):
            return ReplyFault("not_one_sentence")
        if place is None:
            return ReplyFault("answer_missing", answer)
        bare = self._without_question_words(question, _GAP)
        if self._count_negations(bare + _GAP + answer) != self._count_negations(text):
            return ReplyFault("polarity_changed", question)
        if (size := text_length(text, spec.unit)) > spec.max_model_length:
            return ReplyFault("too_long", f"{size} > {spec.max_model_length}")
        around = replace_span(text, place, _GAP)
        if option := self._other_option(fact, answer, question, around):
            return ReplyFault("other_option", option)
        if all_numbers(bare, answer) != all_numbers(text) or not self._keeps_question(
            question, around.removesuffix(spec.stop)
        ):
            return ReplyFault("inconsistent", question)
        checks = ["one_sentence", "holds_answer" if place.slice_of(text) == answer else "holds_answer_nearly"]
        if self._casing is not None and text[: place.start].strip():
            text = replace_span(
                text, place, self._casing.lower_first(place.slice_of(text))
            )  # a wrong option will stand so, too
        checks += ["keeps_question", *(["same_negations"] if spec.negations else []), "within_length"]
        return Statement.child(
            fact,
            produced_by=produced_by,
            polarity="true",
            text=text,
            joined="model",
            answer=place,
            context=fact.payload.context,
            fact=fact.id,
            checks=tuple(checks),
        )

    def _write_by_rule(self, question: str, answer: str) -> FramedText | None:
        """What a frame writes, else question and answer where the question ends in a seam (under no name)."""
        if (written := self._frames.apply(question, answer)) is not None:
            return written if written.answer is not None else None
        if not (seam := longest_end(question, self.spec.seams)):
            return None
        end, at = len(question), len(question + self.spec.joiner)
        text = question + self.spec.joiner + answer
        return FramedText("", text, Span(start=at, end=len(text)), Span(start=end - len(seam), end=end))

    def _question_and_answer(self, fact: Fact[Choice]) -> tuple[str, str]:
        """Question and answer without the marks around them."""
        marks = self.spec.marks
        return strip_marks_right(fact.payload.question, marks), strip_marks(fact.payload.answer, marks)

    def _without_question_words(self, question: str, gap: str) -> str:
        """The question with `gap` in the place of what asks in it."""
        for pattern in self.spec.asking:
            question = replace_all(pattern, gap, question)
        return question

    def _keeps_question(self, question: str, around: str) -> bool:
        """Whether what stands around the answer is the question, without what may go and with no more than glue.

        What may go may stand anywhere; one part of the rest may have moved from the end, or to the answer.
        """
        spec: StateChoiceSpec = self.spec
        bare = self._without_question_words(question, "\n")
        spare = [comparison_form(span.slice_of(bare)) for pattern in spec.may_go for span in find_all(pattern, bare)]
        for pattern in spec.may_go:
            bare = replace_all(pattern, "", bare)
        wanted = comparison_form(bare)
        changes = text_differences(wanted, comparison_form(around))
        lost = [old for old, _ in changes if old]
        added = [new for _, new in changes if new]
        for part in [*spare, *sorted((part for part in lost if len(part) > 1), key=len)[-1:]]:
            anywhere = part in spare or wanted.endswith(part)
            at = next((at for at, new in enumerate(added) if part in new and (anywhere or _GAP in new)), None)
            if at is not None:
                added[at] = added[at].replace(part, "", 1)
                lost = [other for other in lost if other != part]
        added = [piece for new in added for piece in new.split(_GAP)]
        if sum(map(len, added)) > spec.max_glue or sum(map(len, lost)) > (1 - spec.keeps) * len(wanted):
            return False
        glue = "(?:" + "|".join(f"(?:{pattern})" for pattern in spec.glue) + ")*"
        return all(matches_whole(glue, part) for part in added) and not any(
            find_all(pattern, part) for pattern in spec.fixed for part in lost
        )

    def _other_option(self, fact: Fact[Choice], answer: str, question: str, around: str) -> str:
        """A wrong option, of two characters at least, that stands around the answer and not in the question."""
        options = (strip_marks(option.text, self.spec.marks) for option in fact.payload.wrong_options())
        said, asked = comparison_form(around), comparison_form(question)
        keys = {comparison_form(option): option for option in options if option != answer}
        if self.spec.matching == "words":
            there = [o for key, o in keys.items() if len(key) > 1 and contains_text(around, o, "words")]
            return next((option for option in there if not contains_text(question, option, "words")), "")
        return next((o for key, o in keys.items() if len(key) > 1 and key in said and key not in asked), "")

    def _count_negations(self, text: str) -> int:
        return count_negations(text, self.spec.negations, self.spec.harmless)

    def _contains_question(self, statement: str, answer: Span | None) -> bool:
        """Whether something outside the answer asks."""
        around = statement if answer is None else replace_span(statement, answer, _GAP)
        return any(find_all(pattern, around) for pattern in self.spec.asking)

    def _answer_span(self, fact: Fact[Choice], answer: str, text: str) -> Span | None:
        """Where the answer stands in a model's text, nearly at least: not where another option might be meant."""
        place = locate_answer(answer, text, self.spec.max_edits if len(answer) >= self.spec.edits_from else 0)
        if self.spec.matching == "words":
            place = last_whole_match(answer, text, "words") or place
        if place is None or not is_whole_token(place, text) or not is_on_boundaries(place, text, self.spec.matching):
            return None
        found = place.slice_of(text)
        if found == answer:
            return place
        script: Conversion | None = self.spec.script
        if script and convert_script(found, script) != found and convert_script(answer, script) == answer:
            return None
        distance = edit_distance(found, answer)
        nearer = any(edit_distance(found, option.text) <= distance for option in fact.payload.wrong_options())
        kept = all(
            [span.slice_of(found) for span in find_all(pattern, found)]
            == [span.slice_of(answer) for span in find_all(pattern, answer)]
            for pattern in self.spec.fixed
        )
        return place if kept and not nearer and all_numbers(found) == all_numbers(answer) else None
