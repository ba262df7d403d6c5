"""Turns true statements into open-ended questions that ask for their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.config import CasingSpec, FileRef, open_casing, open_word_forms
from benchbuilder.core import (
    Dropped,
    FrozenModel,
    Kept,
    LengthUnit,
    NotApplicable,
    Outcome,
    ProducedBy,
    Question,
    Regex,
    Row,
    Statement,
    Table,
    comparison_form,
    fill_template,
    has_match,
    match_count,
    matches_whole,
    split_words,
    strip_wrapping,
    template_faults,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.edits import answer_text, comparison_form_without, cuts_word, text_between
from benchbuilder.steps.language.frames import SentenceFrame, SentenceFrames, check_frames, with_gap
from benchbuilder.steps.language.patterns import first_match
from benchbuilder.steps.language.questions import is_one_sentence, leaks_answer, open_question, with_end_mark
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec

_GAP = "\0"
OeCheckName = Literal["one_question", "keeps_statement", "no_leak"]


class OeRule(FrozenModel):
    """Replaces one of `ends`, at the end of the text before the answer, by `ask` (over ``{end}``).

    The rule applies if the text before the end matches `before` and the answer has the shape `answer` (empty: any).
    With ``ask: null``, no rule applies and a model is needed.
    """

    ends: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    ask: str | None
    before: Regex = ""
    answer: str = ""

    @model_validator(mode="after")
    def _only_end(self) -> Self:
        if self.ask is not None and (faults := template_faults(self.ask, ("end",))):
            raise ValueError(f"ask: {'; '.join(faults)}")
        return self


class OePhrase(FrozenModel):
    """A change that a model may make: `put` matches the complete new text, `lost` the complete text lost before it.

    It applies if `before` matches the text before the answer and `answer` matches the answer (empty: always).
    """

    put: Regex
    lost: Regex
    before: Regex = ""
    answer: Regex = ""


class AskOeSpec(WriterSpec):
    """How open-ended questions are asked."""

    method: Literal["seam", "search"]
    """``seam``: at the predicate before the answer; ``search``: at the last occurrence of a rule's end anywhere."""
    shapes: dict[str, Regex]
    """Patterns of answers, by a name for rules."""
    rules: tuple[OeRule, ...]
    """Longer ends are tried first; among equal ends, the first rule that applies counts."""
    frames: dict[str, SentenceFrame | None] = {}
    """Frames for complete statements, with ``%answer%`` for the answer. The first that fits counts, before the rules.
    Their `write` contains no ``{answer}``."""
    forms: tuple[FileRef, ...] = ()
    """Tables of word forms, whose columns frames and shapes may name (``%column%``)."""
    parts: dict[str, Regex] = {}
    """Parts of patterns, which frames, shapes and later parts name in the same way."""
    casing: CasingSpec | None = None
    """The case of letters at the start of questions and of inserted texts; ``null``: unchanged."""
    whole_words: tuple[str, ...]
    """Words that an end must not split."""
    unsafe: tuple[Regex, ...]
    """Patterns of questions that are misleading."""
    too_open: tuple[Regex, ...] = ()
    """Patterns of statements, with ``%answer%`` for the answer, that ask for one of many without the options of their
    fact. They may name the forms of words and the parts. The facts keep their other questions."""
    tags: dict[str, Regex | None] = {}
    """Patterns of statements, with ``%answer%`` for the answer, whose questions get a tag, by its name. They may name
    the forms of words and the parts. Tags are written into the items, for the people who review them."""
    checks: tuple[OeCheckName, ...]
    """The checks of questions made by rule; questions made by a model must pass all checks."""
    stop: str
    """The final stop of statements."""
    mark: str
    """The end of every question."""
    ends: str
    """Characters that end a sentence; a question contains none except its mark."""
    ignore: str
    """Characters that are ignored when the question is searched for the answer."""
    matching: LengthUnit = "characters"
    """Whether the question reveals the answer by its characters anywhere, or by whole words only."""
    loose: str
    """Marks that a model may leave out or add."""
    phrases: tuple[OePhrase, ...]
    """What a model may write instead of the answer; the rest of its question must be the statement."""
    question_words: tuple[Regex, ...]
    """Patterns of question words; a model's question has one more than the statement."""
    stand_in: Annotated[str, Field(min_length=1)]
    """A question word. A quote assumes replies with it instead of the answer."""

    @model_validator(mode="after")
    def _known_shapes(self) -> Self:
        for rule in self.rules:
            if rule.answer and rule.answer not in self.shapes:
                raise ValueError(f"rules: the shape {rule.answer!r} is not among {', '.join(self.shapes) or 'none'}")
        check_frames(self.frames, self.shapes, self.parts)
        return self


