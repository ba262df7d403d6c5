"""Gives questions a wrong answer: from their source, by a changed number, from other rows, or by a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.config import KindSpec, StepSpec
from benchbuilder.core import (
    DataError,
    Dropped,
    Fact,
    Kept,
    Outcome,
    Passage,
    QuestionAnswer,
    Row,
    Table,
    matches_whole,
    read_sealed_json,
    seal_json,
    strip_reasoning,
    strip_reply_framing,
    truncate_text,
    write_atomically,
)
from benchbuilder.models import Conversation, Message, Prompt, Reply, Request, read_prompt, render_prompt
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.claim_replies import plain_reply
from benchbuilder.steps.language.odd_texts import has_markup, odd_characters
from benchbuilder.steps.model_settings import ModelMap
from benchbuilder.steps.writer import MODEL_REASONS
from benchbuilder.steps.wrong.allotment import Allotment, GoldTexts, WrongAnswer
from benchbuilder.steps.wrong.known import KnownAnswers
from benchbuilder.steps.wrong.spec import WrongAnswersSpec

_FACT = Fact[QuestionAnswer]
_FAULTS = {name: f"reply_{name}" for name in ("truncated", "empty", "refused", "filtered")} | {
    "thought_out": "reply_truncated"
}
_LONGEST_DETAIL = 120


class WrongAnswers(ModelMap):
    """The same question with a wrong answer, and where it comes from.

    A wrong answer is one that the source lists, the right one with a number changed, the answer to another question of
    the port `pool`, or a model's: the first in `order` that yields one. It is no known answer (port `known`) to the
    question or one like it, and does not stand in its evidence (`gold`, in the port `passages`). A listed one may be
    like a right answer, but not say it.
    """

    kind: ClassVar[str] = "wrong_answers"
    version: ClassVar[int] = 4
    spec_class: ClassVar[type[StepSpec]] = WrongAnswersSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(_FACT),
        "pool": Port(_FACT, mode="lookup"),
        "known": Port(_FACT, mode="lookup"),
        "passages": Port(Passage, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "answer_too_long": "The right answer is longer than rules look for wrong ones.",
        "answer_is_list": "The right answer has several parts.",
        "vague_number": "The number of the answer is no exact value, or none may be changed, and rows lend no numbers.",
        "no_type": "No pattern says what the question asks for, or it asks for reasons and ways.",
        "none_left": "No other question of the same type has an answer of the same shape that is still free.",
        "in_gold": "The wrong answer stands in the evidence of the question.",
        "in_question": "The wrong answer stands in the question.",
        "known_answer": "The wrong answer is known to be right, or is too much like an answer that is.",
        "listed_is_right": "One of the listed wrong answers says a right answer; the others are used.",
        "question_too_alike": "The question with the wrong answer is too much like this one.",
        "all_called_right": "The model called each of its own wrong answers right.",
        "none_fits": "No answer that the model wrote is of the shape and length of the right one and free of bars.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "the text before the question (may be empty)",
        "question": "the question",
        "answer": "in `prompt`: the right answer",
        "count": "in `prompt`: how many wrong answers to write",
        "proposal": "in `check`: the proposed answer",
    }

    spec: WrongAnswersSpec

    @property
    def model_spec(self) -> KindSpec | None:
        """The step's model; ``None`` if it answers nothing or is not in the order."""
        return super().model_spec if "model" in self.spec.order else None

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:
        """Find the wrong answers of all questions by rule, once for all workers."""
        path = self._file(lookups)
        if _read(path) is None:
            rows = {fact.id: fact for fact in (*lookups["pool"], *lookups["known"])}
            gold = GoldTexts(lookups.get("passages"), rows.values())
            given = Allotment(self.spec, self.context.seed, self._known_answers(lookups), gold).allot(
                lookups["pool"], lookups["pool"]
            )
            lines = {
                name: [found.source, *found.texts]
                if isinstance(found, WrongAnswer)
                else ["", found.reason, found.detail]
                for name, found in given.items()
            }
            write_atomically(path, seal_json({"given": lines}), sync=False)
        return (path,)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read what rules found, and the prompts."""
        [path] = self.prepare(lookups)
        self._given = _read(path) or {}
        if self.model_spec is not None:
            spec = self.spec
            self._prompt, self._check, self._system = (
                None if ref is None else read_prompt(ref.path, ref.file)
                for ref in (spec.prompt, spec.check, spec.system)
            )
            self._allotment = Allotment(
                spec, self.context.seed, self._known_answers(lookups),
                GoldTexts(lookups.get("passages"), lookups["pool"]),
            )  # fmt: skip

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:  # noqa: ARG002
        """One branch per question."""
        fact: Fact[QuestionAnswer] = row
        if fact.id not in self._given:
            raise DataError(f"the question {fact.id} is not in the port `pool`", where=self.context.step,
                            next="wire the step of `each` to `pool` as well")  # fmt: skip
        source, *found = self._given[fact.id]
        model_first = not source or self._rank("model") < self._rank(source)
        if self.model_spec is not None and model_first:
            written = yield from self._ask(fact)
            if isinstance(written, Kept) or not source:
                return [written]
        if not source:
            return [Dropped(found[0], truncate_text(found[1], _LONGEST_DETAIL))]
        listed = fact.payload.wrong if source == (fact.payload.wrong_from or "listed") else ()
        left_out = (truncate_text(text, _LONGEST_DETAIL) for text in listed if text not in found)
        return [self._kept(fact, found, source), *(Dropped("listed_is_right", text) for text in left_out)]

    def _rank(self, source: str) -> int:
        order = self.spec.order
        return order.index(source) if source in order else -1

    def _known_answers(self, lookups: Mapping[str, Table[Any]]) -> KnownAnswers:
        rows = self.spec.rows
        payloads = (fact.payload for fact in lookups["known"])
        return KnownAnswers(payloads, rows.max_question_similarity, rows.max_answer_similarity)

    def _kept(self, fact: Fact[QuestionAnswer], wrong: Sequence[str], source: str) -> Kept:
        payload = fact.payload.model_copy(update={"wrong": tuple(wrong), "wrong_from": source})
        return Kept(_FACT.child(fact, produced_by=self.produced_by(source), payload=payload))

    def _file(self, lookups: Mapping[str, Table[Any]]) -> Path:
        """The file of what rules find in these tables by this spec and seed."""
        spec = self.spec.model_dump(
            mode="json", include={"order", "longest", "lists", "number", "number_types", "rows"}
        )
        made_of = [self.version, self.context.seed, spec, *(table.ids() for table in lookups.values())]
        digest = hashlib.blake2b(json.dumps(made_of, sort_keys=True).encode(), digest_size=16).hexdigest()
        return self.context.cache / "wrong_answers" / f"{digest}.json"

    # --- the model

    def _ask(self, fact: Fact[QuestionAnswer]) -> Generator[Request, Reply, Outcome]:
        """Ask for wrong answers, then about each that fits, until one is not called right."""
        payload, spec = fact.payload, self.spec
        values = {"context": payload.context, "question": payload.question}
        asked = self._messages(self._prompt, {**values, "answer": payload.answers[0], "count": spec.ask})
        expected = "\n".join([payload.answers[0]] * spec.ask)
        reply = yield Request(asked, spec.sampling.explicit_settings(), None, 0, expected)
        lines = [payload.answers[0]] if reply.assumed else _proposals(reply)
        if isinstance(lines, Dropped):
            return lines
        fitting = lines if reply.assumed else [line for line in lines if self._allotment.fits(fact, line)]
        for proposal in fitting[: spec.ask]:
            messages = self._messages(self._check, {**values, "proposal": proposal})
            reply = yield Request(messages, spec.sampling.explicit_settings(), None, 0, spec.denial)
            said = next((line.strip() for line in plain_reply(reply).splitlines() if line.strip()), "")
            if any(matches_whole(pattern, said) for pattern in spec.denies):
                return self._kept(fact, [proposal], "model")
        written = truncate_text(" | ".join(lines), _LONGEST_DETAIL)
        return Dropped("all_called_right" if fitting else "none_fits", written)

    def _messages(self, prompt: Prompt | None, values: Mapping[str, Any]) -> tuple[Message, ...]:
        if prompt is None:
            raise TypeError(f"step {self.context.step!r} has no prompt")
        user = Message("user", render_prompt(prompt, values))
        if self._system is None:
            return (user,)
        return (Message("system", render_prompt(self._system, values)), user)


def _proposals(reply: Reply) -> list[str] | Dropped:
    """The lines of a reply, each once, without bullets and numbers; or why there are none."""
    if reply.outcome in _FAULTS:
        return Dropped(_FAULTS[reply.outcome])
    text = strip_reasoning(reply.text)
    if text is None:
        return Dropped("reply_unfinished")
    lines = (strip_reply_framing(line, (), ()).strip() for line in strip_reply_framing(text, (), ()).splitlines())
    usable = [line for line in dict.fromkeys(lines) if line and not has_markup(line) and not odd_characters(line)]
    return usable or Dropped("reply_empty")


def _read(path: Path) -> dict[str, list[str]] | None:
    """What rules found, from its file; ``None`` if the file is missing or damaged."""
    try:
        given: dict[str, list[str]] = read_sealed_json(path)["given"]
    except (OSError, ValueError, KeyError):
        return None
    return given
