"""The verifier kind `prompted`: a chat model says by number what each part of an answer is."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast, get_args

from pydantic import Field

from benchbuilder.config import KindSpec, PromptRef, Sampling, Slot
from benchbuilder.core import (
    ClaimVerdict,
    PartKind,
    Span,
    Stance,
    find_quote,
    parse_json,
    strip_reasoning,
    truncate_code_points,
    unique_object,
)
from benchbuilder.evaluation.claims.base import ClaimVerifier, VerifiedPart, VerifierSpec, VerifyingConversation
from benchbuilder.evaluation.claims.clauses import AnswerClause
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.evaluation.parsing.score_replies import TAG_REPLACEMENT, neutralise_tags, tag_names
from benchbuilder.models import Message, Prompt, Reply, Request, read_prompt, render_prompt

_NUMBER_MARK = re.compile(r"\[(?=\s*\d+\s*\])")
_OUTCOMES = {name: f"reply_{name}" for name in ("truncated", "empty", "refused", "filtered")}
_FINAL = ("reply_refused", "reply_filtered")


class PromptedVerifierSpec(VerifierSpec):
    """How a model is asked about the parts of an answer."""

    prompt: PromptRef
    """The prompt; see the variables of the kind."""
    system: PromptRef | None = None
    """The system message, with the same variables; ``null``: none."""
    repair: PromptRef | None = None
    """The prompt after a reply with faults; ``null`` repeats the first one for the faulty numbers."""
    repair_rounds: Annotated[int, Field(ge=0, le=5)] = 1
    """Further replies that are requested for faulty numbers."""
    statements: bool = True
    """Whether the item's two statements are shown, in an order drawn by item and without saying which is right."""
    max_evidence_chars: Annotated[int, Field(ge=0, le=60_000)] = 4_000
    """Maximum characters of all paragraphs together; the rest is cut. Question and answer are never cut."""
    units_per_call: Annotated[int, Field(ge=1, le=200)] = 40
    """Parts that one reply is about. The whole answer is in every request."""
    sampling: Sampling = Sampling(temperature=0.0)
    model: Annotated[KindSpec | None, Slot("model")] = None


