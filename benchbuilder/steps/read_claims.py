"""Reads claims from paragraphs with a model; each rests on a quote of the paragraph."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import KindSpec, PromptRef, Sampling, Slot, Spec, StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
    LabelledClaim,
    NotApplicable,
    Outcome,
    Passage,
    Regex,
    Row,
    Table,
    all_numbers,
    create_from_spec,
    normalise_space,
    split_sentences,
    strip_reasoning,
    truncate_text,
)
from benchbuilder.models import Conversation, Message, Prompt, Reply, Request, read_prompt, render_prompt
from benchbuilder.retrieval import Tokenizer
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.claim_replies import NumberedProposal, ReplyReader, plain_reply
from benchbuilder.steps.language.claim_rules import CLAIM_FAULTS, ClaimCheck, ClaimRules, Proposal, ReadText
from benchbuilder.steps.model_settings import ModelMap
from benchbuilder.steps.writer import MODEL_REASONS, ReplyFault

_FACT = Fact[LabelledClaim]
_FACTS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"}, "claim": {"type": "string"}, "quote": {"type": "string"},
                    "as_of": {"type": "string"},
                },
                "required": ["number", "claim", "quote", "as_of"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}  # fmt: skip
"""The form of a reply as one object; services that keep to a schema want every field."""
_FINAL = ("reply_refused", "reply_filtered")


class DocumentDate(Spec):
    """The date up to which a document is correct, in any form."""

    document: str = ""
    """The name of the document; empty: every document."""
    date: str


class ReadClaimsSpec(StepSpec):
    """How claims are read from a paragraph."""

    prompt: PromptRef
    """The prompt that asks for claims, each a JSON object with ``claim``, ``quote`` and ``as_of`` on a line."""
    system: PromptRef | None = None
    """The system message of every request, with the same variables; ``null``: none."""
    repair: PromptRef
    """The prompt after a reply with faults; it names them."""
    alone: PromptRef | None
    """The prompt that shows a claim alone and asks what a reader would have to know; ``null``: it is not asked."""
    most: Annotated[int, Field(ge=1, le=20)] = 6
    """The most claims of one paragraph."""
    repair_rounds: Annotated[int, Field(ge=0, le=5)] = 2
    """Further replies that are requested before faulty claims are dropped."""
    reply: Literal["lines", "json"] = "lines"
    """Whether the model writes a JSON object a line, or one object with the list ``facts``, whose schema is requested:
    services that keep to a schema then cannot miss the form."""
    nothing: Annotated[str, Field(min_length=1)]
    """The word that the model writes if there is nothing."""
    also_nothing: tuple[Regex, ...]
    """Patterns of whole replies that mean the same as `nothing`."""
    dates: tuple[DocumentDate, ...] = ()
    """The dates of documents; the first that fits counts."""
    rules: ClaimRules
    sampling: Sampling = Sampling()
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


@dataclass(slots=True)
class _Line:
    """One claim of a paragraph: as last written, and the check that it fails (``None``: none)."""

    proposal: Proposal
    fault: ReplyFault | None = None
    judged: bool = False
    final: bool = False


class ReadClaims(ModelMap):
    """True claims from each paragraph, written by a model and bound to a quote.

    One conversation a paragraph: the model writes claims, the program checks each, the model reads those that pass
    without the paragraph, and faulty ones are written anew. The slot of a claim is its number, from 1.
    """

    kind: ClassVar[str] = "read_claims"
    spec_class: ClassVar[type[StepSpec]] = ReadClaimsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage), "page": Port(Passage, mode="parent", optional=True)}
    output: ClassVar[type[Row] | None] = _FACT
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        **CLAIM_FAULTS,
        "no_claim": "The model found nothing in the paragraph that a reader could check.",
        "not_standalone": "Read alone, the claim leaves open who, what or when is meant.",
        "too_many": "The model wrote more claims than a paragraph may have.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "title": "the title of the document, with the headings above the paragraph",
        "document": "the name of the document",
        "date": "the date of the document (may be empty)",
        "before": "the paragraph before (may be empty)",
        "text": "the paragraph",
        "most": "the most claims",
        "nothing": "the word to write if there is nothing",
        "faults": "in `repair`: the faulty claims, each with number, claim, quote, fault and detail",
        "claim": "in `alone`: the claim",
    }

    spec: ReadClaimsSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The identity of the model and the versions of the tokenizer, as far as they are not in the spec."""
        tokenizer = self._new_tokenizer()
        return {**super().fingerprint(), **({} if tokenizer is None else tokenizer.fingerprint())}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the prompts and open the tokenizer."""
        spec = self.spec
        self._prompt, self._repair = (read_prompt(ref.path, ref.file) for ref in (spec.prompt, spec.repair))
        self._system, self._alone = (
            None if ref is None else read_prompt(ref.path, ref.file) for ref in (spec.system, spec.alone)
        )
        tokenizer = self._new_tokenizer()
        if tokenizer is not None:
            tokenizer.open()
        self._replies = ReplyReader(spec.rules, spec.nothing, spec.also_nothing)
        self._check = ClaimCheck(spec.rules, str.split if tokenizer is None else tokenizer.tokens)

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:
        """A branch for each claim, or one for a paragraph without any."""
        if self.model_spec is None:
            return [Dropped("needs_model")]
        return (yield from self._read(row, self._values(row, parents)))

    def _new_tokenizer(self) -> Tokenizer | None:
        return None if self.spec.tokenizer is None else create_from_spec("tokenizer", self.spec.tokenizer)

    def _values(self, row: Passage, parents: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the prompts."""
        spec = self.spec
        date = next((dated.date for dated in spec.dates if dated.document in ("", row.document)), "")
        return {
            "title": row.title, "document": row.document, "date": date,
            "before": _paragraph_before(row, parents.get("page")), "text": row.text, "most": spec.most,
            "nothing": spec.nothing, "faults": [], "claim": "",
        }  # fmt: skip

    def _read(self, row: Passage, values: dict[str, Any]) -> Generator[Request, Reply, list[Outcome]]:
        """Ask for claims, and again for the faulty ones, as often as the spec allows."""
        spec, read = self.spec, ReadText(row.text, row.title)
        first = messages = self._messages(self._prompt, values)
        lines: list[_Line] = []
        sent: set[tuple[Message, ...]] = set()
        whole: ReplyFault | None = None
        for sample in range(spec.repair_rounds + 1):
            sent.add(messages)
            schema = _FACTS_SCHEMA if spec.reply == "json" else None
            reply = yield Request(messages, spec.sampling.explicit_settings(), schema, sample, self._expected(row))
            proposals, reason, said = self._replies.proposals(reply)
            whole = ReplyFault(reason, said) if reason else None
            if lines:
                _write_anew(lines, proposals)
            elif whole is None and not proposals:
                return [NotApplicable("no_claim")]
            else:
                lines = [_Line(proposal) for _, proposal in proposals]
            yield from self._judge(lines, read, values)
            faulty = {at: line for at, line in enumerate(lines, 1) if line.fault is not None and not line.final}
            is_over = whole.reason in _FINAL if whole is not None else not (faulty and proposals)
            if reply.assumed or is_over or sample == spec.repair_rounds:
                break
            messages = self._repair_messages(first, strip_reasoning(reply.text) or "", whole, faulty, values)
            if messages in sent and spec.sampling.temperature == 0:
                break  # the most probable reply to the same messages is already known
        if not lines and whole is not None:
            return [Dropped(whole.reason, whole.detail)]
        return [self._outcome(row, str(at), line, values["date"]) for at, line in enumerate(lines, 1)]

    def _judge(self, lines: Sequence[_Line], read: ReadText, values: dict[str, Any]) -> Generator[Request, Reply, None]:
        """Check every line that is new, and have those that pass read alone."""
        for at, line in enumerate(lines):
            if line.judged:
                continue
            line.judged, line.final = True, at >= self.spec.most
            if line.final:
                line.fault = ReplyFault("too_many")
                continue
            accepted = [other.proposal for other in lines if other.judged and other is not line and other.fault is None]
            found = self._check.fault(line.proposal, read, accepted)
            line.fault = None if found is None else ReplyFault(*found)
            if line.fault is None and self._alone is not None:
                line.fault = yield from self._read_alone(self._alone, line.proposal.claim, values)
                line.final = line.fault is not None and line.fault.reason != "not_standalone"

    def _read_alone(
        self, prompt: Prompt, claim: str, values: dict[str, Any]
    ) -> Generator[Request, Reply, ReplyFault | None]:
        """Ask what a reader of the claim alone would have to know."""
        blind = dict.fromkeys(("title", "document", "date", "before", "text"), "")
        messages = (Message("user", render_prompt(prompt, {**values, **blind, "claim": claim})),)
        reply = yield Request(messages, self.spec.sampling.explicit_settings(), None, 0, self.spec.nothing)
        if reply.outcome != "complete":
            return ReplyFault(f"reply_{reply.outcome}")
        first_line = next((line.strip() for line in plain_reply(reply).splitlines() if line.strip()), "")
        is_clear = self._replies.is_nothing(first_line)
        return None if is_clear else ReplyFault("not_standalone", truncate_text(first_line, 120))

    def _messages(self, prompt: Prompt, values: Mapping[str, Any]) -> tuple[Message, ...]:
        user = Message("user", render_prompt(prompt, values))
        return (user,) if self._system is None else (Message("system", render_prompt(self._system, values)), user)

    def _repair_messages(
        self,
        first: tuple[Message, ...],
        answer: str,
        whole: ReplyFault | None,
        faulty: Mapping[int, _Line],
        values: Mapping[str, Any],
    ) -> tuple[Message, ...]:
        """The messages of a repair round: the first ones, the last reply, and its faults."""
        if not answer:
            return first
        faults = [
            {"number": number, "claim": line.proposal.claim, "quote": line.proposal.quote, "fault": line.fault.reason,
             "detail": line.fault.detail}
            for number, line in faulty.items() if line.fault is not None
        ]  # fmt: skip
        said = {"fault": "" if whole is None else whole.reason, "detail": "" if whole is None else whole.detail}
        told = render_prompt(self._repair, {**values, **said, "reply": answer, "faults": faults})
        return (*first, Message("assistant", answer), Message("user", told))

    def _expected(self, row: Passage) -> str:
        """The sentences of the paragraph as claims."""
        rules = self.spec.rules
        sentences = split_sentences(row.text, rules.stops, rules.soft_stops, rules.abbreviations)[: self.spec.most]
        facts = [{"claim": text, "quote": text} for text in sentences]
        if self.spec.reply == "json":
            return json.dumps({"facts": facts}, ensure_ascii=False)
        return "\n".join(json.dumps(fact, ensure_ascii=False) for fact in facts)

    def _outcome(self, row: Passage, slot: str, line: _Line, date: str) -> Outcome:
        """The outcome of one claim."""
        if line.fault is not None:
            return Dropped(line.fault.reason, " | ".join(filter(None, (line.fault.detail, line.proposal.claim))), slot)
        proposal = line.proposal
        known = set(all_numbers(row.text, row.title, date))
        as_of = proposal.as_of if set(all_numbers(proposal.as_of)) <= known else ""
        payload = LabelledClaim(
            text=proposal.claim, label="true", gold=(row.text,), quote=proposal.quote, as_of=as_of or date
        )
        produced_by = self.produced_by(f"model/{self.spec.prompt.path}")
        return Kept(_FACT.child(row, produced_by=produced_by, slot=slot, payload=payload), slot)


def _write_anew(lines: Sequence[_Line], proposals: Sequence[NumberedProposal]) -> None:
    """Put new versions in the place of faulty claims, by their numbers, or in order where they have none."""
    faulty = {at: line for at, line in enumerate(lines, 1) if line.fault is not None and not line.final}
    unnumbered = iter([line for at, line in faulty.items() if at not in {number for number, _ in proposals}])
    for number, proposal in proposals:
        line = next(unnumbered, None) if number is None else faulty.pop(number, None)
        if line is not None:
            line.proposal, line.fault, line.judged = proposal, None, False


def _paragraph_before(row: Passage, page: Passage | None) -> str:
    """The paragraph before `row` on its page, unless it is a heading that the title has already."""
    if page is None:
        return ""
    lines = [line for raw in page.text.splitlines() if (line := normalise_space(raw))]
    at = int(row.slot) - 1 if row.slot.isdecimal() else next((n for n, line in enumerate(lines) if line == row.text), 0)
    before = lines[at - 1] if 0 < at <= len(lines) else ""
    return "" if before in row.title else before
