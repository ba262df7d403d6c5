"""Turns statements into true/false questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import model_validator

from benchbuilder.ports.stage import Map, Port
from benchbuilder.records.envelope import Frozen, Row
from benchbuilder.records.fates import Dropped, Fate, Kept, NotApplicable
from benchbuilder.records.question import Question
from benchbuilder.records.statement import Statement
from benchbuilder.records.table import Table
from benchbuilder.spec.base import KindSpec, PromptRef, Slot, StepSpec
from benchbuilder.text.edits import without_end
from benchbuilder.text.patterns import Regex, find_all
from benchbuilder.text.questions import Polarities, is_one_sentence
from benchbuilder.text.templates import fill, template_faults


class TfForm(Frozen):
    """How statements that match `when` (empty: all) become questions: `form` over ``{statement}``, its stop left out.

    A form of ``null`` says that no rule can do it.
    """

    form: str | None
    when: Regex = ""

    @model_validator(mode="after")
    def _holds_statement(self) -> Self:
        if self.form is not None and (faults := template_faults(self.form, ("statement",))):
            raise ValueError(f"form: {'; '.join(faults)}")
        if self.form is not None and "{statement}" not in self.form:
            raise ValueError("form: {statement} must stand in it")
        return self


class AskTfSpec(StepSpec):
    """How true/false questions are asked."""

    polarity: Literal["balanced", "true_only"]
    """``balanced``: about the true or a false statement of a fact, by seed; ``true_only``: about the true one.

    A fact that has no false statement among those of the port ``statements`` is asked about its true one.
    """
    forms: tuple[TfForm, ...]
    """The first whose pattern matches the statement counts."""
    stop: str
    """The final stop that a statement loses in a question."""
    mark: str
    """What a question ends in."""
    ends: str
    """Characters that end a sentence; a question holds none but its mark."""
    prompt: PromptRef | None = None
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None


class AskTf(Map):
    """One true/false question a fact, about its true or its false statement, with the expected verdict.

    The other statement's ticket is not applicable (``other_polarity``). The context stays in front of the question.
    """

    kind = "ask_tf"
    spec_class = AskTfSpec
    version = 2
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "statements": Port(Statement, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        "other_polarity": "The question of this fact is about its other statement.",
        "needs_model": "No rule can do it and the model is `none`.",
        "not_one_question": "The result is not one sentence that ends in the question mark.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "what stands before the question (may be empty)",
        "statement": "the statement that is asked about",
    }

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Look which facts have a false statement."""
        self._polarity = Polarities(self.spec.polarity, self.context.seed, lookups.get("statements"))

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Fate]:  # noqa: ARG002
        """One ticket a statement."""
        statement: Statement = row
        spec: AskTfSpec = self.spec
        if statement.polarity != self._polarity.of(statement.fact):
            return [NotApplicable("other_polarity")]
        form = next((f.form for f in spec.forms if not f.when or find_all(f.when, statement.text)), None)
        if form is None:
            return [Dropped("needs_model", statement.text)]
        bare = without_end(statement.text, spec.stop)
        text, _ = fill(form, {"statement": bare})
        if not is_one_sentence(text, spec.mark, spec.ends):
            return [Dropped("not_one_question", text)]
        checks = ("one_question", "holds_statement")
        return [Kept(Question.true_or_false(statement, made_by=self.made_by(form), text=text, checks=checks))]
