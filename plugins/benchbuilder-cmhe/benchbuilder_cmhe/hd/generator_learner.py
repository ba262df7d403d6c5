"""A causal language model with low-rank adapters that learns to write the answer to a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from benchbuilder.evaluation import (
    AdapterSpec,
    BaseModelSource,
    Case,
    ComputePlace,
    Learner,
    LearningSpec,
    TokenRow,
    TruncatingTokenizer,
    explain_load_errors,
    padded_matrix,
    require_usable_decoder,
    token_limit,
    torch_and_transformers,
    with_new_adapter,
)
from benchbuilder.models import ChatWrapping, Message, apply_chat_template, wrap_messages

_ANSWER = 1
"""Marks the tokens of an answer, which are learned; those of the question are only read."""


class GeneratorSpec(LearningSpec, AdapterSpec):
    """The model to start from, its adapters and their training; `wrapping` as of the model kind `transformers`."""

    wrapping: ChatWrapping | None


class AnswerLearner(Learner):
    """The loss of a row is the mean over the tokens of its answer and of its end, nothing of the question."""

    def __init__(self, base: BaseModelSource, place: ComputePlace, spec: GeneratorSpec) -> None:
        """Load the model; ServiceError if it cannot be had."""
        self.place, self._spec = place, spec
        _, transformers = torch_and_transformers()
        with explain_load_errors(f"the model {base.label} cannot be loaded", base.place, base.load_advice):
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(base.place, **base.arguments())
            inner, info = transformers.AutoModelForCausalLM.from_pretrained(
                base.place, dtype=place.dtype, use_safetensors=True, output_loading_info=True, **base.arguments()
            )
        require_usable_decoder(base, self._tokenizer, info, chat=spec.wrapping is None)
        self._words = TruncatingTokenizer(self._tokenizer, base.label)
        self._end = int(self._tokenizer.eos_token_id)
        context: int | None = getattr(inner.config.get_text_config(), "max_position_embeddings", None)
        self.max_length = token_limit(base, context, spec.max_length)
        self.model = with_new_adapter(inner.to(place.device), spec, base)

    def row(self, case: Case) -> TokenRow:
        """The tokens of the question, as a request puts it, and of the answer with its end."""
        case = self._words.without_special_tokens(case)
        said = (Message("user", case.question),)
        if self._spec.wrapping is not None:
            prompt = self._words.ids(wrap_messages(self._spec.wrapping, said), special=True)
        else:
            prompt = self._words.ids(apply_chat_template(self._tokenizer, said, {}))
        answer = [*self._words.ids(case.answer)[: self.max_length // 2], self._end]
        room = self.max_length - len(answer)
        cut = prompt[-room:]
        types = [0] * len(cut) + [_ANSWER] * len(answer)
        return TokenRow((*cut, *answer), tuple(types), "question" if len(cut) < len(prompt) else "")

    def training_target(self, target: float, chance: Random) -> float:  # noqa: ARG002
        """Nothing but the answer is learned."""
        return target

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

    def save(self, folder: Path) -> None:
        """Write the adapters."""
        self.model.save_pretrained(folder, save_embedding_layers=False)
