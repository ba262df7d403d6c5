"""A causal language model with low-rank adapters that learns to write the answer to a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from benchbuilder.evaluation import (
    AdapterLearner,
    AdapterSpec,
    BaseModelSource,
    Case,
    ComputePlace,
    LearningSpec,
    TokenRow,
    padded_matrix,
)
from benchbuilder.models import ChatWrapping, Message, apply_chat_template, wrap_messages

_ANSWER = 1
"""Marks the tokens of an answer, which are learned; those of the question are only read."""


class GeneratorSpec(LearningSpec, AdapterSpec):
    """The model to start from, its adapters and their training; `wrapping` as of the model kind `transformers`."""

    wrapping: ChatWrapping | None


class AnswerLearner(AdapterLearner):
    """A model that learns answers. The loss of a row is the mean over the tokens of its answer and of its end."""

    def __init__(self, base: BaseModelSource, place: ComputePlace, spec: GeneratorSpec) -> None:
        """Load the model; ServiceError if it cannot be loaded."""
        super().__init__(base, place, spec, spec.max_length, chat=spec.wrapping is None)
        self._spec = spec

    def row(self, case: Case) -> TokenRow:
        """The tokens of the question, as a request puts it, and of the answer with its end."""
        case = self._words.without_special_tokens(case)
        said = (Message("user", case.question),)
        if self._spec.wrapping is not None:
            prompt = self._words.ids(wrap_messages(self._spec.wrapping, said), special=True)
        else:
            prompt = self._words.ids(apply_chat_template(self._words.tokenizer, said, {}))
        answer = [*self._words.ids(case.answer)[: self.max_length // 2], self._end]
        room = self.max_length - len(answer)
        cut = prompt[-room:]
        types = [0] * len(cut) + [_ANSWER] * len(answer)
        return TokenRow((*cut, *answer), tuple(types), "question" if len(cut) < len(prompt) else "")

    def losses(self, model: Any, rows: Sequence[TokenRow], goals: Sequence[float]) -> Any:  # noqa: ARG002
        """The loss of each row; rows are filled up behind their end, where a causal model does not look."""
        torch, device = self.place.torch, self.place.device
        width = max(len(row.ids) for row in rows)
        ids = padded_matrix(torch, [row.ids for row in rows], self._end, width, device)
        counts = padded_matrix(torch, [row.types for row in rows], 0, width, device)[:, 1:]
        with self.place.mixed_precision():
            logits = model(input_ids=ids, use_cache=False).logits[:, :-1].float()
        logs = torch.log_softmax(logits, dim=-1).gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
        return -(logs * counts).sum(dim=1) / counts.sum(dim=1)

    def values(self, rows: Sequence[TokenRow], width: int) -> list[float]:  # noqa: ARG002
        """The mean probability (geometric) of a token of the answer."""
        return [math.exp(-loss) for loss in self.losses(self.model, rows, [1.0] * len(rows)).tolist()]
