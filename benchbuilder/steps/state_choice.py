"""Joins multiple-choice questions and their answers into true sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from benchbuilder.config import CasingSpec, FileRef, Spec, open_casing, open_word_forms
from benchbuilder.core import (
    Choice,
    Conversion,
    Dropped,
    Fact,
    Kept,
    LengthUnit,
    Outcome,
    ProducedBy,
    Regex,
    Row,
    Span,
    Statement,
    Table,
    all_numbers,
    comparison_form,
    convert_script,
    edit_distance,
    find_all,
    has_match,
    is_on_boundaries,
    is_whole_token,
    matches_whole,
    replace_all,
    strip_wrapping,
    text_length,
    truncate_text,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.answer_texts import contains_text, last_whole_match, locate_answer, text_differences
from benchbuilder.steps.language.edits import count_negations, longest_end, replace_span
from benchbuilder.steps.language.frames import FramedText, SentenceFrame, SentenceFrames, check_frames
from benchbuilder.steps.language.joins import REFUSALS, JoinRules, Joins, Refusal, RefusalReason, without_opening
from benchbuilder.steps.language.patterns import Patterns, first_match
from benchbuilder.steps.language.punctuation import end_with, strip_marks, strip_marks_right
from benchbuilder.steps.language.questions import is_one_sentence
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec


class MemberRule(Spec):
    """Questions of which several answers are right: a statement gives the answer as one of them, not as the whole."""

    match: Annotated[Regex, Field(min_length=1)]
    """A pattern of what `write` replaces, such as the verb at the end of *the complications are*."""
    write: str
    unless: Regex = ""
    """A pattern of questions that have one answer, such as *the most frequent* (empty: none)."""
    in_case: bool = True
    """Whether the rule applies behind a context, too: a case has one diagnosis where a disease has several signs."""


def as_one_of_several(rules: Mapping[str, MemberRule | None], question: str, *, behind_context: bool) -> str:
    """The question for one of several answers, if one of `rules` fits it; else `question`."""
    for rule in rules.values():
        if rule is None or not has_match(rule.match, question) or (behind_context and not rule.in_case):
            continue
        if not rule.unless or not has_match(rule.unless, question):
            return replace_all(rule.match, rule.write, question)
    return question


_ASCII_STOP = "."
_GAP = "\0"
"""Replaces a removed part, so that the text around it does not run together."""


class StateChoiceSpec(WriterSpec):
    """How questions become statements."""

    seams: tuple[str, ...]
    """Ends of questions that the answer can simply follow; the longest that fits counts."""
    frames: dict[str, SentenceFrame | None] = {}
    """Frames that rewrite complete questions, by names of your choice; the first that fits counts, before seams."""
    shapes: dict[str, Regex] = {}
    """Patterns of answers, by a name for frames."""
    forms: tuple[FileRef, ...] = ()
    """Tables of word forms, whose columns frames and shapes may name (``%column%``)."""
    parts: dict[str, Regex] = {}
    """Parts of patterns, which frames, shapes and later parts name in the same way."""
    before: dict[str, str] = {}
    """The text that a frame with `before` puts before an answer, by shape; the first shape that fits counts."""
    casing: CasingSpec | None = None
    """The case of letters at the start of sentences and of inserted texts; ``null``: unchanged."""
    joins: JoinRules | None = None
    """Further ways to join question and answer, tried after frames and seams; ``null``: none."""
    opening: Regex = ""
    """A pattern of words that open a question behind its context, such as *then*; no rule writes them (empty: none)."""
    members: dict[str, MemberRule | None] = {}
    """Questions of which several answers are right, by names of your choice; the first that fits counts."""
    refused: dict[RefusalReason, Refusal | None] = {}
    """Why a question that no rule joins is dropped, by reason: the first that fits counts instead of `needs_model`."""
    not_statements: Patterns = ()
    """Patterns that no statement of a rule may contain: a list, or a mapping with names of your choice, which the
    ledger shows."""
    not_questions: Patterns
    """Patterns of questions that no rule may join, whatever their end; as a list or by names."""
    not_answers: Patterns
    """Patterns of answers that do not fit after a seam; as a list or by names."""
    stop: str
    """The end of every statement."""
    marks: str
    """Marks that are removed from the end of the question and from both ends of the answer."""
    joiner: str
    """The text between question and answer: a space in languages with spaces between words, else nothing."""
    max_length: Annotated[int, Field(ge=1)]
    """The largest length of a statement made by rule, in characters or words, with its stop."""
    max_model_length: Annotated[int, Field(ge=1)]
    """The largest length of a statement made by a model, in characters or words, with its stop."""
    unit: LengthUnit
    """The unit of the lengths of statements."""
    ends: str
    """Characters that end a sentence; a statement made by a model contains none except its stop."""
    asking: tuple[Regex, ...]
    """Patterns of question words: a model's statement need not keep them, and has none outside the answer."""
    keeps: Annotated[float, Field(ge=0, le=1)]
    """The proportion of the question that a model's statement must keep, without matches of `asking` and `may_go`."""
    may_go: tuple[Regex, ...]
    """Parts of the question that a model's statement need not keep; a line feed replaces matches of `asking`."""
    glue: tuple[Regex, ...]
    """Words that a model's statement may contain besides question and answer: words that only join them."""
    max_glue: Annotated[int, Field(ge=0)]
    """The largest number of characters of such words."""
    max_edits: Annotated[int, Field(ge=0, le=5)]
    """The largest number of edits between the answer and its place in a model's statement; 0: the exact answer."""
    edits_from: Annotated[int, Field(ge=1)]
    """The length from which an answer may be edited, in characters: an edit of a short word is another word."""
    fixed: tuple[Regex, ...]
    """Patterns, besides numbers, that such an edit must not change, and that may not be lost from the question."""
    matching: LengthUnit = "characters"
    """Whether a model's text contains answer and options anywhere, or as whole words only."""
    script: Conversion | None
    """An answer that this conversion does not change must not be written so that the conversion changes it."""
    negations: tuple[Regex, ...]
    """Patterns of negations; a model's statement has as many as question and answer. Without any, they are not counted.
    """
    harmless: tuple[Regex, ...]
    """Words that contain such a pattern without negating anything."""

    @model_validator(mode="after")
    def _known_frames(self) -> Self:
        check_frames(self.frames, self.shapes, self.parts)
        check_frames(self.joins.frames if self.joins is not None else {}, self.shapes, self.parts)
        return self


