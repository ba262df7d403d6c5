"""The judge kind `encoder`: an encoder that reads question, paragraphs and answer, with a regression head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.core import DataError, ServiceError
from benchbuilder.evaluation.judges.base import Case, JudgeSpec
from benchbuilder.evaluation.judges.neural.base_model import BaseModelSource
from benchbuilder.evaluation.judges.neural.inputs import PairInputs, TokenRow, TruncatingTokenizer
from benchbuilder.evaluation.judges.neural.judge import NeuralJudge
from benchbuilder.evaluation.judges.neural.learner import ComputePlace, Learner, padded_matrix
from benchbuilder.evaluation.judges.neural.libraries import explain_load_errors, torch_and_transformers
from benchbuilder.evaluation.judges.neural.spec import NeuralSpec

_UNLIMITED = 1_000_000
"""What tokenizers without a limit say is more than this."""


class EncoderSpec(NeuralSpec):
    """An encoder, all of which is trained; `max_length` is 512 for BERT, thousands for long-context ones."""


class EncoderJudge(NeuralJudge):
    """An encoder with one output, trained to the mean squared error; what it says beyond 0 and 1 is cut off.

    It reads a pair: question and paragraphs, and the answer. Where that is too long, paragraphs go first, then the
    question; the answer is only shortened (to its beginning and its end) if it is too long by itself. The weights are
    kept in float32 and the scores computed in it, whatever training computes in.
    """

    kind: ClassVar[str] = "encoder"
    spec_class: ClassVar[type[JudgeSpec]] = EncoderSpec

    def untrained_learner(self, base: BaseModelSource, place: ComputePlace) -> Learner:
        """The encoder with a new head."""
        return _Encoder(base, base.place, base.arguments(), place, self.spec.max_length, new_head=True)

    def trained_learner(
        self, folder: Path, base: BaseModelSource, place: ComputePlace, facts: Mapping[str, Any]
    ) -> Learner:
        """The trained encoder; the one that it started from is not needed."""
        kept = BaseModelSource(base.label, str(folder), None, folder)
        found = _Encoder(kept, str(folder), kept.arguments(), place, int(facts["max_length"]), new_head=False)
        found.centre = float(facts["centre"])
        return found

    def learner_facts(self, learner: Learner) -> Mapping[str, Any]:
        """What is added to what the network says: the mean of the targets it was trained on."""
        return {"centre": learner.centre}


class _Encoder(Learner):
    def __init__(
        self,
        base: BaseModelSource,
        source: str,
        arguments: Mapping[str, Any],
        place: ComputePlace,
        limit: int | None,
        *,
        new_head: bool,
    ) -> None:
        torch, transformers = torch_and_transformers()
        self.place = place
        with explain_load_errors(f"the encoder {base.label} cannot be loaded", source, base.load_advice):
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **arguments)
            model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
                source, num_labels=1, problem_type="regression", dtype=torch.float32, use_safetensors=True,
                ignore_mismatched_sizes=new_head, output_loading_info=True, **arguments,
            )  # fmt: skip
            _require_whole(base, model.base_model_prefix if new_head else "", info)
            self.model: Any = model.to(place.device)
        if tokenizer.pad_token_id is None:
            raise ServiceError(f"the tokenizer of {base.label} has no token to fill up with", where=source)
        self._tokenizer, self._fill = tokenizer, int(tokenizer.pad_token_id)
        self.model.config.pad_token_id = self._fill
        self.max_length = _token_limit(base, self.model, tokenizer, limit)
        self._pairs = PairInputs(TruncatingTokenizer(tokenizer, base.label), self.max_length)

    def row(self, case: Case) -> TokenRow:
        return self._pairs.row(case)

    def losses(self, model: Any, rows: Sequence[TokenRow], goals: Sequence[float]) -> Any:
        torch = self.place.torch
        width = max(len(row.ids) for row in rows)
        with self.place.mixed_precision():
            found = self._outputs(model, rows, width if self.place.device.type == "cpu" else -(-width // 8) * 8)
        return (found - torch.tensor(goals, dtype=torch.float32, device=self.place.device)) ** 2

    def values(self, rows: Sequence[TokenRow], width: int) -> list[float]:
        return [float(value) for value in self._outputs(self.model, rows, width).tolist()]

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)

    def _outputs(self, model: Any, rows: Sequence[TokenRow], width: int) -> Any:
        torch, device, width = self.place.torch, self.place.device, min(width, self.max_length)
        given = {
            "input_ids": padded_matrix(torch, [row.ids for row in rows], self._fill, width, device),
            "attention_mask": padded_matrix(torch, [[1] * len(row.ids) for row in rows], 0, width, device),
        }
        if rows[0].types:
            given["token_type_ids"] = padded_matrix(torch, [row.types for row in rows], 0, width, device)
        return model(**given).logits.squeeze(-1).float() + self.centre


def _require_whole(base: BaseModelSource, body: str, info: Mapping[str, Any]) -> None:
    """ServiceError where the library made up weights by chance that should have been in the files.

    With the name of a `body` only its weights count, without its pooler: a head is new before the training.
    """
    lacking = [*map(str, info["missing_keys"]), *(str(one[0]) for one in info["mismatched_keys"])]
    if body:
        lacking = [name for name in lacking if name.startswith(f"{body}.") and ".pooler." not in name]
    if lacking:
        raise ServiceError(
            f"the files of {base.label} lack weights of the encoder, or have them in another shape",
            where=base.place,
            why=f"{len(lacking)}, for instance {lacking[0]}",
            next="use files that hold the whole encoder",
        )


def _token_limit(base: BaseModelSource, model: Any, tokenizer: Any, requested: int | None) -> int:
    """The most tokens a row may have; DataError if more are wanted than the model takes."""
    positions: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    takes = None if positions is None or positions < 1 else positions - _first_position(model)
    if requested is not None:
        if takes is not None and requested > takes:
            raise DataError(
                f"max_length is {requested}, and {base.label} takes {takes} tokens", next="set a lower one, or null"
            )
        return requested
    told = int(tokenizer.model_max_length)
    known = [most for most in (takes, told if told < _UNLIMITED else None) if most is not None]
    if not known:
        raise DataError(f"{base.label} does not say how many tokens it takes", next="set max_length")
    return min(known)


def _first_position(model: Any) -> int:
    """How many positions the model counts before the first token's (RoBERTa and its kin: two)."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.padding_idx) + 1
    return 0
