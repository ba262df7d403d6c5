"""The judge kind `decoder`: a language model with low-rank adapters that writes the score after a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from benchbuilder.config import PromptRef
from benchbuilder.core import DataError, ServiceError
from benchbuilder.evaluation.judges.base import Case, JudgeSpec
from benchbuilder.evaluation.judges.neural.base_model import BaseModelSource, require_same_base_model
from benchbuilder.evaluation.judges.neural.inputs import VARIABLES, PromptInputs, TokenRow, TruncatingTokenizer
from benchbuilder.evaluation.judges.neural.judge import NeuralJudge
from benchbuilder.evaluation.judges.neural.learner import ComputePlace, Learner, padded_matrix
from benchbuilder.evaluation.judges.neural.libraries import (
    explain_load_errors,
    ignore_future_warnings,
    torch_and_transformers,
)
from benchbuilder.evaluation.judges.neural.score_tokens import ScoreGrid, Tokens
from benchbuilder.evaluation.judges.neural.spec import AdapterSpec, NeuralSpec
from benchbuilder.models import Prompt, read_prompt

ADAPTER = ("adapter_config.json", "adapter_model.safetensors")


class DecoderSpec(NeuralSpec, AdapterSpec):
    """A causal language model of which only low-rank adapters (LoRA) are trained.

    `rank` and `alpha` are theirs, `dropout` what they leave out in training, `rank_stabilised` divides alpha by the
    root of the rank instead of the rank. They sit in the linear layers that `targets` names; ``all-linear``: in all
    but the last one.
    """

    prompt: PromptRef
    """Ends where the score is to follow; sees ``aspect``, ``type``, ``question``, ``evidence`` and ``answer``."""
    put: Literal["plain", "chat"]
    """The prompt as it is, or as what a user says in the model's chat template."""
    grid: Annotated[tuple[str, ...], Field(min_length=2)]
    """The values that the model may write, as texts, ascending from 0 to 1."""

    @field_validator("grid", mode="before")
    @classmethod
    def _texts(cls, given: Any) -> Any:
        """Numbers are taken as they are usually written."""
        if not isinstance(given, list | tuple):
            return given
        return tuple(str(one) if isinstance(one, int | float) else one for one in given)  # pyright: ignore[reportUnknownVariableType]

    @field_validator("grid")
    @classmethod
    def _ascending(cls, grid: tuple[str, ...]) -> tuple[str, ...]:
        try:
            values = [float(one) for one in grid]
        except ValueError as error:
            raise ValueError(f"each value is a number: {error}") from error
        if values[0] != 0 or values[-1] != 1 or not all(low < high for low, high in pairwise(values)):
            raise ValueError("the values ascend from 0 to 1")
        return grid


class DecoderJudge(NeuralJudge):
    """A language model trained to write the score after a prompt, whose score is what it expects to write.

    The loss counts the tokens of the score and of its end, nothing of the prompt. A target between two values of the
    grid is learned as one of them, drawn anew in each epoch so that they average to it. The score is the mean of the
    grid's values, weighted by the probability that the model writes each if it may write nothing else; no reply is
    parsed. Where a prompt is too long, paragraphs go first, then the beginning of the question, then the middle of
    the answer. Only the adapters are kept: the model that they belong to must be there to score, and be the same.
    """

    kind: ClassVar[str] = "decoder"
    spec_class: ClassVar[type[JudgeSpec]] = DecoderSpec
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "peft")
    prompt_variables: ClassVar[Mapping[str, str]] = VARIABLES
    """What its prompt is given, with a sentence for each."""
    spec: DecoderSpec  # pyright: ignore[reportIncompatibleVariableOverride]

    def untrained_learner(self, base: BaseModelSource, place: ComputePlace) -> Learner:
        """The model with new adapters."""
        prompt = read_prompt(self.spec.prompt.path, self.spec.prompt.file)
        return _Decoder(base, place, self.spec, prompt, self.spec.max_length, None)

    def trained_learner(
        self, folder: Path, base: BaseModelSource, place: ComputePlace, facts: Mapping[str, Any]
    ) -> Learner:
        """The model with the trained adapters in `folder`, asked by the prompt that they were trained with."""
        ref = self.spec.prompt
        prompt = Prompt(name=ref.path, file=ref.file, source=str(facts["prompt"]))
        found = _Decoder(base, place, self.spec, prompt, int(facts["max_length"]), folder)
        require_same_base_model(base, facts["base"], found.model.config)
        return found

    def learner_facts(self, learner: Learner) -> Mapping[str, Any]:
        """The text of the prompt file: a judge keeps the one that it was trained with."""
        assert isinstance(learner, _Decoder)
        return {"prompt": learner.prompt.source}


