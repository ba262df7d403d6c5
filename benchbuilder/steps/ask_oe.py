"""Turns true statements into open-ended questions by what their answers are."""

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
    find_all,
    matches_whole,
    split_words,
    strip_wrapping,
    template_faults,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.edits import cuts_word, text_between, without_end
from benchbuilder.steps.language.frames import SentenceFrame, SentenceFrames, check_frames, with_gap
from benchbuilder.steps.language.questions import is_one_sentence, leaks_answer, with_end_mark
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec

_GAP = "\0"
OeCheckName = Literal["one_question", "keeps_statement", "no_leak"]


class OeRule(FrozenModel):
    """How to ask where the text before the answer ends in one of `ends`: `ask` (over ``{end}``) stands in its place.

    The rule applies if the text before the end matches `before` and the answer has the shape `answer` (empty: any).
    An `ask` of ``null`` says that no rule can do it.
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
    """What a model may put in the answer's place, and lose of what stands right before it: the whole of both.

    It may where `before` matches what stands before the answer, and `answer` the answer (empty: anywhere).
    """

    put: Regex
    lost: Regex
    before: Regex = ""
    answer: Regex = ""


class AskOeSpec(WriterSpec):
    """How open-ended questions are asked."""

    method: Literal["seam", "search"]
    """``seam``: at the predicate before the answer; ``search``: at the last place of a rule's end anywhere."""
    shapes: dict[str, Regex]
    """What answers look like, by a name that rules use."""
    rules: tuple[OeRule, ...]
    """Longer ends are tried first; among equal ones the first that applies counts."""
    frames: dict[str, SentenceFrame | None] = {}
    """Statements, with ``%answer%`` for the answer, that are asked about as a whole; the first that fits counts, before
    the rules. What they write holds no ``{answer}``."""
    forms: tuple[FileRef, ...] = ()
    """Tables of word forms, whose columns frames and shapes may name (``%column%``)."""
    parts: dict[str, Regex] = {}
    """Parts of patterns, which frames, shapes and later parts name in the same way."""
    casing: CasingSpec | None = None
    """How frames begin questions and put texts into them; ``null``: letters stay as they are."""
    whole_words: tuple[str, ...]
    """Words that an end must not begin inside of."""
    unsafe: tuple[Regex, ...]
    """Questions that read as something else than they mean."""
    checks: tuple[OeCheckName, ...]
    """What a question made by rule must pass; one made by a model must pass them all."""
    stop: str
    """The final stop of statements."""
    mark: str
    """What a question ends in."""
    ends: str
    """Characters that end a sentence; a question holds none but its mark."""
    ignore: str
    """Characters that do not count when the answer is looked for in the question."""
    matching: LengthUnit = "characters"
    """Whether the question gives the answer away by its characters anywhere, or by whole words only."""
    loose: str
    """Marks that a model may leave out or put in."""
    phrases: tuple[OePhrase, ...]
    """What a model's question may have in the place of the answer; else it is the statement."""
    question_words: tuple[Regex, ...]
    """What asks; a model's question holds one that does not stand in the statement."""
    stand_in: Annotated[str, Field(min_length=1)]
    """A question word. A quote counts with a reply that has it in the answer's place."""

    @model_validator(mode="after")
    def _known_shapes(self) -> Self:
        for rule in self.rules:
            if rule.answer and rule.answer not in self.shapes:
                raise ValueError(f"rules: the shape {rule.answer!r} is not among {', '.join(self.shapes) or 'none'}")
        check_frames(self.frames, self.shapes, self.parts)
        return self


