"""Writes the forms of chats up as cases, by a template or by a model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.config import PromptRef
from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
    Outcome,
    ProducedBy,
    Regex,
    Row,
    Table,
    comparison_form,
    normalise_space,
    replace_all,
)
from benchbuilder.models import read_prompt, render_prompt
from benchbuilder.steps import MODEL_REASONS, NeedsModel, Port, ReplyFault, Writer, WriterSpec
from pydantic import Field

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.chat import FORM_FIELDS, IntakeForm

_CASE = Fact[PatientCase]
_TEXT_FIELDS = FORM_FIELDS[:-1]
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


class WriteCaseSpec(WriterSpec):
    """How forms are written up."""

    origin: str
    """What the cases count under."""
    template: PromptRef | None
    """What is filled in without a model, with the fields but the diagnosis; ``null`` leaves it all to the model."""
    separators: Regex
    """What stands between several diseases in the field of the diagnosis."""
    min_chars: Annotated[int, Field(ge=1)]
    """Characters that a case must have."""


class WriteCase(Writer):
    """The case of one form: a text that says what the form says and does not name the diagnosis."""

    kind = "write_case"
    version = 2
    spec_class = WriteCaseSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[IntakeForm])}
    output: ClassVar[type[Row] | None] = _CASE
    divides = True
    faults: ClassVar[Mapping[str, str]] = {
        "leaks_answer": "The text names a diagnosis.",
        "lost_number": "The text lacks a number of the form.",
        "added_number": "The text has a number that the form does not have.",
        "too_short": "The text is shorter than the recipe allows.",
    }
    """Why a text is not taken."""
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "no_diagnosis": "The form names no disease.",
        **faults,
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "age": "the patient's age (any field may be empty)",
        "sex": "the patient's sex",
        "symptoms": "symptoms and signs",
        "examination": "what was examined, and what was found",
        "history": "illnesses, operations and medicines of before",
        "complaint": "why the patient came",
    }
    reply_field = "case"

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read template and prompts."""
        super().open(lookups)
        ref = self.spec.template
        self._template = None if ref is None else read_prompt(ref.path, ref.file)

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """Forms with a diagnosis."""
        return None if self._forbidden_names(row.payload) else Dropped("no_diagnosis")

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The filled template."""
        if self._template is None:
            return NeedsModel("no template")
        text = normalise_space(render_prompt(self._template, _values(row.payload)))
        fault = self._fault(row.payload, text)
        if fault is not None:
            return Dropped(fault.reason, fault.detail)
        return Kept(self._case(row, text, self.produced_by("template")))

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """The fields but the diagnosis."""
        return _values(row.payload)

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """All fields in a row."""
        return " ".join(filter(None, _values(row.payload).values()))

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """A text with the numbers of the form and no others, which does not name a diagnosis."""
        text = normalise_space(text)
        return self._fault(row.payload, text) or self._case(row, text, produced_by)

    def _fault(self, form: IntakeForm, text: str) -> ReplyFault | None:
        said = comparison_form(text)
        if named := next((name for name in self._forbidden_names(form) if comparison_form(name) in said), ""):
            return ReplyFault("leaks_answer", named)
        if len(text) < self.spec.min_chars:
            return ReplyFault("too_short", f"{len(text)} characters")
        there = _NUMBER.findall(said)
        wanted = _NUMBER.findall(comparison_form(" | ".join(_values(form).values())))
        if lost := next((number for number in wanted if number not in there), ""):
            return ReplyFault("lost_number", lost)
        if added := next((number for number in there if number not in wanted), ""):
            return ReplyFault("added_number", added)
        return None

    def _forbidden_names(self, form: IntakeForm) -> list[str]:
        parts = replace_all(self.spec.separators, "\n", form.diagnosis).split("\n")
        return list(dict.fromkeys(name for part in parts if (name := normalise_space(part))))

    def _case(self, row: Fact[IntakeForm], text: str, produced_by: ProducedBy) -> Fact[PatientCase]:
        diagnoses = tuple(Diagnosis(name=name) for name in self._forbidden_names(row.payload))
        payload = PatientCase(text=text, diagnoses=diagnoses, setting=self.spec.origin)
        return _CASE.child(row, produced_by=produced_by, payload=payload, partition=self.spec.origin)


def _values(form: IntakeForm) -> dict[str, str]:
    fields = form.fields()
    return {name: fields[name] for name in _TEXT_FIELDS}
