"""Makes true statements from options that are statements, or that complete one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Choice,
    Dropped,
    Fact,
    FrozenModel,
    Kept,
    LengthUnit,
    NotApplicable,
    Outcome,
    Regex,
    Row,
    Statement,
    check_regex,
    fill_template,
    group_names,
    has_match,
    match_groups,
    template_faults,
    text_length,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.punctuation import strip_marks, strip_marks_right


class OptionForm(FrozenModel):
    """How questions that match `when` completely are stated: `text` over ``{option}``, `context` over ``{context}``.

    Both may contain the named groups of `when`. ``{context}`` is the text before the question. The form applies if the
    option matches `option`, and every option of the question `options` (empty: any). All patterns may contain the parts
    of the spec, and the last two the text of the named groups, as in ``^{topic}``.
    """

    when: str
    text: str = "{option}"
    context: str = "{context}"
    option: str = ""
    options: str = ""


class StateOptionSpec(StepSpec):
    """How options are stated. `forms` by name, in order; ``null`` removes an inherited one.

    ``{name}`` in the patterns of a form is the part `name`.
    """

    forms: dict[str, OptionForm | None]
    parts: dict[str, str] = {}
    not_options: tuple[Regex, ...]
    """Patterns of options that no form states."""
    marks: str
    """Marks that are removed from the end of the question and from both ends of the option."""
    stop: str
    """The end of every statement."""
    unit: LengthUnit
    """The unit of lengths."""
    max_length: Annotated[int, Field(ge=1)]
    """The largest length of a statement, in characters or words, with its stop."""
    max_context: Annotated[int, Field(ge=0)]
    """The largest length of the text before it, in characters or words."""

    @model_validator(mode="after")
    def _check_forms(self) -> Self:
        for name, form in self.forms.items():
            if form is not None and (faults := self._faults(form)):
                raise ValueError(f"forms.{name}: {'; '.join(faults)}")
        return self

    def _faults(self, form: OptionForm) -> list[str]:
        try:
            check_regex(self.expand_parts(form.when))
            names = group_names(self.expand_parts(form.when))
            for pattern in (form.option, form.options):
                check_regex(self.expand_parts(pattern, dict.fromkeys(names, "")))
        except ValueError as error:
            return [str(error)]
        faults = template_faults(form.text, ("option", *names)) + template_faults(form.context, ("context", *names))
        return faults if form.text.count("{option}") == 1 else [*faults, "text: {option} is needed once"]

    def expand_parts(self, pattern: str, groups: Mapping[str, str] = MappingProxyType({})) -> str:
        """`pattern` with its parts, each in a group of its own, and the text of `groups`; parts may contain parts."""
        for _ in self.parts:
            for name, part in self.parts.items():
                pattern = pattern.replace(f"{{{name}}}", f"(?:{part})")
        for name, text in groups.items():
            pattern = pattern.replace(f"{{{name}}}", f"(?:{re.escape(text)})")
        return pattern


class StateOption(Map):
    """A true statement of the right option alone, for questions that only ask which option is true.

    The text from the option is the statement's answer; there is no seam. A question without a form is not applicable:
    another branch may state it.
    """

    kind: ClassVar[str] = "state_option"
    version = 3
    spec_class: ClassVar[type[StepSpec]] = StateOptionSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "no_form": "The question does not only ask which option is true.",
        "not_a_statement": "The right option is not a statement.",
        "too_long": "The statement is longer than the recipe allows.",
        "context_too_long": "The text before the question is longer than the recipe allows.",
    }

    spec: StateOptionSpec

    def map(self, row: Fact[Choice], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One branch per fact."""
        spec = self.spec
        question = strip_marks_right(row.payload.question, spec.marks)
        option = strip_marks(row.payload.answer, spec.marks)
        fitting = [
            (name, form, groups)
            for name, form in spec.forms.items()
            if form is not None and (groups := match_groups(spec.expand_parts(form.when), question)) is not None
        ]
        if not fitting:
            return [NotApplicable("no_form")]
        others = [strip_marks(other.text, spec.marks) for other in row.payload.options]
        name, form, groups = next(
            (
                (n, f, g)
                for n, f, g in fitting
                if has_match(spec.expand_parts(f.option, g), option)
                and all(has_match(spec.expand_parts(f.options, g), other) for other in others)
            ),
            ("", None, {}),
        )
        if form is None or not option or any(has_match(pattern, option) for pattern in spec.not_options):
            return [Dropped("not_a_statement", option)]
        text, places = fill_template(form.text, {**groups, "option": option})
        context, _ = fill_template(form.context, {**groups, "context": row.payload.context})
        if (size := text_length(text + spec.stop, spec.unit)) > spec.max_length:
            return [Dropped("too_long", f"{size} {spec.unit}")]
        if (size := text_length(context, spec.unit)) > spec.max_context:
            return [Dropped("context_too_long", f"{size} {spec.unit}")]
        statement = Statement.child(
            row, produced_by=self.produced_by(name), polarity="true", text=text + spec.stop, joined="template",
            answer=places["option"], context=context, fact=row.id, checks=("holds_answer", "within_length"),
        )  # fmt: skip
        return [Kept(statement)]