class AskOe(Writer):
    """One open-ended question a true statement: all that stands outside the answer, and a question word for it."""

    kind = "ask_oe"
    spec_class = AskOeSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement)}
    output: ClassVar[type[Row] | None] = Question
    faults: ClassVar[Mapping[str, str]] = {
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "no_question_word": "The model's question holds no question word.",
        "inconsistent": "The question is not the statement with a question word in the place of the answer.",
        "reads_otherwise": "The model's question reads as something else than it means.",
        "leaks_answer": "The question or its context holds the answer.",
    }
    """Why a model's text is not taken."""
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "false_statement": "Open-ended questions are asked about true statements only.",
        "no_answer_span": "The statement does not say where its answer stands, and no rule can do without.",
        **faults,
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "what stands before the question (may be empty)",
        "statement": "the true statement",
        "answer": "its answer, which the question must not hold",
    }
    reply_field = "question"

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Put the rules in order, longer ends first, and read the prompts."""
        super().open(lookups)
        spec: AskOeSpec = self.spec
        self._frames = SentenceFrames(
            spec.frames, spec.shapes, open_word_forms(spec.forms, spec.parts), open_casing(spec.casing)
        )
        rules: tuple[OeRule, ...] = spec.rules
        self._rules = sorted(((end, rule) for rule in rules for end in rule.ends), key=lambda pair: -len(pair[0]))

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """True statements; those only whose answer a model is not given away by the context."""
        statement: Statement = row
        spec: AskOeSpec = self.spec
        if statement.polarity != "true":
            return NotApplicable("false_statement")
        if statement.answer is None and (spec.method == "seam" or self.model_spec is not None):
            return Dropped("no_answer_span", statement.text)
        if (
            self.model_spec is not None
            and "no_leak" in spec.checks
            and self._leaks_answer(statement, statement.context)
        ):
            return Dropped("leaks_answer", statement.context)
        return None

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """What stands before the answer, with the question word of the first rule that applies."""
        statement: Statement = row
        spec: AskOeSpec = self.spec
        searched = spec.method == "search"
        made = self._ask_by_frame(statement) or (
            self._ask_by_search(statement) if searched else self._ask_by_rule(statement)
        )
        if made is None:
            return NeedsModel(statement.text)
        text, kept, *frame = made
        if any(find_all(pattern, text) for pattern in spec.unsafe):
            return NeedsModel(text)
        if fault := self._fault(statement, text, kept):
            return Dropped(fault, statement.context + text)
        rule = frame[0] if frame else text.removeprefix(kept)
        return Kept(self._question(statement, text, self.produced_by(rule), spec.checks))

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Context, statement and answer."""
        return {"context": row.context, "statement": row.text, "answer": self._answer(row)}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The statement with a question word in the answer's place."""
        spec: AskOeSpec = self.spec
        said = spec.stand_in.join(self._text_around_answer(row))
        return "".join(mark for mark in said if mark not in spec.ends) + spec.mark

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """One question that asks for the answer, does not hold it, and keeps what stands around it."""
        statement: Statement = row
        spec: AskOeSpec = self.spec
        text = with_end_mark(strip_wrapping(text), spec.mark)
        outside = self._text_around_answer(statement)
        if "\n" in text or not is_one_sentence(text, spec.mark, spec.ends):
            return ReplyFault("not_one_question")
        if self._count_question_words(text) <= sum(map(self._count_question_words, outside)):
            return ReplyFault("no_question_word")
        if self._leaks_answer(statement, text):
            return ReplyFault("leaks_answer", self._answer(statement))
        if any(find_all(pattern, text) for pattern in spec.unsafe):
            return ReplyFault("reads_otherwise")
        lost, put, behind = text_between(*map(self._key, (text.removesuffix(spec.mark), *outside)))
        if self._gives_away(statement, put, text):
            return ReplyFault("leaks_answer", self._answer(statement))
        if behind or not any(self._phrase_applies(phrase, statement, lost, put) for phrase in spec.phrases):
            return ReplyFault("inconsistent", statement.text)
        checks = ("one_question", "asks", "keeps_statement", "no_leak")
        return self._question(statement, text, produced_by, checks)

    def _question(self, statement: Statement, text: str, produced_by: ProducedBy, checks: tuple[str, ...]) -> Question:
        return Question.child(
            statement,
            produced_by=produced_by,
            type="oe",
            text=text,
            context=statement.context,
            fact=statement.fact,
            checks=checks,
        )

    def _answer(self, statement: Statement) -> str:
        return statement.answer.slice_of(statement.text) if statement.answer is not None else ""

    def _text_around_answer(self, statement: Statement) -> tuple[str, str]:
        """What stands before the answer and behind it, the stop left out."""
        bare = without_end(statement.text, self.spec.stop)
        at = statement.answer
        return (bare, "") if at is None else (bare[: at.start], bare[at.end :])

    def _count_question_words(self, text: str) -> int:
        """How many question words `text` holds."""
        return sum(len(find_all(pattern, text)) for pattern in self.spec.question_words)

    def _leaks_answer(self, statement: Statement, text: str) -> bool:
        answer = self._answer(statement)
        return bool(answer) and leaks_answer(answer, text, self.spec.ignore, self.spec.matching)

    def _key(self, text: str) -> str:
        return comparison_form("".join(mark for mark in text if mark not in self.spec.loose))

    def _phrase_applies(self, phrase: OePhrase, statement: Statement, lost_text: str, put_text: str) -> bool:
        if not (matches_whole(phrase.lost, lost_text) and matches_whole(phrase.put, put_text)):
            return False
        places = ((phrase.before, self._text_around_answer(statement)[0]), (phrase.answer, self._answer(statement)))
        return all(not pattern or find_all(pattern, text) for pattern, text in places)

    def _gives_away(self, statement: Statement, put: str, text: str) -> bool:
        """Whether what stands in the answer's place has two characters (or a word) of it that stand nowhere else."""
        if self.spec.matching == "words":
            outside = set(split_words(_GAP.join(self._text_around_answer(statement))))
            return bool(set(split_words(text)) & set(split_words(self._answer(statement))) - outside)
        answer, outside = (
            comparison_form(self._answer(statement)),
            comparison_form(_GAP.join(self._text_around_answer(statement))),
        )
        parts = {answer[at : at + 2] for at in range(len(answer) - 1)}
        return any(part in put and part not in outside for part in parts)

    def _ask_by_frame(self, statement: Statement) -> tuple[str, str, str] | None:
        """The question that a frame makes of the whole statement, of which nothing is kept in place, and its name."""
        if statement.answer is None:
            return None
        said = with_gap(without_end(statement.text, self.spec.stop), statement.answer)
        written = self._frames.apply(said, self._answer(statement))
        return None if written is None else (written.text + self.spec.mark, "", written.name)

    def _ask_by_rule(self, statement: Statement) -> tuple[str, str] | None:
        """The question, and the part of the statement that it keeps, where a rule applies."""
        text, answer, seam = statement.text, statement.answer, statement.seam
        if answer is None or seam is None or without_end(text[answer.end :], self.spec.stop):
            return None
        before, said = text[: seam.end], answer.slice_of(text)
        for end, rule in self._rules:
            if not before.endswith(end) or cuts_word(before, len(before) - len(end), self.spec.whole_words):
                continue
            kept = before.removesuffix(end)
            fits_answer = not rule.answer or find_all(self.spec.shapes[rule.answer], said)
            if fits_answer and (not rule.before or find_all(rule.before, kept)):
                return None if rule.ask is None else (kept + fill_template(rule.ask, {"end": end})[0], kept)
        return None

    def _ask_by_search(self, statement: Statement) -> tuple[str, str] | None:
        places = [(statement.text.rfind(end), end, rule.ask) for end, rule in self._rules if end in statement.text]
        at, end, ask = max(places, key=lambda place: place[0], default=(-1, "", None))
        return None if ask is None else (statement.text[:at] + fill_template(ask, {"end": end})[0], statement.text[:at])

    def _fault(self, statement: Statement, text: str, kept_part: str) -> str:
        spec: AskOeSpec = self.spec
        if "one_question" in spec.checks and not is_one_sentence(text, spec.mark, spec.ends):
            return "not_one_question"
        if "keeps_statement" in spec.checks and not (
            statement.text.startswith(kept_part) and text.startswith(kept_part)
        ):
            return "inconsistent"
        if "no_leak" in spec.checks and any(self._leaks_answer(statement, said) for said in (statement.context, text)):
            return "leaks_answer"
        return ""
