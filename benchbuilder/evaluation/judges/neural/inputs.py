"""Cases as tokens. If a case is too long, paragraphs are cut first and the answer last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from benchbuilder.core import DataError, ServiceError
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.models import Prompt, render_prompt

Truncation = Literal["", "evidence", "question", "answer"]
GAP = "…"
"""Replaces the middle of an answer."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A case as tokens. `types` tell the two texts of a pair apart, for models that use them.

    `truncation` is the last part that was cut. The question is cut only when no paragraph is left, and the answer only
    when nothing of the question is left.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...] = ()
    truncation: Truncation = ""


class TruncatingTokenizer:
    """A tokenizer that can shorten texts by tokens; `label` names its model in errors.

    Raises:
        ServiceError: If it does not say where in a text its tokens are.
    """

    def __init__(self, tokenizer: Any, label: str) -> None:
        self.tokenizer = tokenizer
        if not tokenizer.is_fast:
            raise ServiceError(
                f"the tokenizer of {label} does not say where in a text its tokens are",
                next="use a model with a tokenizer.json",
            )
        tokenizer.truncation_side = tokenizer.padding_side = "right"
        added: Mapping[int, Any] = tokenizer.added_tokens_decoder
        self._special = sorted({str(token) for token in added.values() if token.special}, key=len, reverse=True)

    def without_special_tokens(self, case: Case) -> Case:
        """The case without texts that the tokenizer would read as special tokens. An answer may contain some."""
        question, answer, *evidence = map(self._without_special, (case.question, case.answer, *case.evidence))
        return replace(case, question=question, answer=answer, evidence=tuple(evidence))

    def ids(self, text: str, *, special: bool = False) -> list[int]:
        """The tokens of a text; if `special`, with the special tokens that the tokenizer puts around it."""
        return list(self.tokenizer(text, add_special_tokens=special)["input_ids"])

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.ids(text)) if text else 0

    def start(self, text: str, room: int) -> str:
        """The beginning of a text, of at most `room` tokens."""
        return self._shortened(text, room, lambda spans, keep: text[: spans[keep - 1][1]])

    def end(self, text: str, room: int) -> str:
        """The end of a text, of at most `room` tokens."""
        return self._shortened(text, room, lambda spans, keep: text[spans[-keep][0] :])

    def both_ends(self, text: str, room: int) -> str:
        """The text if it has at most `room` tokens; else beginning and end, about half each, with a gap between."""

        def ends(spans: Sequence[tuple[int, int]], keep: int) -> str:
            head, tail = (keep + 1) // 2, keep // 2
            return text[: spans[head - 1][1]] + GAP + (text[spans[-tail][0] :] if tail else "")

        return self._shortened(text, room, ends)

    def _shortened(self, text: str, room: int, part: Callable[[Sequence[tuple[int, int]], int], str]) -> str:
        """`text` if it has at most `room` tokens; else the longest `part` that does."""
        spans: list[tuple[int, int]] = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
        if len(spans) <= room:
            return text
        keep = room
        while keep > 0:  # alone, a part may have more tokens than within the text
            shorter = part(spans, keep)
            if (over := self.count(shorter) - room) <= 0:
                return shorter
            keep -= over
        return ""

    def _without_special(self, text: str) -> str:
        for token in self._special:
            text = text.replace(token, " ")
        return text