class PromptedVerifier(ClaimVerifier):
    """Asks a chat model about all parts of an answer at once, by their numbers, so that none can be reworded.

    A verdict needs a quote of a paragraph, letter for letter but for white space, width and marks; without one the
    claim is not addressed, with the reason ``quote_not_found``. Faulty numbers, and only these, are asked again.
    """

    kind: ClassVar[str] = "prompted"
    spec_class: ClassVar[type[VerifierSpec]] = PromptedVerifierSpec
    reasons: ClassVar[Mapping[str, str]] = {
        "needs_model": "No model is set for the verifier.",
        "part_missing": "The reply says nothing of this part, or says it twice.",
        "part_malformed": "What the reply says of this part is not in the form that is asked for.",
        "quote_not_found": "The quote is not in the paragraph, letter for letter.",
        "reply_malformed": "The reply is not one object with parts.",
        "reply_truncated": "The reply reached the limit of new tokens.",
        "reply_empty": "The reply is empty.",
        "reply_refused": "The verifier refused to answer.",
        "reply_filtered": "The service's content filter withheld prompt or reply.",
        "reply_unfinished": "The reply ends in the middle of its reasoning.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "question": "the question with its context",
        "paragraphs": "the paragraphs (a list, counted from 1)",
        "a": "one of the item's statements (empty where there are none, or none are shown)",
        "b": "the other one",
        "answer": "the answer, with the number of each part before it",
        "numbers": "the numbers that are asked about (a list)",
        "faults": "in `repair`: the faulty parts, each with n and fault",
    }
    spec: PromptedVerifierSpec
    _prompt: Prompt | None = None
    _system: Prompt | None = None
    _repair: Prompt | None = None

    @property
    def model_spec(self) -> KindSpec | None:
        """The model, unless its kind is ``none``."""
        model = self.spec.model
        return None if model is None or model.kind == "none" else model

    def open(self) -> None:
        """Read the prompts and the word lists."""
        super().open()
        spec = self.spec
        self._prompt, self._system, self._repair = (
            None if ref is None else read_prompt(ref.path, ref.file) for ref in (spec.prompt, spec.system, spec.repair)
        )
        prompts = filter(None, (self._prompt, self._system))
        self._tags = sorted({name for prompt in prompts for name in tag_names(prompt.source)})

    def verify(self, case: Case, clauses: Sequence[AnswerClause]) -> VerifyingConversation:
        """Ask about the parts, some at a time."""
        if self.model_spec is None:
            return [VerifiedPart(clause, reason="needs_model") for clause in clauses]
        values, is_swapped = self._values(case, clauses), is_right_last(case)
        parts: list[VerifiedPart] = []
        for first in range(0, len(clauses), self.spec.units_per_call):
            some = clauses[first : first + self.spec.units_per_call]
            numbers = range(first + 1, first + len(some) + 1)
            said = yield from self._ask(case, numbers, len(clauses), values)
            parts += [
                _verified(clause, said[n], is_swapped=is_swapped) for clause, n in zip(some, numbers, strict=True)
            ]
        return parts

    def _values(self, case: Case, clauses: Sequence[AnswerClause]) -> dict[str, Any]:
        """What prompts show, as plain data."""
        remaining, paragraphs = self.spec.max_evidence_chars, list[str]()
        for text in case.evidence:
            if remaining <= 0:
                break
            paragraphs.append(self._neutral(truncate_code_points(text, remaining)))
            remaining -= len(text)
        a, b = (case.wrong, case.right) if is_right_last(case) else (case.right, case.wrong)
        shown = (self._neutral(text) if self.spec.statements else "" for text in (a, b))
        return {
            "question": self._neutral(case.question),
            "paragraphs": paragraphs,
            **dict(zip("ab", shown, strict=True)),
            "answer": self._numbered(case.answer, clauses),
            "faults": [],
        }

    def _neutral(self, text: str) -> str:
        return neutralise_tags(text, self._tags)

    def _numbered(self, answer: str, clauses: Sequence[AnswerClause]) -> str:
        """The answer with the number of each clause before it; numbers of its own in brackets are neutralised."""
        text = _NUMBER_MARK.sub(TAG_REPLACEMENT, self._neutral(answer))
        ends = [clause.start for clause in clauses[1:]] + [len(text)]
        pieces = (f"[{n}] {text[one.start : end]}" for n, (one, end) in enumerate(zip(clauses, ends, strict=True), 1))
        return text[: clauses[0].start if clauses else 0] + "".join(pieces)

    def _ask(
        self, case: Case, numbers: Sequence[int], last: int, values: Mapping[str, Any]
    ) -> Generator[Request, Reply, dict[int, SaidPart]]:
        """What the model says of these numbers; of those that are faulty it is asked again, as often as allowed."""
        spec, said = self.spec, dict[int, SaidPart]()
        faulty = list(numbers)
        messages = self._messages(values, faulty)
        requested: set[tuple[Message, ...]] = set()
        for sample in range(spec.repair_rounds + 1):
            requested.add(messages)
            expected = _example(faulty, case)
            reply = yield Request(messages, spec.sampling.explicit_settings(), PARTS_SCHEMA, sample, expected)
            text = strip_reasoning(reply.text)
            fault = _OUTCOMES.get(reply.outcome, "reply_unfinished" if text is None else "")
            found = None if fault else read_parts(text or "", faulty, last, case)
            said |= found or {n: SaidPart(fault=fault or "reply_malformed") for n in faulty}
            faulty = [n for n in faulty if said[n].fault]
            if not faulty or reply.assumed or fault in _FINAL:
                break
            messages = self._repair_messages(values, faulty, text or "", said)
            if messages in requested and text and spec.sampling.temperature == 0:
                break
        return said

    def _messages(self, values: Mapping[str, Any], numbers: Sequence[int]) -> tuple[Message, ...]:
        assert self._prompt is not None
        filled = {**values, "numbers": list(numbers)}
        user = Message("user", render_prompt(self._prompt, filled))
        return (user,) if self._system is None else (Message("system", render_prompt(self._system, filled)), user)

    def _repair_messages(
        self, values: Mapping[str, Any], faulty: Sequence[int], reply: str, said: Mapping[int, SaidPart]
    ) -> tuple[Message, ...]:
        first = self._messages(values, faulty)
        if self._repair is None or not reply:
            return first
        faults = [{"n": number, "fault": said[number].fault} for number in faulty]
        told = render_prompt(self._repair, {**values, "numbers": list(faulty), "faults": faults})
        return (*first, Message("assistant", reply), Message("user", told))


def is_right_last(case: Case) -> bool:
    """Whether the right statement is shown as B; drawn by the item."""
    drawn = hashlib.blake2b("\0".join((case.question, case.right, case.wrong)).encode(), digest_size=1).digest()
    return drawn[0] % 2 == 1