class _Decoder(Learner):
    def __init__(
        self, base: BaseModelSource, place: ComputePlace, spec: DecoderSpec, prompt: Prompt, limit: int | None,
        adapter: Path | None,
    ) -> None:  # fmt: skip
        self.place, self.prompt = place, prompt
        _, transformers = torch_and_transformers()
        with explain_load_errors(f"the model {base.label} cannot be loaded", base.place, base.load_advice):
            tokenizer = transformers.AutoTokenizer.from_pretrained(base.place, **base.arguments())
            inner, info = transformers.AutoModelForCausalLM.from_pretrained(
                base.place, dtype=place.dtype, use_safetensors=True, output_loading_info=True, **base.arguments()
            )
        require_usable_decoder(base, tokenizer, info, chat=spec.put == "chat")
        inner = inner.to(place.device)
        words = TruncatingTokenizer(tokenizer, base.label)
        self._keeps_logits = "logits_to_keep" in signature(inner.forward).parameters
        end = int(tokenizer.eos_token_id)
        self._fill = end
        self._grid = ScoreGrid(spec.grid, [words.ids(text) for text in spec.grid], end)
        context: int | None = getattr(inner.config.get_text_config(), "max_position_embeddings", None)
        self.max_length = token_limit(base, context, limit)
        self._prompted = PromptInputs(
            words, prompt, spec.aspect, self.max_length - self._grid.longest, chat=spec.put == "chat"
        )
        self.model: Any = with_new_adapter(inner, spec, base) if adapter is None else _with_adapter(inner, adapter)

    def row(self, case: Case) -> TokenRow:
        return self._prompted.row(case)

    def training_target(self, target: float, chance: Random) -> float:
        return self._grid.sample_near(target, chance)

    def losses(self, model: Any, rows: Sequence[TokenRow], goals: Sequence[float]) -> Any:
        torch, device = self.place.torch, self.place.device
        written = [self._grid.tokens_of(goal) for goal in goals]
        most = max(map(len, written))
        places = [
            [len(row.ids) - 1 + min(at, len(one) - 1) for at in range(most)]
            for row, one in zip(rows, written, strict=True)
        ]
        wanted = padded_matrix(torch, written, self._fill, most, device)
        counts = padded_matrix(torch, [[1] * len(one) for one in written], 0, most, device)
        read = [(*row.ids, *one[:-1]) for row, one in zip(rows, written, strict=True)]
        width = -(-max(map(len, read)) // 8) * 8
        logs = torch.log_softmax(self._logits(model, read, places, width), dim=-1)
        return -(logs.gather(-1, wanted.unsqueeze(-1)).squeeze(-1) * counts).sum(dim=1)

    def values(self, rows: Sequence[TokenRow], width: int) -> list[float]:
        torch, grid = self.place.torch, self._grid
        logs: list[dict[tuple[Tokens, int], float]] = [{} for _ in rows]
        for path in grid.paths:
            forks = [fork for fork in grid.forks if path[: len(fork.before)] == fork.before]
            places = [[len(row.ids) - 1 + len(fork.before) for fork in forks] for row in rows]
            read = [(*row.ids, *path) for row in rows]
            logits = self._logits(self.model, read, places, width + len(path)).double()
            for at, fork in enumerate(forks):
                choices = torch.tensor(fork.choices, device=self.place.device)
                shares = torch.log_softmax(logits[:, at].index_select(-1, choices), dim=-1).tolist()
                for row, share in zip(logs, shares, strict=True):
                    row.update({(fork.before, token): value for token, value in zip(fork.choices, share, strict=True)})
        return [grid.expected(row) for row in logs]

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(folder, save_embedding_layers=False)  # else peft asks the hub for the model
        lacking = [name for name in ADAPTER if not (folder / name).is_file()]
        if lacking:
            raise AssertionError(f"peft wrote no {', '.join(lacking)}")

    def _logits(self, model: Any, lists: Sequence[Sequence[int]], places: Sequence[Sequence[int]], width: int) -> Any:
        """What follows at `places` of each list of tokens, in float32.

        Rows are filled up behind what matters, where a causal model cannot look: no mask is needed, and without one
        the attention is the fast one.
        """
        torch, device = self.place.torch, self.place.device
        ids = padded_matrix(torch, lists, self._fill, min(width, self.max_length), device)
        keep = torch.tensor([list(one) for one in places], device=device)
        with self.place.mixed_precision():
            if self._keeps_logits:  # else those of whole prompts are more than many models have weights
                found = model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits
                if found.shape[:-1] == keep.shape:
                    return found.float()
                self._keeps_logits = False  # a model that wants the same places in every row
            found = model(input_ids=ids, use_cache=False).logits
        return torch.take_along_dim(found, keep.unsqueeze(-1), dim=1).float()


def with_new_adapter(inner: Any, spec: AdapterSpec, base: BaseModelSource) -> Any:
    """The model with new adapters that change nothing yet."""
    import peft

    targets = spec.targets if isinstance(spec.targets, str) else list(spec.targets)
    config = peft.LoraConfig(
        task_type="CAUSAL_LM", r=spec.rank, lora_alpha=spec.alpha, lora_dropout=spec.dropout,
        use_rslora=spec.rank_stabilised, target_modules=targets,
    )  # fmt: skip
    with (
        ignore_future_warnings(),
        explain_load_errors("the adapters do not fit the model", base.place, "check targets: names of linear layers"),
    ):
        model: Any = peft.get_peft_model(inner, config)
    written = model.peft_config["default"]
    written.base_model_name_or_path, written.revision = base.label, base.revision  # not a folder of this machine
    return model


def _with_adapter(inner: Any, folder: Path) -> Any:
    """The model with the adapters of a folder, which are safetensors or none."""
    import peft

    following = "train the judge again"
    if lacking := [name for name in ADAPTER if not (folder / name).is_file()]:
        raise DataError("the trained judge is not whole", where=str(folder), why=f"no {lacking[0]}", next=following)
    with (
        ignore_future_warnings(),
        explain_load_errors("the adapters of the judge cannot be loaded", str(folder), following),
    ):
        return peft.PeftModel.from_pretrained(inner, str(folder)).eval()


def require_usable_decoder(base: BaseModelSource, tokenizer: Any, info: Mapping[str, Any], *, chat: bool) -> None:
    """ServiceError if weights are missing, or the tokenizer has no end or no chat template."""
    why = ""
    if lacking := [*map(str, info["missing_keys"]), *(str(one[0]) for one in info["mismatched_keys"])]:
        why = f"its files lack weights ({len(lacking)}, for instance {lacking[0]})"
    elif tokenizer.eos_token_id is None:
        why = "its tokenizer has no token that ends a text"
    elif chat and not tokenizer.chat_template:
        why = "put is chat, and its tokenizer has no chat template"
    if why:
        raise ServiceError(f"the model {base.label} cannot be used", where=base.place, why=why, next="use another one")


def token_limit(base: BaseModelSource, context: int | None, requested: int | None) -> int:
    """The most tokens a prompt and the score may have; DataError if more are wanted than the model takes."""
    if requested is not None and context is not None and requested > context:
        raise DataError(
            f"max_length is {requested}, and {base.label} takes {context} tokens", next="set a lower one, or null"
        )
    if requested is None and context is None:
        raise DataError(f"{base.label} does not say how many tokens it takes", next="set max_length")
    return requested if requested is not None else int(context or 0)
