"""Turns statements into true/false questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from benchbuilder.config import CasingSpec, open_casing
from benchbuilder.core import (
    Dropped,
    FrozenModel,
    Kept,
    Outcome,
    ProducedBy,
    Question,
    Regex,
    Row,
    SpecIssue,
    Statement,
    Table,
    all_numbers,
    fill_template,
    has_match,
    match_count,
    strip_wrapping,
    template_faults,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.edits import (
    answer_text,
    check_statement_form,
    comparison_form_without,
    count_negations,
    exchanges,
    mask_harmless,
)
from benchbuilder.steps.language.questions import is_one_sentence, with_end_mark
from benchbuilder.steps.language.statement_choice import (
    CHOICE_REASONS,
    PolarityRule,
    StatementChoice,
    missing_statements,
)
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec


class TfForm(FrozenModel):
    """How statements that match `when` (empty: all) become questions: `form` over ``{statement}`` without its stop.

    With ``form: null``, no rule applies and a model is needed.
    """

    form: str | None
    when: Regex = ""
    harmless: bool = True
    """Whether `when` also sees the words of the step's `harmless`, which only look like a negation."""

    @model_validator(mode="after")
    def _holds_statement(self) -> Self:
        if self.form is not None and (faults := template_faults(self.form, ("statement",))):
            raise ValueError(f"form: {'; '.join(faults)}")
        if self.form is not None and "{statement}" not in self.form:
            raise ValueError("form: {statement} is needed")
        return self


class AskTfSpec(WriterSpec):
    """How true/false questions are asked."""

    polarity: PolarityRule
    """``family``: about the true and the false statement of each fact, all of a family affirmed or all negated.

    ``every``: in both forms, of which `choose_forms` keeps one. The other rules ask one question about each fact:
    ``balanced`` about its true or its false statement, by seed; ``even`` about a false one for half of the facts in the
    port ``statements``, or for all that have one; ``true_only`` about the true one. There, a fact without a false
    statement is asked about its true one.
    """
    forms: tuple[TfForm, ...]
    """The first whose pattern matches the statement counts. Statements of one family have the same form: the first
    that matches any of them."""
    casing: CasingSpec | None = None
    """The case of a statement inside a form; ``null``: unchanged."""
    stop: str
    """The final stop that a statement loses in a question."""
    mark: str
    """The end of every question."""
    ends: str
    """Characters that end a sentence; a question contains none except its mark."""
    ending: Annotated[str, Field(min_length=1)]
    """The end of a model's question: the mark and the text before it that every true/false question has."""
    frames: Annotated[tuple[Annotated[str, AfterValidator(check_statement_form)], ...], Field(min_length=1)]
    """Forms that a model's question may have, over ``{statement}``."""
    additions: tuple[str, ...]
    """A model's question may add one of these words; the rest must be the statement."""
    loose: str
    """Marks that a model may leave out or add."""
    negations: tuple[Regex, ...]
    """Patterns of negations; a model's question has as many as the statement. Without any, they are not counted."""
    harmless: tuple[Regex, ...]
    """Words that contain such a pattern without negating anything."""
    verdicts: tuple[Regex, ...]
    """Patterns that reveal the verdict or suggest one, unless the statement contains them as often."""