class StateChoice(Writer):
    """A true statement made of question, answer and stop, if the question ends in a seam or fits a frame.

    The statement has the spans of its answer and of the seam. If no rule applies, the model gets the question without
    the text before it; its statement has no seam.
    """

    kind = "state_choice"
    spec_class = StateChoiceSpec
    version = 6
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    output: ClassVar[type[Row] | None] = Statement
    faults: ClassVar[Mapping[str, str]] = {
        "not_one_sentence": "The model's text is not one sentence on one line.",
        "still_a_question": "The model's text still asks, or is the question itself.",
        "answer_missing": "The model's text does not contain the answer, even with the allowed edits.",
        "inconsistent": "The model's text leaves out too much of the question, adds something, or changes numbers.",
        "other_option": "The model's text contains another option besides the answer.",
        "polarity_changed": "The model's text has more negations than question and answer, or fewer.",
        "too_long": "The statement is longer than the recipe allows.",
    }
    """Why a model's text is rejected."""
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "echo": "The question is its own answer.",
        **REFUSALS,
        **faults,
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "the text before the question (may be empty)",
        "question": "the question, without its blank",
        "answer": "the right answer",
    }
    reply_field = "statement"

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the word forms, and the prompts."""
        super().open(lookups)
        spec: StateChoiceSpec = self.spec
        self._casing = open_casing(spec.casing, self.context.language)
        forms, casing = open_word_forms(spec.forms, spec.parts), self._casing
        self._frames = SentenceFrames(spec.frames, spec.shapes, forms, casing, spec.before)
        if spec.joins is None:
            self._joins = None
        else:
            frames = SentenceFrames(spec.joins.frames, spec.shapes, forms, casing, spec.before)
            self._joins = Joins(spec.joins, spec.seams, spec.joiner, frames)

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The text of a frame, a seam or a join, with the stop."""
        fact: Fact[Choice] = row
        spec: StateChoiceSpec = self.spec
        question, answer = self._question_and_answer(fact)
        if fact.payload.context:
            question = without_opening(spec.opening, question)
        if comparison_form(question) == comparison_form(answer):
            return Dropped("echo", question)
        if reason := self._refusal(question, answer, final=True):
            return Dropped(reason, f"{question} {answer}")
        question = as_one_of_several(spec.members, question, behind_context=bool(fact.payload.context))
        written = self._write(question, answer)
        if isinstance(written, str):
            return NeedsModel(written, self._refusal(question, answer) or "needs_model")
        joined = written.text + spec.stop
        if (size := text_length(joined, spec.unit)) > spec.max_length:
            return Dropped("too_long", f"{size} {spec.unit}")
        by_seam = written.seam is not None and not self._frames.has(written.name)
        statement = Statement.child(
            fact, produced_by=self.produced_by(written.name or "seam"), polarity="true", text=joined,
            joined="seam" if by_seam else "template", answer=written.answer, seam=written.seam,
            context=fact.payload.context, fact=fact.id, checks=("holds_answer", "within_length"),
        )  # fmt: skip
        return Kept(statement)

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Question and answer without the marks around them, and the context."""
        question, answer = self._question_and_answer(row)
        return {"context": row.payload.context, "question": question, "answer": answer}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The question without its question words, the answer and the stop."""
        question, answer = self._question_and_answer(row)
        bare = "".join(mark for mark in self._without_question_words(question, "") if mark not in self.spec.ends)
        rest = self.spec.joiner + answer + self.spec.stop
        room = self.spec.max_model_length - text_length(rest, self.spec.unit)
        return truncate_text(bare, room, self.spec.unit) + rest

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """A statement with the content of the question and the answer, in one sentence."""
        fact: Fact[Choice] = row
        spec: StateChoiceSpec = self.spec
        question, answer = self._question_and_answer(fact)
        reply = strip_wrapping(text)
        if not answer.endswith(_ASCII_STOP):
            reply = reply.removesuffix(_ASCII_STOP)
        text = end_with(reply, spec.stop, spec.marks)
        place = self._answer_span(fact, answer, text)
        if text == end_with(question, spec.stop, spec.marks) or self._contains_question(reply, place):
            return ReplyFault("still_a_question")
        if "\n" in reply or not is_one_sentence(text, spec.stop, spec.ends):
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
            # so that the case does not distinguish it from a wrong option
            text = replace_span(text, place, self._casing.lower_first(place.slice_of(text)))
        checks += ["keeps_question", *(["same_negations"] if spec.negations else []), "within_length"]
        return Statement.child(
            fact, produced_by=produced_by, polarity="true", text=text, joined="model", answer=place,
            context=fact.payload.context, fact=fact.id, checks=tuple(checks),
        )  # fmt: skip

    def _write(self, question: str, answer: str) -> FramedText | str:
        """The text that a rule writes, or why none does."""
        if not answer:
            return f"no answer: {question}"
        reason = ""
        for written, parts in self._written(question, answer):
            refused = self._refused_by(written, question, answer, parts)
            if refused is None:
                return written
            reason = reason or refused
        unmatched = self._frames.why_unmatched(question, answer) if self.spec.frames else "no seam fits"
        return reason or f"{unmatched}: {question}"

    def _written(self, question: str, answer: str) -> Iterator[tuple[FramedText, Sequence[str]]]:
        """What the rules write, in their order, and the parts of it to which the patterns of refused texts apply."""
        if (written := self._write_by_rule(question, answer)) is not None:
            yield written, ("question", "answer", "statement")
        if self._joins is None:
            return
        if (framed := self._joins.frame(question, answer)) is not None:
            yield framed, ("statement",)
        if (asked := self._joins.ask(question, answer)) is not None:
            yield asked, ("answer", "statement")
        if (followed := self._joins.follow(question, answer)) is not None:
            yield followed, ("question", "answer", "statement")

    def _write_by_rule(self, question: str, answer: str) -> FramedText | None:
        """The text of a frame, or question and answer if the question ends in a seam (without a name)."""
        if (written := self._frames.apply(question, answer)) is not None:
            return written if written.answer is not None else None
        if not (seam := longest_end(question, self.spec.seams)):
            return None
        end, text = len(question), question + self.spec.joiner + answer
        span = Span(start=len(text) - len(answer), end=len(text))
        return FramedText("", text, span, Span(start=end - len(seam), end=end))

    def _refused_by(self, written: FramedText, question: str, answer: str, parts: Sequence[str]) -> str | None:
        """The first pattern against which a rule must not write this text, with what it matches."""
        spec: StateChoiceSpec = self.spec
        texts = {"question": question, "answer": answer, "statement": written.text}
        refused = {"question": spec.not_questions, "answer": spec.not_answers, "statement": spec.not_statements}
        for part in parts:
            if (name := first_match(refused[part], texts[part])) is not None:
                return f"{part} refused ({name}): {texts[part]}"
        return None

    def _refusal(self, question: str, answer: str, *, final: bool = False) -> str:
        """The first reason of `refused` that fits, among the final ones if `final`; empty without one."""
        rules: Mapping[str, Refusal | None] = self.spec.refused
        fits = (name for name, rule in rules.items() if rule is not None and rule.final >= final)
        return next((name for name in fits if rules[name].fits(question, answer)), "")  # pyright: ignore[reportOptionalMemberAccess]

    def _question_and_answer(self, fact: Fact[Choice]) -> tuple[str, str]:
        """Question and answer without the marks around them."""
        marks = self.spec.marks
        return strip_marks_right(fact.payload.question, marks), strip_marks(fact.payload.answer, marks)

    def _without_question_words(self, question: str, gap: str) -> str:
        """The question with `gap` instead of its question words."""
        for pattern in self.spec.asking:
            question = replace_all(pattern, gap, question)
        return question

    def _keeps_question(self, question: str, around: str) -> bool:
        """Whether the text around the answer is the question, apart from glue and parts that may be missing.

        Such parts may be anywhere; one other part may have moved from the end, or next to the answer.
        """
        spec: StateChoiceSpec = self.spec
        bare = self._without_question_words(question, "\n")
        spare = [comparison_form(span.slice_of(bare)) for pattern in spec.may_go for span in find_all(pattern, bare)]
        for pattern in spec.may_go:
            bare = replace_all(pattern, "", bare)
        question_form = comparison_form(bare)
        changes = text_differences(question_form, comparison_form(around))
        lost = [old for old, _ in changes if old]
        added = [new for _, new in changes if new]
        for part in [*spare, *sorted((part for part in lost if len(part) > 1), key=len)[-1:]]:
            anywhere = part in spare or question_form.endswith(part)
            place = next((n for n, new in enumerate(added) if part in new and (anywhere or _GAP in new)), None)
            if place is not None:
                added[place] = added[place].replace(part, "", 1)
                lost = [other for other in lost if other != part]
        added = [piece for new in added for piece in new.split(_GAP)]
        if sum(map(len, added)) > spec.max_glue or sum(map(len, lost)) > (1 - spec.keeps) * len(question_form):
            return False
        glue = "(?:" + "|".join(f"(?:{pattern})" for pattern in spec.glue) + ")*"
        return all(matches_whole(glue, part) for part in added) and not any(
            find_all(pattern, part) for pattern in spec.fixed for part in lost
        )

    def _other_option(self, fact: Fact[Choice], answer: str, question: str, around: str) -> str:
        """A wrong option of at least two characters in the text around the answer, but not in the question."""
        options = (strip_marks(option.text, self.spec.marks) for option in fact.payload.wrong_options())
        forms = {comparison_form(option): option for option in options if option != answer}.items()
        if self.spec.matching == "words":
            texts = [option for form, option in forms if len(form) > 1 and contains_text(around, option, "words")]
            return next((option for option in texts if not contains_text(question, option, "words")), "")
        around, question = comparison_form(around), comparison_form(question)
        return next((o for form, o in forms if len(form) > 1 and form in around and form not in question), "")

    def _count_negations(self, text: str) -> int:
        return count_negations(text, self.spec.negations, self.spec.harmless)

    def _contains_question(self, statement: str, answer: Span | None) -> bool:
        """Whether there is a question word outside the answer."""
        around = statement if answer is None else replace_span(statement, answer, _GAP)
        return any(has_match(pattern, around) for pattern in self.spec.asking)

    def _answer_span(self, fact: Fact[Choice], answer: str, text: str) -> Span | None:
        """The span of the answer in a model's text, with the allowed edits; never one that may mean another option."""
        place = locate_answer(answer, text, self.spec.max_edits if len(answer) >= self.spec.edits_from else 0)
        if self.spec.matching == "words":
            place = last_whole_match(answer, text, "words") or place
        if place is None or not is_whole_token(place, text) or not is_on_boundaries(place, text, self.spec.matching):
            return None
        written = place.slice_of(text)
        if written == answer:
            return place
        script: Conversion | None = self.spec.script
        if script and convert_script(written, script) != written and convert_script(answer, script) == answer:
            return None
        distance = edit_distance(written, answer)
        nearer = any(edit_distance(written, option.text) <= distance for option in fact.payload.wrong_options())
        kept = all(
            [span.slice_of(written) for span in find_all(pattern, written)]
            == [span.slice_of(answer) for span in find_all(pattern, answer)]
            for pattern in self.spec.fixed
        )
        return place if kept and not nearer and all_numbers(written) == all_numbers(answer) else None
