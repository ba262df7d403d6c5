"""Gives the diagnoses of cases their codes: as listed, another form, the nearest name, or as a model says."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import KindSpec, PromptRef, Sampling, Slot, StepSpec
from benchbuilder.core import Dropped, Fact, Kept, Row, StepContext, Table
from benchbuilder.models import Conversation, Reply, Request
from benchbuilder.steps import Port, ReplyFault
from pydantic import BaseModel, Field

from benchbuilder_cmhe.dd.asking import ASKING_REASONS, PromptedForJson, ask_json
from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.classification import Classification, ClassificationSpec, open_classification
from benchbuilder_cmhe.dd.names import CodeMatch

_CASE = Fact[PatientCase]


class CodeCaseSpec(StepSpec):
    """How names come to codes, and what becomes of a case with a name that has none."""

    classification: ClassificationSpec
    without: Literal["drop_case", "drop_diagnosis", "keep"]
    """A diagnosis without a code: its case goes, it goes alone, or it stays for people to code."""
    prompt: PromptRef | None = None
    """What the model is asked about a name that no list has and that is near none; ``null`` asks nobody."""
    candidates: Annotated[int, Field(ge=0, le=100)] = 20
    """Nearest names with their codes that the model is shown."""
    rounds: Annotated[int, Field(ge=0, le=5)] = 0
    """Further replies that are asked for."""
    sampling: Sampling = Sampling()
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None


class CodeReply(BaseModel):
    """A code, or "" if there is none."""

    code: str


class CodeCase(PromptedForJson):
    """The same case with a code for each of its diagnoses, and with how each was found.

    A diagnosis that is several diseases by the list (its parts are names of the list) becomes several. A case whose
    text names one of its diagnoses, by whatever name of the list, goes: it tells the answer.
    """

    kind: ClassVar[str] = "code_case"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = CodeCaseSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_CASE)}
    output: ClassVar[type[Row] | None] = _CASE
    reasons: ClassVar[Mapping[str, str]] = {
        **ASKING_REASONS,
        "no_code": "A name stands in no list and is near none that does.",
        "no_disease": "The name has a code that the recipe leaves out: a symptom, an external cause and the like.",
        "unknown_code": "The model's code is none of the classification.",
        "leaks_answer": "The text names a diagnosis, by one of the names that the list has for it.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "name": "the name of the disease",
        "candidates": "the nearest names: a list of code and name",
    }

    spec: CodeCaseSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self._known: Classification | None = None

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the classification and the prompt."""
        super().open(lookups)
        self._known = open_classification(self.spec.classification)

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:  # noqa: ARG002
        """One branch a case."""
        case: PatientCase = row.payload
        coded: list[Diagnosis] = []
        fault = ReplyFault("no_code")
        for diagnosis in case.diagnoses:
            found = yield from self._code(diagnosis.name)
            if not isinstance(found, ReplyFault):
                coded += found
                continue
            fault = found
            if self.spec.without == "drop_case":
                return [Dropped(fault.reason, fault.detail)]
            if self.spec.without == "keep":
                coded.append(Diagnosis(name=diagnosis.name))
        if not coded:
            return [Dropped(fault.reason, fault.detail)]
        if told := self._revealed_name(case.text, coded):
            return [Dropped("leaks_answer", told)]
        how = max((d.how or "person" for d in coded), key=("exact", "alias", "fuzzy", "model", "person").index)
        payload = case.model_copy(update={"diagnoses": tuple({d.code or d.name: d for d in coded}.values())})
        return [Kept(_CASE.child(row, produced_by=self.produced_by(how), payload=payload))]

    def _revealed_name(self, text: str, coded: Sequence[Diagnosis]) -> str:
        """The first name of a diagnosis that stands in the text, "" if none does."""
        assert self._known is not None
        names = self._known.names
        said = names.spell(text)
        for one in coded:
            for name in (names.spell(one.name), *(names.names_of(one.code) if one.code else ())):
                if len(name) > 1 and name in said:
                    return name
        return ""

    def _code(self, name: str) -> Generator[Request, Reply, list[Diagnosis] | ReplyFault]:
        assert self._known is not None
        known = self._known
        matches = known.find(name)
        if not matches and self._prompt is not None:
            if self.model_spec is None:
                return ReplyFault("no_code", name)
            asked = yield from self._ask(name)
            if isinstance(asked, ReplyFault):
                return asked
            matches = [asked]
        if not matches:
            return ReplyFault("no_code", name)
        if any(known.is_left_out(match.code) for match in matches):
            return ReplyFault("no_disease", f"{name}: {', '.join(match.code for match in matches)}")
        return [coded_diagnosis(match.part or name, match, known) for match in matches]

    def _ask(self, name: str) -> Generator[Request, Reply, CodeMatch | ReplyFault]:
        assert self._known is not None
        assert self._prompt is not None
        known = self._known
        near = known.candidates(name, self.spec.candidates) if self.spec.candidates else []

        def take(reply: CodeReply) -> CodeMatch | ReplyFault:
            code = reply.code.strip()
            if not code:
                return ReplyFault("no_code", name)
            if known.hierarchy.place(code) is None:
                return ReplyFault("unknown_code", f"{name}: {code}")
            entry = next((match.entry for match in near if match.code == code), known.hierarchy.title(code))
            return CodeMatch(code, entry, "model", 0.0)

        values = {"name": name, "candidates": [{"code": match.code, "name": match.entry} for match in near]}
        return (
            yield from ask_json(
                self._prompt, values, CodeReply, take, sampling=self.spec.sampling,
                expected=CodeReply(code=near[0].code if near else "A00.0").model_dump_json(), rounds=self.spec.rounds,
            )
        )  # fmt: skip


def coded_diagnosis(name: str, match: CodeMatch, known: Classification) -> Diagnosis:
    """A diagnosis with its code and where that belongs."""
    place = known.hierarchy.place(match.code)
    if place is None:
        raise ValueError(f"{match.code!r} belongs nowhere")
    return Diagnosis(
        name=name, code=match.code, entry=match.entry, how=match.how, score=match.score, chapter=place.chapter,
        block=place.block, category=place.category,
    )  # fmt: skip
