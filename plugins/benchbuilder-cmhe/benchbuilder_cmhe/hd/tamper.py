"""Makes a true answer untrue by a model under an instruction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.core import (
    Fact,
    Outcome,
    ProducedBy,
    Regex,
    Row,
    find_all,
    match_count,
)
from benchbuilder.steps import MODEL_REASONS, NeedsModel, Port, ReplyFault, Writer, WriterSpec, single_edit
from pydantic import Field
from rapidfuzz.distance import Indel

from benchbuilder_cmhe.hd.dialogue import AnswerChange, Dialogue

Share = Annotated[float, Field(ge=0, le=1)]
_FACT = Fact[Dialogue]


class TamperSpec(WriterSpec):
    """What is accepted of a model. The strategy is ``model``, or ``rules_then_model`` to do without one.

    Its text must differ from the answer, have between `shortest` and `longest` of its length, share at least `kept` of
    its characters with it (2 × the longest common subsequence ÷ both lengths), and hold none of `telltales` that the
    answer does not hold.
    """

    shortest: Share
    longest: Annotated[float, Field(ge=1)]
    kept: Share
    telltales: tuple[Regex, ...]
    """What a model may say of what it did, so that the answer gives itself away."""


class Tamper(Writer):
    """The dialogue with an answer that is no longer true; what was changed is recorded with it.

    That it is untrue is not known before people have confirmed it. Nothing balances what a model changes: its words may
    give the altered answers away. `exchange_answers` alters without a model, and in both directions.
    """

    kind = "tamper"
    version = 3
    spec_class = TamperSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "unchanged": "The model's text is the answer itself.",
        "length_changed": "The model's text is much shorter or longer than the answer.",
        "form_changed": "The model's text shares too little with the answer: it is another one.",
        "telltale": "The model's text says that something was altered.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "question": "what the patient asks",
        "answer": "what the doctor answers",
        "department": "the department (may be empty)",
    }
    reply_field = "answer"

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """No rule alters a single answer."""
        return NeedsModel()

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Question, answer and department."""
        said: Dialogue = row.payload
        return {"question": said.question, "answer": said.answer, "department": said.department}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The answer with its beginning at its end."""
        answer: str = row.payload.answer
        return answer[1:] + answer[:1]

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """The dialogue with the model's text, if it differs and keeps the form of the answer."""
        spec: TamperSpec = self.spec
        answer: str = row.payload.answer
        edit = single_edit(answer, text, None)
        if edit is None or (edit[0].start == edit[0].end and not edit[1]):
            return ReplyFault("unchanged")
        share = len(text) / len(answer)
        if not spec.shortest <= share <= spec.longest:
            return ReplyFault("length_changed", f"{share:.2f} of the length")
        kept = Indel.normalized_similarity(answer, text)
        if kept < spec.kept:
            return ReplyFault("form_changed", f"{kept:.2f} kept")
        for pattern in spec.telltales:
            if len(found := find_all(pattern, text)) > match_count(pattern, answer):
                return ReplyFault("telltale", found[0].slice_of(text))
        change = AnswerChange(rule="model", before=edit[0].slice_of(answer), after=edit[1])
        payload = row.payload.model_copy(update={"answer": text, "changes": (*row.payload.changes, change)})
        return _FACT.child(row, produced_by=produced_by, payload=payload)