class PairInputs:
    """Cases for an encoder: question and paragraphs as the first text of a pair, the answer as the second.

    If a pair has more than `limit` tokens, paragraphs are cut from their end (the best ones come first), then the
    question from its beginning. The answer is complete unless it alone has more tokens. Then it is alone, and its
    beginning and its end take half of the room each.

    Raises:
        DataError: If `limit` leaves no room for an answer.
    """

    def __init__(self, words: TruncatingTokenizer, limit: int) -> None:
        self._words, self._limit = words, limit
        around = [int(words.tokenizer.num_special_tokens_to_add(pair=pair)) for pair in (True, False)]
        self._room = limit - max(around)  # the tokenizer treats a pair with an empty text as one text
        self._between = str(words.tokenizer.sep_token or "\n")
        if self._room < 1:
            raise DataError(f"max_length is {limit}, which leaves no room for an answer", next="set a higher one")

    def row(self, case: Case) -> TokenRow:
        """The tokens of a case, at most `limit`; ServiceError if the tokenizer makes more."""
        words, case = self._words, self._words.without_special_tokens(case)
        truncation: Truncation = ""
        answer = words.both_ends(case.answer, self._room)
        room = self._room - words.count(answer)
        question = words.end(case.question, room)
        first = self._between.join(filter(None, [question, "\n".join(case.evidence)]))
        if answer != case.answer:
            truncation = "answer"
        elif question != case.question:
            truncation = "question"
        elif words.count(first) > room:
            truncation = "evidence"
        if truncation in ("answer", "question"):
            first = question
        encoded = words.tokenizer(words.start(first, room), answer)
        ids, types = encoded["input_ids"], encoded.get("token_type_ids") or ()
        if len(ids) > self._limit:
            raise ServiceError(
                f"the tokenizer makes {len(ids)} tokens of a pair, but {self._limit} fit",
                next="set max_length a little lower than the model's limit",
            )
        return TokenRow(tuple(ids), tuple(types), truncation)


VARIABLES: Mapping[str, str] = {
    "aspect": "The aspect to score, as the recipe names it.",
    "type": "The item's type, if it has one.",
    "question": "The question, after its context.",
    "evidence": "The paragraphs, a list; empty if there are none.",
    "answer": "The answer to score.",
}
"""The variables of a decoder's prompt, each with a sentence."""


class PromptInputs:
    """Cases for a decoder: a filled-in prompt, which the score follows.

    If a prompt has more than `limit` tokens, paragraphs are cut from their end, then the question from its beginning.
    Only if that is not enough, the middle of the answer is left out. With `chat`, the prompt is a user's message in
    the chat template.
    """

    def __init__(self, words: TruncatingTokenizer, prompt: Prompt, aspect: str, limit: int, *, chat: bool) -> None:
        self._words, self._prompt, self._aspect, self._limit, self._chat = words, prompt, aspect, limit, chat
        tokenizer = words.tokenizer
        begin: int | None = tokenizer.bos_token_id
        self._begin = [begin] if begin is not None and words.ids("0", special=True)[:1] == [begin] else []

    def row(self, case: Case) -> TokenRow:
        """The tokens of a prompt, at most `limit`; DataError if the prompt file alone has more."""
        words = self._words
        case = words.without_special_tokens(case)
        values: dict[str, Any] = {
            "aspect": self._aspect, "type": case.type, "question": case.question, "evidence": list(case.evidence),
            "answer": case.answer,
        }  # fmt: skip
        truncation: Truncation = ""
        ids = self._ids(values)
        shorten: tuple[tuple[Truncation, Callable[[int], Any], int], ...] = (
            ("evidence", lambda room: self._paragraphs(case.evidence, room), sum(map(words.count, case.evidence))),
            ("question", lambda room: words.end(case.question, room), words.count(case.question)),
            ("answer", lambda room: words.both_ends(case.answer, room), words.count(case.answer)),
        ) if len(ids) > self._limit else ()  # fmt: skip
        for part, less, size in shorten:
            keep = size
            while keep > 0 and (over := len(ids) - self._limit) > 0:
                keep, truncation = max(0, keep - over), part
                values[part] = less(keep)
                ids = self._ids(values)
        if len(ids) > self._limit:
            raise DataError(
                f"the prompt {self._prompt.name} has more than {self._limit} tokens without question and answer",
                where=str(self._prompt.file),
                next="set a higher max_length or shorten the prompt",
            )
        return TokenRow(tuple(ids), (), truncation)

    def _paragraphs(self, evidence: Sequence[str], room: int) -> list[str]:
        """The first paragraphs, of `room` tokens together. The last one may be cut."""
        kept: list[str] = []
        for paragraph in evidence:
            part = self._words.start(paragraph, room)
            room -= self._words.count(part)
            kept += [part] if part else []
            if part != paragraph:
                break
        return kept

    def _ids(self, values: Mapping[str, Any]) -> list[int]:
        text = render_prompt(self._prompt, values)
        if not self._chat:
            return [*self._begin, *self._words.ids(text)]
        messages = [{"role": "user", "content": text}]
        chat = self._words.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return self._words.ids(str(chat))
