"""The judge kind `encoder`: an encoder that reads question, paragraphs and answer, with a regression head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.core import ServiceError
from benchbuilder.evaluation.judges.base import Case, JudgeSpec
from benchbuilder.evaluation.judges.neural.base_model import BaseModelSource
from benchbuilder.evaluation.judges.neural.inputs import PairInputs, TokenRow, TruncatingTokenizer
from benchbuilder.evaluation.judges.neural.judge import NeuralJudge
from benchbuilder.evaluation.judges.neural.learner import Learner, padded_matrix
from benchbuilder.evaluation.judges.neural.libraries import ComputePlace, explain_load_errors, torch_and_transformers
from benchbuilder.evaluation.judges.neural.spec import NeuralSpec

_UNLIMITED = 1_000_000
"""Tokenizers without a limit give a larger number than this."""


class EncoderSpec(NeuralSpec):
    """An encoder. All of it is trained. BERT reads 512 tokens (`max_length`), long-context encoders thousands."""


class EncoderJudge(NeuralJudge):
    """An encoder with one output, trained to the mean squared error. Outputs are clipped to 0 and 1.

    It reads a pair: question with paragraphs, and the answer. If the pair is too long, paragraphs are cut first, then
    the question. The answer is shortened only if it is too long by itself: its beginning and its end remain. Weights
    and scores are float32, whatever training computes in.
    """

    kind: ClassVar[str] = "encoder"
    spec_class: ClassVar[type[JudgeSpec]] = EncoderSpec

    def untrained_learner(self, base: BaseModelSource, place: ComputePlace) -> Learner:
        """The encoder with a new head."""
        return _Encoder(base, place, self.spec.max_length, new_head=True)

    def trained_learner(
        self, folder: Path, base: BaseModelSource, place: ComputePlace, facts: Mapping[str, Any]
    ) -> Learner:
        """The trained encoder. The model that it started from is not needed."""
        trained = BaseModelSource(base.label, str(folder), None, folder)
        learner = _Encoder(trained, place, int(facts["max_length"]), new_head=False)
        learner.centre = float(facts["centre"])
        return learner

    def learner_facts(self, learner: Learner) -> Mapping[str, Any]:
        """The mean of the training targets, which is added to the output of the network."""
        return {"centre": learner.centre}


class _Encoder(Learner):
    def __init__(self, base: BaseModelSource, place: ComputePlace, max_length: int | None, *, new_head: bool) -> None:
        self.place = place
        torch, transformers = torch_and_transformers()
        with explain_load_errors(f"the encoder {base.label} cannot be loaded", base.place, base.load_advice):
            tokenizer = transformers.AutoTokenizer.from_pretrained(base.place, **base.arguments())
            model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
                base.place, num_labels=1, problem_type="regression", dtype=torch.float32, use_safetensors=True,
                ignore_mismatched_sizes=new_head, output_loading_info=True, **base.arguments(),
            )  # fmt: skip
            base.require_weights(info, model.base_model_prefix if new_head else "")
            self.model: Any = model.to(place.device)
        if tokenizer.pad_token_id is None:
            raise ServiceError(f"the tokenizer of {base.label} has no padding token", where=base.place)
        self._tokenizer, self._fill = tokenizer, int(tokenizer.pad_token_id)
        self.model.config.pad_token_id = self._fill
        usual = int(tokenizer.model_max_length)
        self.max_length = base.token_limit(
            max_length, _most_positions(self.model), usual if usual < _UNLIMITED else None
        )
        self._pairs = PairInputs(TruncatingTokenizer(tokenizer, base.label), self.max_length)

    def row(self, case: Case) -> TokenRow:
        return self._pairs.row(case)

    def losses(self, model: Any, rows: Sequence[TokenRow], goals: Sequence[float]) -> Any:
        torch = self.place.torch
        width = max(len(row.ids) for row in rows)
        with self.place.mixed_precision():
            outputs = self._outputs(model, rows, width if self.place.device.type == "cpu" else -(-width // 8) * 8)
        return (outputs - torch.tensor(goals, dtype=torch.float32, device=self.place.device)) ** 2

    def values(self, rows: Sequence[TokenRow], width: int) -> list[float]:
        return [float(value) for value in self._outputs(self.model, rows, width).tolist()]

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)

    def _outputs(self, model: Any, rows: Sequence[TokenRow], width: int) -> Any:
        torch, device, width = self.place.torch, self.place.device, min(width, self.max_length)
        inputs = {
            "input_ids": padded_matrix(torch, [row.ids for row in rows], self._fill, width, device),
            "attention_mask": padded_matrix(torch, [[1] * len(row.ids) for row in rows], 0, width, device),
        }
        if rows[0].types:
            inputs["token_type_ids"] = padded_matrix(torch, [row.types for row in rows], 0, width, device)
        return model(**inputs).logits.squeeze(-1).float() + self.centre


def _most_positions(model: Any) -> int | None:
    """How many tokens the model has positions for; `None` if it does not say."""
    positions: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return None if positions is None or positions < 1 else positions - _first_position(model)


def _first_position(model: Any) -> int:
    """How many positions come before that of the first token (in RoBERTa: two)."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx) + 1
    return 0