class AskOe(Writer):
    """One open-ended question per true statement: its text with a question word instead of the answer."""

    kind = "ask_oe"
    spec_class = AskOeSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement)}
    output: ClassVar[type[Row] | None] = Question
    faults: ClassVar[Mapping[str, str]] = {
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "no_question_word": "The model's question has no question word.",
        "inconsistent": "The question is not the statement with a question word instead of the answer.",
        "reads_otherwise": "The model's question is misleading.",
        "leaks_answer": "The question or its context contains the answer.",
    }
    """Why a model's text is rejected."""
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "false_statement": "Open-ended questions are asked about true statements only.",
        "no_answer_span": "The position of the answer in the statement is unknown, and every rule needs it.",
        "too_open": "Only the options make the question answerable; without them, many answers are right.",
        **faults,
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "the text before the question (may be empty)",
        "statement": "the true statement",
        "answer": "its answer, which the question must not contain",
    }
    reply_field = "question"

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Sort the rules by length of their ends, longest first, and read the prompts."""
        super().open(lookups)
        spec: AskOeSpec = self.spec
        forms = open_word_forms(spec.forms, spec.parts)
        self._frames = SentenceFrames(spec.frames, spec.shapes, forms, open_casing(spec.casing, self.context.language))
        self._too_open = tuple(map(forms.expand, spec.too_open))
        self._tags = {name: forms.expand(pattern) for name, pattern in spec.tags.items() if pattern is not None}
        rules: tuple[OeRule, ...] = spec.rules
        self._rules = sorted(((end, rule) for rule in rules for end in rule.ends), key=lambda pair: -len(pair[0]))

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """Only true statements with one answer; with a model, only those whose context does not contain it."""
        statement: Statement = row
        spec: AskOeSpec = self.spec
        if statement.polarity != "true":
            return NotApplicable("false_statement")
        if statement.answer is None and (spec.method == "seam" or self.model_spec is not None):
            return Dropped("no_answer_span", statement.text)
        if statement.answer is not None and self._too_open:
            asked = with_gap(statement.text.removesuffix(spec.stop), statement.answer)
            if first_match(self._too_open, asked) is not None:
                return Dropped("too_open", asked)
        if (
            self.model_spec is not None
            and "no_leak" in spec.checks
            and self._leaks_answer(statement, statement.context)
        ):
            return Dropped("leaks_answer", statement.context)
        return None

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The text before the answer, with the question word of the first rule that applies."""
        statement: Statement = row
        spec: AskOeSpec = self.spec
        by_rule = self._ask_by_search if spec.method == "search" else self._ask_by_rule
        question = self._ask_by_frame(statement) or by_rule(statement)
        if question is None:
            return NeedsModel(statement.text)
        text, kept, *frame = question
        if any(has_match(pattern, text) for pattern in spec.unsafe):
            return NeedsModel(text)
        if fault := self._fault(statement, text, kept):
            return Dropped(fault, statement.context + text)
        rule = frame[0] if frame else text.removeprefix(kept)
        return Kept(open_question(statement, self.produced_by(rule), text, spec.checks, self._tags_of(statement)))

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Context, statement and answer."""
        return {"context": row.context, "statement": row.text, "answer": answer_text(row)}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The statement with a question word instead of the answer."""
        spec: AskOeSpec = self.spec
        text = spec.stand_in.join(self._text_around_answer(row))
        return "".join(mark for mark in text if mark not in spec.ends) + spec.mark

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """One question that asks for the answer, does not contain it, and keeps the text around it."""
        statement: Statement = row
        spec: AskOeSpec = self.spec
        text = with_end_mark(strip_wrapping(text), spec.mark)
        outside = self._text_around_answer(statement)
        if "\n" in text or not is_one_sentence(text, spec.mark, spec.ends):
            return ReplyFault("not_one_question")
        if self._count_question_words(text) <= sum(map(self._count_question_words, outside)):
            return ReplyFault("no_question_word")
        if self._leaks_answer(statement, text):
            return ReplyFault("leaks_answer", answer_text(statement))
        if any(has_match(pattern, text) for pattern in spec.unsafe):
            return ReplyFault("reads_otherwise")
        texts = (text.removesuffix(spec.mark), *outside)
        lost, put, lost_after = text_between(*(comparison_form_without(part, spec.loose) for part in texts))
        if self._gives_away(statement, put, text):
            return ReplyFault("leaks_answer", answer_text(statement))
        if lost_after or not any(self._phrase_applies(phrase, statement, lost, put) for phrase in spec.phrases):
            return ReplyFault("inconsistent", statement.text)
        checks = ("one_question", "asks", "keeps_statement", "no_leak")
        return open_question(statement, produced_by, text, checks, self._tags_of(statement))

    def _tags_of(self, statement: Statement) -> tuple[str, ...]:
        """The tags whose patterns fit the statement, with a gap for its answer."""
        if statement.answer is None:
            return ()
        asked = with_gap(statement.text.removesuffix(self.spec.stop), statement.answer)
        return tuple(name for name, pattern in self._tags.items() if has_match(pattern, asked))

    def _text_around_answer(self, statement: Statement) -> tuple[str, str]:
        """The text before and after the answer, without the stop."""
        bare = statement.text.removesuffix(self.spec.stop)
        span = statement.answer
        return (bare, "") if span is None else (bare[: span.start], bare[span.end :])

    def _count_question_words(self, text: str) -> int:
        """The number of question words in `text`."""
        return sum(match_count(pattern, text) for pattern in self.spec.question_words)

    def _leaks_answer(self, statement: Statement, text: str) -> bool:
        answer = answer_text(statement)
        return bool(answer) and leaks_answer(answer, text, self.spec.ignore, self.spec.matching)

    def _phrase_applies(self, phrase: OePhrase, statement: Statement, lost_text: str, put_text: str) -> bool:
        if not (matches_whole(phrase.lost, lost_text) and matches_whole(phrase.put, put_text)):
            return False
        places = ((phrase.before, self._text_around_answer(statement)[0]), (phrase.answer, answer_text(statement)))
        return all(not pattern or has_match(pattern, text) for pattern, text in places)

    def _gives_away(self, statement: Statement, put: str, text: str) -> bool:
        """Whether the replacement of the answer has two characters (or a word) of it that are nowhere else."""
        answer, outside = answer_text(statement), _GAP.join(self._text_around_answer(statement))
        if self.spec.matching == "words":
            return bool(set(split_words(text)) & set(split_words(answer)) - set(split_words(outside)))
        answer, outside = comparison_form(answer), comparison_form(outside)
        pairs = {answer[start : start + 2] for start in range(len(answer) - 1)}
        return any(pair in put and pair not in outside for pair in pairs)

    def _ask_by_frame(self, statement: Statement) -> tuple[str, str, str] | None:
        """The question that a frame makes from the complete statement, "" (it keeps no part), and the frame's name."""
        if statement.answer is None:
            return None
        bare = with_gap(statement.text.removesuffix(self.spec.stop), statement.answer)
        written = self._frames.apply(bare, answer_text(statement))
        return None if written is None else (written.text + self.spec.mark, "", written.name)

    def _ask_by_rule(self, statement: Statement) -> tuple[str, str] | None:
        """The question, and the part of the statement that it keeps, if a rule applies."""
        text, answer, seam = statement.text, statement.answer, statement.seam
        if answer is None or seam is None or text[answer.end :].removesuffix(self.spec.stop):
            return None
        before = text[: seam.end]
        for end, rule in self._rules:
            if not before.endswith(end) or cuts_word(before, len(before) - len(end), self.spec.whole_words):
                continue
            kept = before.removesuffix(end)
            fits_answer = not rule.answer or has_match(self.spec.shapes[rule.answer], answer.slice_of(text))
            if fits_answer and (not rule.before or has_match(rule.before, kept)):
                return None if rule.ask is None else (kept + fill_template(rule.ask, {"end": end})[0], kept)
        return None

    def _ask_by_search(self, statement: Statement) -> tuple[str, str] | None:
        text = statement.text
        places = [(text.rfind(end), end, rule.ask) for end, rule in self._rules if end in text]
        start, end, ask = max(places, key=lambda place: place[0], default=(-1, "", None))
        return None if ask is None else (text[:start] + fill_template(ask, {"end": end})[0], text[:start])

    def _fault(self, statement: Statement, text: str, kept_part: str) -> str:
        spec: AskOeSpec = self.spec
        if "one_question" in spec.checks and not is_one_sentence(text, spec.mark, spec.ends):
            return "not_one_question"
        if "keeps_statement" in spec.checks and not (
            statement.text.startswith(kept_part) and text.startswith(kept_part)
        ):
            return "inconsistent"
        if "no_leak" in spec.checks and any(self._leaks_answer(statement, part) for part in (statement.context, text)):
            return "leaks_answer"
        return ""
