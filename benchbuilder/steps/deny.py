"""Denies statements as a whole: a sentence that says of each that it is not so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import field_validator

from benchbuilder.config import StepSpec
from benchbuilder.core import Casing, Kept, Outcome, Regex, Row, Span, Statement, fill_template, template_faults
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.edits import without_end


class DenySpec(StepSpec):
    """What is said instead: `form` over ``{statement}``, its `stop` left out."""

    form: str
    stop: str
    lowered: bool
    """Whether the statement loses the capital that it begins with."""
    keep_capitals: tuple[Regex, ...] = ()
    """Beginnings of statements that keep it all the same."""

    @field_validator("form")
    @classmethod
    def _check_placeholder(cls, form: str) -> str:
        if template_faults(form, ("statement",)) or form.count("{statement}") != 1:
            raise ValueError(f"{form!r}: {{statement}} must stand in it once, and nothing else in braces")
        return form


class Deny(Map):
    """The denial of a statement: of a true one a false statement, of a false one a true statement.

    It needs no knowledge of where the predicate stands, and is never a good sentence: where a rule or a model can
    negate, that reads better. But it is right whatever the statement is, and gives a claim that stands for itself the
    one answer that contradicts it.
    """

    kind: ClassVar[str] = "deny"
    spec_class: ClassVar[type[StepSpec]] = DenySpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement)}
    output: ClassVar[type[Row] | None] = Statement

    spec: DenySpec

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One branch a statement."""
        said: Statement = row
        bare = without_end(said.text, self.spec.stop)
        if self.spec.lowered:
            bare = Casing(keep=self.spec.keep_capitals).lower_first(bare)
        text, places = fill_template(self.spec.form, {"statement": bare})
        at = places["statement"].start
        answer = None if said.answer is None else Span(start=at + said.answer.start, end=at + said.answer.end)
        denial = Statement.child(
            said,
            produced_by=self.produced_by(self.spec.form),
            polarity="false" if said.polarity == "true" else "true",
            text=text,
            joined="negation",
            answer=answer,
            context=said.context,
            fact=said.fact,
            checks=("differs_from_true",),
        )
        return [Kept(denial)]