def _verified(clause: AnswerClause, said: SaidPart, *, is_swapped: bool) -> VerifiedPart:
    right, wrong = (said.b, said.a) if is_swapped else (said.a, said.b)
    return VerifiedPart(clause, said.kind, said.verdict, right, wrong, said.quote, None, said.taken_back_by, said.fault)


def _example(numbers: Sequence[int], case: Case) -> str:
    """A typical reply, for quotes of cost."""
    quote = case.evidence[0][:24] if case.evidence else ""
    part = {
        "kind": "claim",
        "verdict": "supported",
        "paragraph": 1,
        "quote": quote,
        "a": "none",
        "b": "none",
        "taken_back_by": None,
    }
    return json.dumps({"parts": [{"n": number, **part} for number in numbers]}, ensure_ascii=False)


_FENCE = re.compile(r"\A```[A-Za-z]*[ \t]*\n(.*)\n```\Z", re.DOTALL)
_KINDS, _VERDICTS, _STANCES = get_args(PartKind), get_args(ClaimVerdict)[:3], get_args(Stance)
_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "n": {"type": "integer"},
    "kind": {"enum": list(_KINDS)},
    "verdict": {"enum": list(_VERDICTS)},
    "paragraph": {"type": ["integer", "null"]},
    "quote": {"type": "string"},
    "a": {"enum": list(_STANCES)},
    "b": {"enum": list(_STANCES)},
    "taken_back_by": {"type": ["integer", "null"]},
}
_PART = {"type": "object", "properties": _FIELDS, "required": list(_FIELDS), "additionalProperties": False}
PARTS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"parts": {"type": "array", "items": _PART}},
    "required": ["parts"],
    "additionalProperties": False,
}
"""The form of a reply: one object with a part for each number; services that keep to a schema want every field."""


@dataclass(frozen=True, slots=True)
class SaidPart:
    """What a model says of one part; `fault` is why it does not hold, empty if it does."""

    kind: PartKind = "claim"
    verdict: ClaimVerdict = ""
    quote: tuple[int, int, int] | None = None
    a: Stance = "none"
    b: Stance = "none"
    taken_back_by: int | None = None
    fault: str = ""


def read_parts(text: str, wanted: Collection[int], last: int, case: Case) -> dict[int, SaidPart] | None:
    """The parts of a reply that is one object, by number; ``None`` for any other reply.

    A longer text is not searched, because a model may repeat an answer that holds such an object. A number that is
    missing, or occurs twice, has the fault ``part_missing``. `last` is the number of the answer's last part.
    """
    body = text.strip()
    if (fenced := _FENCE.match(body)) is not None:
        body = fenced[1].strip()
    try:
        data: Any = parse_json(body, object_pairs_hook=unique_object)
    except ValueError:
        return None
    lines: Any = data.get("parts") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(lines, list):
        return None
    by_number: dict[int, list[Mapping[str, Any]]] = {number: [] for number in wanted}
    for line in lines:  # pyright: ignore[reportUnknownVariableType]
        number: Any = line.get("n") if isinstance(line, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(number, int) and number in by_number:
            by_number[number].append(line)  # pyright: ignore[reportUnknownArgumentType]
    return {number: _part(found, number, last, case) for number, found in by_number.items()}


def _part(found: Sequence[Mapping[str, Any]], number: int, last: int, case: Case) -> SaidPart:
    if len(found) != 1:
        return SaidPart(fault="part_missing")
    (line,) = found
    kind, verdict, a, b = cast("tuple[Any, ...]", tuple(line.get(name) for name in ("kind", "verdict", "a", "b")))
    if kind not in _KINDS:
        return SaidPart(fault="part_malformed")
    if kind != "claim":
        return SaidPart(kind)
    if verdict not in _VERDICTS or a not in _STANCES or b not in _STANCES:
        return SaidPart(fault="part_malformed")
    by: Any = line.get("taken_back_by")
    taken_back_by = by if isinstance(by, int) and not isinstance(by, bool) and number < by <= last else None
    if verdict == "not_addressed":
        return SaidPart(kind, verdict, None, a, b, taken_back_by)
    place: Any = line.get("paragraph")
    span = _quoted(line.get("quote"), place, case)
    if span is None:
        return SaidPart(kind, "not_addressed", None, a, b, taken_back_by, "quote_not_found")
    return SaidPart(kind, verdict, (place - 1, span.start, span.end), a, b, taken_back_by)


def _quoted(quote: Any, place: Any, case: Case) -> Span | None:
    """Where a paragraph, counted from 1, says the quote."""
    if not isinstance(quote, str) or not isinstance(place, int) or not 1 <= place <= len(case.evidence):
        return None
    return find_quote(quote, case.evidence[place - 1])
