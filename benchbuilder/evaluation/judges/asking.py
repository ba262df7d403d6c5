"""The base of judges that ask a chat model: fills prompts, reads scores, and repeats failed requests."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import Field, model_validator

from benchbuilder.config import FileRef, GuidingQuestion, PromptRef, Sampling
from benchbuilder.core import (
    Dropped,
    Problem,
    RecipeError,
    parse_plain_yaml,
    read_given_text,
    strip_reasoning,
    truncate_code_points,
)
from benchbuilder.evaluation.judges.base import AskingJudge, Case, JudgeSpec
from benchbuilder.evaluation.parsing.score_replies import (
    UnreadableScore,
    neutralise_tags,
    read_score_number,
    read_score_object,
    tag_names,
)
from benchbuilder.models import Message, Prompt, Reply, Request, read_prompt, render_prompt
from benchbuilder.steps import ReplyFault, model_identity

_OUTCOMES = {name: f"reply_{name}" for name in ("truncated", "empty", "refused", "filtered")} | {
    "thought_out": "reply_truncated"
}
_FINAL = ("reply_refused", "reply_filtered")


class ChatJudgeSpec(JudgeSpec):
    """How a model is asked for a score."""

    prompt: PromptRef
    """The prompt; see the variables of the kind."""
    system: PromptRef | None = None
    repair: PromptRef | None = None
    """The prompt after a reply without a score; ``null`` repeats the first prompt."""
    repair_rounds: Annotated[int, Field(ge=0, le=5)] = 0
    """Additional attempts before a case gets no score."""
    rubric: FileRef | None = None
    """A file of guiding questions, which defines the aspect and its bands."""
    reply: Literal["json", "number"]
    """Whether the model replies with a JSON object or with the bare number."""
    reason: bool = False
    """Whether the JSON object has a sentence of explanation after the score. Only the journal keeps it."""
    labels: tuple[str, ...] = ()
    """Parts of the prompt that a model may repeat before its number; they are removed."""
    units: tuple[str, ...] = ()
    """Texts that a model may write after its number; they are removed."""
    max_evidence_chars: Annotated[int, Field(ge=0, le=60_000)]
    """Maximum characters of all paragraphs together; the rest is cut. Question and answer are never cut."""
    sampling: Sampling = Sampling(temperature=0.0)

    @model_validator(mode="after")
    def _labels_for_numbers(self) -> ChatJudgeSpec:
        if self.reply == "json" and (self.labels or self.units):
            raise ValueError("labels and units are for reply: number; a JSON object has neither")
        if self.reply == "number" and self.reason:
            raise ValueError("reason: a bare number has no room for one; use reply: json")
        return self


class ChatJudge(AskingJudge):
    """Asks a model for the score of a case, and again if the reply has none.

    The prompt puts tags around question, answer and paragraphs; text that looks like such a tag is neutralised. A score
    is read only from a reply that is nothing but a score, because in a longer text the model may repeat the answer.
    """

    prompt_variables: ClassVar[Mapping[str, str]] = {
        "question": "the question with its context",
        "answer": "the answer that is scored",
        "evidence": "the paragraphs (a list, empty where there are none or the judge is given none)",
        "aspect": "the name of the aspect",
        "criterion": "what people are asked about an answer in this aspect (empty without a rubric)",
        "bands": "what scores mean, from the highest: each with low, high and text (empty without a rubric)",
        "form": "how the model is to answer: json or number",
        "reason": "whether a sentence of explanation is wanted behind the score",
    }
    reasons: ClassVar[Mapping[str, str]] = {
        "needs_model": "No model is set for the judge, or none has been trained yet.",
        "too_long": "Question or answer is too long for a prompt.",
        "reply_truncated": "The judge's reply reached the limit of new tokens.",
        "reply_empty": "The judge's reply is empty.",
        "reply_refused": "The judge refused to answer.",
        "reply_filtered": "The service's content filter withheld prompt or reply of the judge.",
        "reply_unfinished": "The judge's reply ends in the middle of its reasoning.",
        "reply_malformed": "The judge's reply is not a score alone.",
        "score_out_of_range": "The judge's score does not lie between 0 and 1.",
    }

    longest: ClassVar[int] = 60_000
    """Maximum characters of a question or an answer."""
    spec: ChatJudgeSpec
    _prompt: Prompt | None = None
    _system: Prompt | None = None
    _repair: Prompt | None = None

    def fingerprint(self) -> Mapping[str, str]:
        """The identity of the model itself, where the spec does not hold it."""
        return {} if self.model_spec is None else model_identity(self.model_spec)

    def open(self, folder: Path | None) -> None:  # noqa: ARG002
        """Read prompts and rubric."""
        spec = self.spec
        self._prompt, self._system, self._repair = (
            None if ref is None else read_prompt(ref.path, ref.file) for ref in (spec.prompt, spec.system, spec.repair)
        )
        prompts = (self._prompt, self._system)
        self._tags = sorted({name for prompt in prompts if prompt is not None for name in tag_names(prompt.source)})
        self._criterion, self._bands = ("", []) if spec.rubric is None else read_rubric(spec.rubric, spec.aspect)

    @property
    def words(self) -> Mapping[str, float]:
        """Words that stand for scores in its replies."""
        return {}

    @property
    def tags(self) -> Sequence[str]:
        """The names of the tags of its prompts, which are neutralised in texts."""
        return self._tags

    @property
    def repair_prompt(self) -> Prompt | None:
        """The prompt after a reply without a score."""
        return self._repair

    def prompt_values(self, case: Case) -> dict[str, Any]:
        """The values of the prompts' variables (see `prompt_variables`), as plain data."""
        spec = self.spec
        return {
            "question": neutralise_tags(case.question, self._tags),
            "answer": neutralise_tags(case.answer, self._tags),
            "evidence": [neutralise_tags(text, self._tags) for text in self.paragraphs(case)],
            "aspect": spec.aspect,
            "criterion": self._criterion,
            "bands": self._bands,
            "form": spec.reply,
            "reason": spec.reason,
        }

    def paragraphs(self, case: Case) -> list[str]:
        """The paragraphs for the judge, cut at the end to the maximum length."""
        remaining = self.spec.max_evidence_chars if self.spec.evidence else 0
        paragraphs: list[str] = []
        for text in case.evidence:
            if remaining <= 0:
                break
            paragraphs.append(truncate_code_points(text, remaining))
            remaining -= len(text)
        return paragraphs

    def messages(self, case: Case) -> tuple[Message, ...]:
        """The messages of the first request, the same in training and scoring."""
        return self._opening(self.prompt_values(case))

    def _opening(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        if self._prompt is None:
            raise TypeError(f"the judge {self.kind!r} was not opened")
        user = Message("user", render_prompt(self._prompt, values))
        return (user,) if self._system is None else (Message("system", render_prompt(self._system, values)), user)

    def is_too_long(self, case: Case) -> bool:
        """Whether question or answer is too long for a prompt; they are never cut."""
        return max(len(case.question), len(case.answer)) > self.longest

    def schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of a reply, the score first; ``None`` for the bare number."""
        if self.spec.reply != "json":
            return None
        fields: dict[str, Any] = {"score": {"type": "number", "minimum": 0, "maximum": 1}}
        if self.spec.reason:
            fields["reason"] = {"type": "string"}
        return {"type": "object", "properties": fields, "required": list(fields)}

    def example_reply(self) -> str:
        """A typical reply, for cost quotes."""
        if self.spec.reply != "json":
            return "0.75"
        return json.dumps({"score": 0.75, "reason": "-" * 60} if self.spec.reason else {"score": 0.75})

    def converse(self, case: Case) -> Generator[Request, Reply, float | Dropped]:
        """The score of one reply."""
        return (yield from self.ask(case, 0))

    def ask(self, case: Case, first: int) -> Generator[Request, Reply, float | Dropped]:
        """Ask for a score, and again as often as the spec allows.

        `first` is the number of the first sample. At temperature 0, an identical request is not repeated.
        """
        if self.model_spec is None:
            return Dropped("needs_model")
        if self.is_too_long(case):
            return Dropped("too_long", f"{len(case.question)} and {len(case.answer)} characters")
        spec = self.spec
        values = self.prompt_values(case)
        messages = opening = self._opening(values)
        fault, reply_text = ReplyFault("reply_empty"), ""
        requested: set[tuple[Message, ...]] = set()
        for sample in range(first, first + spec.repair_rounds + 1):
            requested.add(messages)
            reply = yield Request(
                messages, spec.sampling.explicit_settings(), self.schema(), sample, self.example_reply()
            )
            read = self._read(reply)
            reply_text = strip_reasoning(reply.text) or ""
            if not isinstance(read, ReplyFault):
                return read
            fault = read
            if reply.assumed or fault.reason in _FINAL:
                break
            messages = self._repair_messages(opening, reply_text, fault, values)
            if messages in requested and reply_text and spec.sampling.temperature == 0:
                break
        return Dropped(
            fault.reason, " | ".join(part for part in (fault.detail, truncate_code_points(reply_text, 500)) if part)
        )

    def _repair_messages(
        self, opening: tuple[Message, ...], reply_text: str, fault: ReplyFault, values: Mapping[str, Any]
    ) -> tuple[Message, ...]:
        """The messages of a repair round: the first ones, the last reply, and what was wrong with it."""
        if self._repair is None or not reply_text:
            return opening
        repair_values = {**values, "fault": fault.reason, "detail": fault.detail, "reply": reply_text}
        return (*opening, Message("assistant", reply_text), Message("user", render_prompt(self._repair, repair_values)))

    def _read(self, reply: Reply) -> float | ReplyFault:
        """The score of a reply, or why it has none."""
        if reply.outcome in _OUTCOMES:
            return ReplyFault(_OUTCOMES[reply.outcome])
        text = strip_reasoning(reply.text)
        if text is None:
            return ReplyFault("reply_unfinished")
        spec = self.spec
        if spec.reply == "json":
            read = read_score_object(text)
        else:
            read = read_score_number(text, spec.labels, spec.units, self.words)
        if isinstance(read, UnreadableScore):
            return ReplyFault("score_out_of_range" if read.why == "out_of_range" else "reply_malformed", read.detail)
        return read


def read_rubric(ref: FileRef, aspect: str) -> tuple[str, list[dict[str, str]]]:
    """The guiding question of `aspect` and its bands, highest first, in a rubric file; RecipeError if it has none."""
    try:
        data: Any = parse_plain_yaml(read_given_text(ref.file))
        questions: dict[str, Any] = data["questions"]
        node = questions[aspect]
        question = GuidingQuestion.model_validate(node)
    except (OSError, ValueError, yaml.YAMLError, LookupError, TypeError) as error:  # a ValidationError is a ValueError
        why = f"it has nothing under questions.{aspect}" if isinstance(error, LookupError | TypeError) else str(error)
        raise RecipeError([Problem("the rubric cannot be used", "rubric", ref.path, " ".join(why.split())[:300],
                                   f"a file with questions.{aspect}, as for experts")]) from error  # fmt: skip
    bands = [{"low": f"{band.low:g}", "high": f"{band.high:g}", "text": band.text} for band in question.anchors()]
    return question.text, bands
