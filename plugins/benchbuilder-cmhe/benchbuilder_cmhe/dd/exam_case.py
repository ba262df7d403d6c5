"""Makes cases of examination questions that describe a patient and ask for the diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Choice,
    Dropped,
    Fact,
    Kept,
    Outcome,
    Regex,
    Row,
    has_match,
    normalise_space,
    replace_all,
)
from benchbuilder.steps import Map, Port

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase

_CASE = Fact[PatientCase]


class ExamCaseSpec(StepSpec):
    """Which questions are cases. Patterns have names of your choice; ``null`` takes an inherited one away."""

    origin: str
    """What the cases count under."""
    blank: Regex
    """What stands for the answer in a question, and goes."""
    numbering: Regex
    """What numbers a question, or a part of one, and goes."""
    stops: str
    """Characters that end a clause: what is asked stands in the last one."""
    patient: dict[str, Regex | None]
    """What speaks of a patient: the whole text matches one."""
    asks: dict[str, Regex | None]
    """What asks for a diagnosis: the last clause matches one."""
    asks_otherwise: dict[str, Regex | None]
    """What asks for something else: the last clause matches none."""
    joint: str = ""
    """What stands between the context of a question and the question."""


class ExamCase(Map):
    """A case of each question that asks for the diagnosis of a patient; its right answer is the diagnosis.

    Whether the answer is a disease is not known here: that is for the step that looks its code up.
    """

    kind: ClassVar[str] = "exam_case"
    spec_class: ClassVar[type[StepSpec]] = ExamCaseSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    output: ClassVar[type[Row] | None] = _CASE
    divides = True
    reasons: ClassVar[Mapping[str, str]] = {
        "no_patient": "The question does not describe a patient.",
        "not_asked": "The question does not ask for a diagnosis.",
        "asks_otherwise": "The question asks for something else than the disease: its cause, place, treatment.",
        "leaks_answer": "The text names the right answer.",
    }

    spec: ExamCaseSpec

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The case of one question."""
        fact: Fact[Choice] = row
        return [self._outcome(fact)]

    def _outcome(self, fact: Fact[Choice]) -> Outcome:
        spec, choice = self.spec, fact.payload
        text = self._text(choice)
        asked = self._last_clause(text)
        if not _first_match(spec.patient, text):
            return Dropped("no_patient")
        if not _first_match(spec.asks, asked):
            return Dropped("not_asked", asked)
        if found := _first_match(spec.asks_otherwise, asked):
            return Dropped("asks_otherwise", f"{found}: {asked}")
        if choice.answer and choice.answer in text:
            return Dropped("leaks_answer", choice.answer)
        case = PatientCase(text=text, diagnoses=(Diagnosis(name=choice.answer),), setting=spec.origin)
        produced_by = self.produced_by(
            next(name for name in spec.asks if spec.asks[name] and _is_match(spec.asks[name], asked))
        )
        return Kept(_CASE.child(fact, produced_by=produced_by, payload=case, partition=spec.origin))

    def _text(self, choice: Choice) -> str:
        """Context and question, without the blank and without numbers."""
        spec = self.spec
        whole = spec.joint.join(part for part in (choice.context, choice.question) if part)
        for pattern in (spec.blank, spec.numbering):
            whole = replace_all(pattern, "", whole)
        return normalise_space(whole)

    def _last_clause(self, text: str) -> str:
        """The last clause."""
        bare = text.rstrip(self.spec.stops + " ")
        at = max((bare.rfind(stop) for stop in self.spec.stops), default=-1)
        return bare[at + 1 :].strip()


def _is_match(pattern: str | None, text: str) -> bool:
    return bool(pattern) and has_match(pattern or "", text)


def _first_match(patterns: Mapping[str, str | None], text: str) -> str:
    """The name of the first pattern that is found in `text`, "" if none is."""
    return next((name for name, pattern in patterns.items() if _is_match(pattern, text)), "")
