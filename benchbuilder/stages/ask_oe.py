"""Turns true statements into open-ended questions by what their answers are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.ports.stage import Map, Port
from benchbuilder.records.envelope import Frozen, Row
from benchbuilder.records.fates import Dropped, Fate, Kept, NotApplicable
from benchbuilder.records.question import Question
from benchbuilder.records.statement import Statement
from benchbuilder.records.table import Table
from benchbuilder.spec.base import KindSpec, PromptRef, Slot, StepSpec
from benchbuilder.text.edits import cuts_word, without_end
from benchbuilder.text.patterns import Regex, find_all
from benchbuilder.text.questions import is_one_sentence, leaks
from benchbuilder.text.templates import fill, template_faults

Check = Literal["one_question", "keeps_statement", "no_leak"]


class OeRule(Frozen):
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


class AskOeSpec(StepSpec):
    """How open-ended questions are asked."""

    method: Literal["seam", "search"]
    """``seam``: at the predicate before the answer; ``search``: at the last place of a rule's end anywhere."""
    shapes: dict[str, Regex]
    """What answers look like, by a name that rules use."""
    rules: tuple[OeRule, ...]
    """Longer ends are tried first; among equal ones the first that applies counts."""
    whole_words: tuple[str, ...]
    """Words that an end must not begin inside of."""
    unsafe: tuple[Regex, ...]
    """Questions that read as something else than they mean."""
    checks: tuple[Check, ...]
    """What a question must pass."""
    stop: str
    """The final stop of statements."""
    mark: str
    """What a question ends in."""
    ends: str
    """Characters that end a sentence; a question holds none but its mark."""
    ignore: str
    """Characters that do not count when the answer is looked for in the question."""
    prompt: PromptRef | None = None
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None

    @model_validator(mode="after")
    def _known_shapes(self) -> Self:
        for rule in self.rules:
            if rule.answer and rule.answer not in self.shapes:
                raise ValueError(f"rules: the shape {rule.answer!r} is not among {', '.join(self.shapes) or 'none'}")
        return self


class AskOe(Map):
    """One open-ended question a true statement: all that stands outside the answer, and a question word for it."""

    kind = "ask_oe"
    spec_class = AskOeSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement)}
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        "false_statement": "Open-ended questions are asked about true statements only.",
        "needs_model": "No rule can do it and the model is `none`.",
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "inconsistent": "The question does not keep what stands outside the answer.",
        "leaks_answer": "The question or its context holds the answer.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "what stands before the question (may be empty)",
        "statement": "the true statement",
        "answer": "its answer, which the question must not hold",
    }

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Put the rules in order: longer ends first."""
        rules: tuple[OeRule, ...] = self.spec.rules
        self._rules = sorted(((end, rule) for rule in rules for end in rule.ends), key=lambda pair: -len(pair[0]))

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Fate]:  # noqa: ARG002
        """One ticket a statement."""
        statement: Statement = row
        spec: AskOeSpec = self.spec
        if statement.polarity != "true":
            return [NotApplicable("false_statement")]
        made = self._searched(statement) if spec.method == "search" else self._asked(statement)
        if made is None:
            return [Dropped("needs_model", statement.text)]
        text, kept = made
        if any(find_all(pattern, text) for pattern in spec.unsafe):
            return [Dropped("needs_model", text)]
        if fault := self._fault(statement, text, kept):
            return [Dropped(fault, statement.context + text)]
        question = Question.child(
            statement,
            made_by=self.made_by(text.removeprefix(kept)),
            type="oe",
            text=text,
            context=statement.context,
            fact=statement.fact,
            checks=spec.checks,
        )
        return [Kept(question)]

    def _asked(self, statement: Statement) -> tuple[str, str] | None:
        """The question, and the part of the statement that it keeps, where a rule applies."""
        text, answer, seam = statement.text, statement.answer, statement.seam
        if answer is None or seam is None or without_end(text[answer.end :], self.spec.stop):
            return None
        before, said = text[: seam.end], answer.of(text)
        for end, rule in self._rules:
            if not before.endswith(end) or cuts_word(before, len(before) - len(end), self.spec.whole_words):
                continue
            kept = before.removesuffix(end)
            fits_answer = not rule.answer or find_all(self.spec.shapes[rule.answer], said)
            if fits_answer and (not rule.before or find_all(rule.before, kept)):
                return None if rule.ask is None else (kept + fill(rule.ask, {"end": end})[0], kept)
        return None

    def _searched(self, statement: Statement) -> tuple[str, str] | None:
        places = [(statement.text.rfind(end), end, rule.ask) for end, rule in self._rules if end in statement.text]
        at, end, ask = max(places, key=lambda place: place[0], default=(-1, "", None))
        return None if ask is None else (statement.text[:at] + fill(ask, {"end": end})[0], statement.text[:at])

    def _fault(self, statement: Statement, text: str, kept: str) -> str:
        spec: AskOeSpec = self.spec
        if "one_question" in spec.checks and not is_one_sentence(text, spec.mark, spec.ends):
            return "not_one_question"
        if "keeps_statement" in spec.checks and not (statement.text.startswith(kept) and text.startswith(kept)):
            return "inconsistent"
        if "no_leak" in spec.checks and statement.answer is not None:
            answer = statement.answer.of(statement.text)
            if leaks(answer, statement.context, spec.ignore) or leaks(answer, text, spec.ignore):
                return "leaks_answer"
        return ""