class AskTf(Writer):
    """True/false questions about the statements that `polarity` chooses, with the expected verdict.

    The context stays before the question.
    """

    kind = "ask_tf"
    spec_class = AskTfSpec
    version = 3
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "statements": Port(Statement, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Question
    faults: ClassVar[Mapping[str, str]] = {
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "not_true_or_false": "The model's question does not end as a true/false question does.",
        "answer_missing": "The model's question does not contain the statement's answer unchanged.",
        "inconsistent": "The model's question is not the statement in one of the forms that the recipe allows.",
        "polarity_changed": "The model's question has more negations than the statement, or fewer.",
        "leaks_verdict": "The model's question reveals whether the statement is true.",
    }
    """Why a model's text is rejected."""
    reasons: ClassVar[Mapping[str, str]] = {**MODEL_REASONS, **CHOICE_REASONS, **faults}
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "the text before the question (may be empty)",
        "statement": "the statement that the question is about",
    }
    reply_field = "question"

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:
        """The issues of every writer, and a rule that needs the statements where the port is left out."""
        return [*super().validate_inputs(rows), *missing_statements(self.spec.polarity, rows)]

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read which facts have a false statement, and the prompts."""
        super().open(lookups)
        self._casing = open_casing(self.spec.casing, self.context.language)
        self._choice = StatementChoice(self.spec.polarity, self.context.seed, lookups.get("statements"))

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """Statements that the rule does not choose."""
        return self._choice.exclusion(row)

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The statement in the first form whose pattern matches it."""
        statement: Statement = row
        spec: AskTfSpec = self.spec
        texts = self._choice.texts_beside(statement)
        form = next((form.form for form in spec.forms if self._applies(form, texts)), None)
        if form is None:
            return NeedsModel(statement.text)
        bare = statement.text.removesuffix(spec.stop)
        if self._casing is not None and not form.startswith("{statement}"):
            bare = self._casing.lower_first(bare)
        text, _ = fill_template(form, {"statement": bare})
        if not is_one_sentence(text, spec.mark, spec.ends):
            return Dropped("not_one_question", text)
        checks = ("one_question", "holds_statement")
        question = Question.true_or_false(
            statement, produced_by=self.produced_by(form), text=text, checks=checks,
            family=self._choice.family_of(statement),
        )  # fmt: skip
        return Kept(question)

    def _applies(self, form: TfForm, texts: Sequence[str]) -> bool:
        if not form.harmless:
            texts = [mask_harmless(text, self.spec.harmless) for text in texts]
        return not form.when or any(has_match(form.when, text) for text in texts)

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Context and statement."""
        return {"context": row.context, "statement": row.text}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The statement with the ending instead of its stop."""
        text = row.text.removesuffix(self.spec.stop)
        return "".join(mark for mark in text if mark not in self.spec.ends) + self.spec.ending

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """One question that contains the statement, with the same negations and without a verdict."""
        statement: Statement = row
        spec: AskTfSpec = self.spec
        text = with_end_mark(strip_wrapping(text), spec.mark)
        bare = statement.text.removesuffix(spec.stop)
        answer = answer_text(statement)
        if "\n" in text or not is_one_sentence(text, spec.mark, spec.ends):
            return ReplyFault("not_one_question")
        if not text.endswith(spec.ending):
            return ReplyFault("not_true_or_false", spec.ending)
        if any(match_count(pattern, text) > match_count(pattern, statement.text) for pattern in spec.verdicts):
            return ReplyFault("leaks_verdict")
        if answer not in text:
            return ReplyFault("answer_missing", answer)
        if len({count_negations(part, spec.negations, spec.harmless) for part in (bare, text)}) > 1:
            return ReplyFault("polarity_changed", statement.text)
        if all_numbers(bare) != all_numbers(text) or not any(
            self._is_framed_statement(frame, bare, text) for frame in spec.frames
        ):
            return ReplyFault("inconsistent", statement.text)
        checks = ["one_question", "true_or_false", "keeps_statement", "no_verdict"]
        if spec.negations:
            checks.append("same_negations")
        family = self._choice.family_of(statement)
        return Question.true_or_false(
            statement, produced_by=produced_by, text=text, checks=tuple(checks), family=family
        )

    def _is_framed_statement(self, frame: str, bare: str, text: str) -> bool:
        """Whether `text` is the statement in `frame`, apart from marks and one allowed additional word."""
        question = self._comparison_form(text)
        if question == self._comparison_form(fill_template(frame, {"statement": bare})[0]):
            return True
        start, _, end = map(self._comparison_form, frame.partition("{statement}"))
        if not (question.startswith(start) and question.endswith(end)):
            return False
        body, statement = question[len(start) : len(question) - len(end)], self._comparison_form(bare)
        return any(exchanges(statement, body, "", self._comparison_form(word)) for word in self.spec.additions)

    def _comparison_form(self, text: str) -> str:
        return comparison_form_without(text, self.spec.loose)
