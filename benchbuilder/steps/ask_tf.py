"""Turns statements into true/false questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from benchbuilder.config import CasingSpec, open_casing
from benchbuilder.core import (
    Dropped,
    FrozenModel,
    Kept,
    NotApplicable,
    Outcome,
    ProducedBy,
    Question,
    Regex,
    Row,
    Statement,
    Table,
    all_numbers,
    comparison_form,
    fill_template,
    find_all,
    strip_wrapping,
    template_faults,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.edits import exchanges, without_end
from benchbuilder.steps.language.negation import count_negations
from benchbuilder.steps.language.questions import Polarities, PolarityRule, is_one_sentence, with_end_mark
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec


class TfForm(FrozenModel):
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


class AskTfSpec(WriterSpec):
    """How true/false questions are asked."""

    polarity: PolarityRule
    """``balanced``: about the true or a false statement of a fact, by seed; ``true_only``: about the true one.

    A fact that has no false statement among those of the port ``statements`` is asked about its true one. ``even``:
    as many facts of that port about a false statement as about a true one, by seed, or all that have a false one.
    """
    forms: tuple[TfForm, ...]
    """The first whose pattern matches the statement counts."""
    casing: CasingSpec | None = None
    """How a statement stands inside a form; ``null``: letters stay as they are."""
    stop: str
    """The final stop that a statement loses in a question."""
    mark: str
    """What a question ends in."""
    ends: str
    """Characters that end a sentence; a question holds none but its mark."""
    ending: Annotated[str, Field(min_length=1)]
    """What a model's question ends in: the mark with what stands before it in every true/false question."""
    frames: Annotated[tuple[str, ...], Field(min_length=1)]
    """What a model's question may be, over ``{statement}``."""
    additions: tuple[str, ...]
    """Words of which a model's question may hold one that the statement has not; else it is the statement."""
    loose: str
    """Marks that a model may leave out or put in."""
    negations: tuple[Regex, ...]
    """What counts as a negation; a model's question holds as many as the statement. With none, they are not counted."""
    harmless: tuple[Regex, ...]
    """Words that hold such a string and negate nothing."""
    verdicts: tuple[Regex, ...]
    """What gives the verdict away, or asks for one of the two, unless the statement holds it as often."""

    @field_validator("frames")
    @classmethod
    def _hold_statements(cls, frames: tuple[str, ...]) -> tuple[str, ...]:
        for frame in frames:
            if template_faults(frame, ("statement",)) or frame.count("{statement}") != 1:
                raise ValueError(f"{frame!r}: {{statement}} must stand in it once, and nothing else in braces")
        return frames


class AskTf(Writer):
    """One true/false question a fact, about its true or its false statement, with the expected verdict.

    The other statement's branch is not applicable (``other_polarity``). The context stays in front of the question.
    """

    kind = "ask_tf"
    spec_class = AskTfSpec
    version = 2
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "statements": Port(Statement, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Question
    faults: ClassVar[Mapping[str, str]] = {
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "not_true_or_false": "The model's question does not end as a true/false question does.",
        "answer_missing": "The model's question does not hold the statement's answer as it stands there.",
        "inconsistent": "The model's question is not the statement in one of the forms that the recipe allows.",
        "polarity_changed": "The model's question holds more negations than the statement, or fewer.",
        "leaks_verdict": "The model's question gives away whether the statement is true.",
    }
    """Why a model's text is not taken."""
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "other_polarity": "The question of this fact is about its other statement.",
        **faults,
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "what stands before the question (may be empty)",
        "statement": "the statement that is asked about",
    }
    reply_field = "question"

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Look which facts have a false statement, and read the prompts."""
        super().open(lookups)
        self._casing = open_casing(self.spec.casing)
        self._polarity = Polarities(self.spec.polarity, self.context.seed, lookups.get("statements"))

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """Each fact is asked about once, by its statement of one polarity."""
        statement: Statement = row
        if statement.polarity != self._polarity.polarity_of(statement.fact):
            return NotApplicable("other_polarity")
        return None

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The statement in the first form whose pattern matches it."""
        statement: Statement = row
        spec: AskTfSpec = self.spec
        form = next((f.form for f in spec.forms if not f.when or find_all(f.when, statement.text)), None)
        if form is None:
            return NeedsModel(statement.text)
        bare = self._without_stop(statement)
        inside = self._casing is not None and not form.startswith("{statement}")
        text, _ = fill_template(
            form, {"statement": self._casing.lower_first(bare) if self._casing and inside else bare}
        )
        if not is_one_sentence(text, spec.mark, spec.ends):
            return Dropped("not_one_question", text)
        checks = ("one_question", "holds_statement")
        return Kept(Question.true_or_false(statement, produced_by=self.produced_by(form), text=text, checks=checks))

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Context and statement."""
        return {"context": row.context, "statement": row.text}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The statement with the ending in the place of its stop."""
        return "".join(mark for mark in self._without_stop(row) if mark not in self.spec.ends) + self.spec.ending

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """One question that holds the statement, no more and no less negated, and no verdict."""
        statement: Statement = row
        spec: AskTfSpec = self.spec
        text = with_end_mark(strip_wrapping(text), spec.mark)
        bare = self._without_stop(statement)
        answer = statement.answer.slice_of(statement.text) if statement.answer is not None else ""
        if "\n" in text or not is_one_sentence(text, spec.mark, spec.ends):
            return ReplyFault("not_one_question")
        if not text.endswith(spec.ending):
            return ReplyFault("not_true_or_false", spec.ending)
        if any(len(find_all(pattern, text)) > len(find_all(pattern, statement.text)) for pattern in spec.verdicts):
            return ReplyFault("leaks_verdict")
        if answer not in text:
            return ReplyFault("answer_missing", answer)
        counts = (count_negations(said, spec.negations, spec.harmless) for said in (bare, text))
        if len(set(counts)) > 1:
            return ReplyFault("polarity_changed", statement.text)
        if all_numbers(bare) != all_numbers(text) or not any(
            self._is_framed_statement(frame, bare, text) for frame in spec.frames
        ):
            return ReplyFault("inconsistent", statement.text)
        checks = ["one_question", "true_or_false", "keeps_statement", "no_verdict"]
        if spec.negations:
            checks.append("same_negations")
        return Question.true_or_false(statement, produced_by=produced_by, text=text, checks=tuple(checks))

    def _is_framed_statement(self, frame: str, bare: str, text: str) -> bool:
        """Whether `text` is the statement in `frame`, but for marks and one of the words that may be added."""
        asked = self._key(fill_template(frame, {"statement": bare})[0])
        said = self._key(text)
        if said == asked:
            return True
        start, _, rest = (self._key(part) for part in frame.partition("{statement}"))
        if not (said.startswith(start) and said.endswith(rest)):
            return False
        body, wanted = said[len(start) : len(said) - len(rest)], self._key(bare)
        return any(exchanges(wanted, body, "", self._key(word)) for word in self.spec.additions)

    def _key(self, text: str) -> str:
        return comparison_form("".join(mark for mark in text if mark not in self.spec.loose))

    def _without_stop(self, statement: Statement) -> str:
        return without_end(statement.text, self.spec.stop)
