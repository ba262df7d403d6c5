"""The judge kind `decoder`: a language model with low-rank adapters that writes the score after a prompt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import pairwise
from math import exp
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
from benchbuilder.evaluation.judges.neural.learner import Learner, padded_matrix
from benchbuilder.evaluation.judges.neural.libraries import (
    ComputePlace,
    explain_load_errors,
    ignore_future_warnings,
    torch_and_transformers,
)
from benchbuilder.evaluation.judges.neural.spec import AdapterSpec, NeuralSpec
from benchbuilder.models import Prompt, read_prompt

ADAPTER = ("adapter_config.json", "adapter_model.safetensors")


class DecoderSpec(NeuralSpec, AdapterSpec):
    """A causal language model of which only low-rank adapters (LoRA) are trained.

    `rank` and `alpha` are their size and strength, and `dropout` is the proportion that they leave out in training.
    `rank_stabilised` divides alpha by the root of the rank instead of the rank. The adapters are in the linear layers
    that `targets` names; ``all-linear``: in all except the last one.
    """

    prompt: PromptRef
    """Ends where the score follows. Its variables: ``aspect``, ``type``, ``question``, ``evidence``, ``answer``."""
    put: Literal["plain", "chat"]
    """The prompt as it is, or as a user's message in the model's chat template."""
    grid: Annotated[tuple[str, ...], Field(min_length=2)]
    """The values that the model may write, as texts, ascending from 0 to 1."""

    @field_validator("grid", mode="before")
    @classmethod
    def _texts(cls, grid: Any) -> Any:
        """Numbers become texts as they are usually written."""
        if not isinstance(grid, list | tuple):
            return grid
        return tuple(str(value) if isinstance(value, int | float) else value for value in grid)  # pyright: ignore[reportUnknownVariableType]

    @field_validator("grid")
    @classmethod
    def _ascending(cls, grid: tuple[str, ...]) -> tuple[str, ...]:
        try:
            values = [float(value) for value in grid]
        except ValueError as error:
            raise ValueError(f"each value is a number: {error}") from error
        if values[0] != 0 or values[-1] != 1 or not all(low < high for low, high in pairwise(values)):
            raise ValueError("the values ascend from 0 to 1")
        return grid


class DecoderJudge(NeuralJudge):
    """A language model that is trained to write the score after a prompt.

    The loss counts the tokens of the score and of its end, and nothing of the prompt. A target between two values of
    the grid is learned as one of them, drawn anew in each epoch so that they average to it. The score is the mean of
    the grid's values, weighted by the probability that the model writes each of them and nothing else. No reply is
    parsed. If a prompt is too long, paragraphs are cut first, then the beginning of the question, then the middle of
    the answer. Only the adapters are kept: scoring needs the same model under them.
    """

    kind: ClassVar[str] = "decoder"
    spec_class: ClassVar[type[JudgeSpec]] = DecoderSpec
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "peft")
    prompt_variables: ClassVar[Mapping[str, str]] = VARIABLES
    """The variables of its prompt, each with a sentence."""
    spec: DecoderSpec  # pyright: ignore[reportIncompatibleVariableOverride]

    def untrained_learner(self, base: BaseModelSource, place: ComputePlace) -> Learner:
        """The model with new adapters."""
        prompt = read_prompt(self.spec.prompt.path, self.spec.prompt.file)
        return _Decoder(base, place, self.spec, prompt, self.spec.max_length)

    def trained_learner(
        self, folder: Path, base: BaseModelSource, place: ComputePlace, facts: Mapping[str, Any]
    ) -> Learner:
        """The model with the trained adapters in `folder`, and the prompt that they were trained with."""
        ref = self.spec.prompt
        prompt = Prompt(name=ref.path, file=ref.file, source=str(facts["prompt"]))
        learner = _Decoder(base, place, self.spec, prompt, int(facts["max_length"]), folder)
        require_same_base_model(base, facts["base"], learner.model.config)
        return learner

    def learner_facts(self, learner: Learner) -> Mapping[str, Any]:
        """The text of the prompt file: a judge keeps the prompt that it was trained with."""
        assert isinstance(learner, _Decoder)
        return {"prompt": learner.prompt.source}


class AdapterLearner(Learner):
    """A causal language model of which low-rank adapters learn.

    It reads at most `max_length` tokens per row (`None`: as many as the model takes). `chat` says whether its chat
    template is needed, and `trained` is a folder with trained adapters (`None`: new ones).

    Raises:
        DataError: If the model takes fewer tokens than `max_length`, or trained adapters are missing.
        ServiceError: If it cannot be loaded or used.
    """

    def __init__(
        self, base: BaseModelSource, place: ComputePlace, spec: AdapterSpec, max_length: int | None, *, chat: bool,
        trained: Path | None = None,
    ) -> None:  # fmt: skip
        self.place = place
        _, transformers = torch_and_transformers()
        with explain_load_errors(f"the model {base.label} cannot be loaded", base.place, base.load_advice):
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(base.place, **base.arguments())
            inner, info = transformers.AutoModelForCausalLM.from_pretrained(
                base.place, dtype=place.dtype, use_safetensors=True, output_loading_info=True, **base.arguments()
            )
        base.require_weights(info)
        missing = "no token that ends a text" if tokenizer.eos_token is None else ""
        if missing := missing or ("no chat template" if chat and not tokenizer.chat_template else ""):
            raise ServiceError(
                f"the model {base.label} cannot be used", where=base.place, why=f"its tokenizer has {missing}",
                next="use another one",
            )  # fmt: skip
        self._words = TruncatingTokenizer(tokenizer, base.label)
        self._end = int(tokenizer.eos_token_id)
        self.max_length = base.token_limit(
            max_length, getattr(inner.config.get_text_config(), "max_position_embeddings", None)
        )
        inner = inner.to(place.device)
        self.model: Any = _with_new_adapter(inner, spec, base) if trained is None else _with_adapter(inner, trained)

    def save(self, folder: Path) -> None:
        """Write the adapters into an empty folder."""
        self.model.save_pretrained(folder, save_embedding_layers=False)  # else peft asks the hub for the model
        if missing := [name for name in ADAPTER if not (folder / name).is_file()]:
            raise AssertionError(f"peft wrote no {', '.join(missing)}")


class _Decoder(AdapterLearner):
    def __init__(
        self, base: BaseModelSource, place: ComputePlace, spec: DecoderSpec, prompt: Prompt, max_length: int | None,
        trained: Path | None = None,
    ) -> None:  # fmt: skip
        chat = spec.put == "chat"
        super().__init__(base, place, spec, max_length, chat=chat, trained=trained)
        self.prompt = prompt
        self._keeps_logits = "logits_to_keep" in signature(self.model.get_base_model().forward).parameters
        self._grid = ScoreGrid(spec.grid, [self._words.ids(text) for text in spec.grid], self._end)
        limit = self.max_length - self._grid.longest
        self._prompted = PromptInputs(self._words, prompt, spec.aspect, limit, chat=chat)

    def row(self, case: Case) -> TokenRow:
        return self._prompted.row(case)

    def training_target(self, target: float, chance: Random) -> float:
        return self._grid.sample_near(target, chance)

    def losses(self, model: Any, rows: Sequence[TokenRow], goals: Sequence[float]) -> Any:
        torch, device = self.place.torch, self.place.device
        written = [self._grid.tokens_of(goal) for goal in goals]
        most = max(map(len, written))
        positions = [
            [len(row.ids) - 1 + min(offset, len(tokens) - 1) for offset in range(most)]
            for row, tokens in zip(rows, written, strict=True)
        ]
        wanted = padded_matrix(torch, written, self._end, most, device)
        counts = padded_matrix(torch, [[1] * len(tokens) for tokens in written], 0, most, device)
        read = [(*row.ids, *tokens[:-1]) for row, tokens in zip(rows, written, strict=True)]
        width = -(-max(map(len, read)) // 8) * 8
        logs = torch.log_softmax(self._logits(model, read, positions, width), dim=-1)
        return -(logs.gather(-1, wanted.unsqueeze(-1)).squeeze(-1) * counts).sum(dim=1)

    def values(self, rows: Sequence[TokenRow], width: int) -> list[float]:
        torch, grid = self.place.torch, self._grid
        logs: list[dict[tuple[Tokens, int], float]] = [{} for _ in rows]
        for path in grid.paths:
            forks = [fork for fork in grid.forks if path[: len(fork.before)] == fork.before]
            positions = [[len(row.ids) - 1 + len(fork.before) for fork in forks] for row in rows]
            read = [(*row.ids, *path) for row in rows]
            logits = self._logits(self.model, read, positions, width + len(path)).double()
            for index, fork in enumerate(forks):
                choices = torch.tensor(fork.choices, device=self.place.device)
                choice_logs = torch.log_softmax(logits[:, index].index_select(-1, choices), dim=-1).tolist()
                for row, values in zip(logs, choice_logs, strict=True):
                    row |= {(fork.before, token): value for token, value in zip(fork.choices, values, strict=True)}
        return [grid.expected(row) for row in logs]

    def _logits(
        self, model: Any, lists: Sequence[Sequence[int]], positions: Sequence[Sequence[int]], width: int
    ) -> Any:
        """The logits of the tokens that follow `positions` of each list, as float32 (lists, positions, vocabulary).

        Rows are padded on the right, where a causal model does not look. So no mask is needed, and attention is fast.
        """
        torch, device = self.place.torch, self.place.device
        ids = padded_matrix(torch, lists, self._end, min(width, self.max_length), device)
        keep = torch.tensor([list(row) for row in positions], device=device)
        with self.place.mixed_precision():
            if self._keeps_logits:  # the logits of whole prompts would need more memory than many models
                logits = model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits
                if logits.shape[:-1] == keep.shape:
                    return logits.float()
                self._keeps_logits = False  # this model wants the same positions in every row
            logits = model(input_ids=ids, use_cache=False).logits
        return torch.take_along_dim(logits, keep.unsqueeze(-1), dim=1).float()


def _with_new_adapter(inner: Any, spec: AdapterSpec, base: BaseModelSource) -> Any:
    """The model with new adapters, which change nothing yet."""
    import peft

    config = peft.LoraConfig(
        task_type="CAUSAL_LM", r=spec.rank, lora_alpha=spec.alpha, lora_dropout=spec.dropout,
        use_rslora=spec.rank_stabilised,
        target_modules=spec.targets if isinstance(spec.targets, str) else list(spec.targets),
    )  # fmt: skip
    with (
        ignore_future_warnings(),
        explain_load_errors("the adapters do not fit the model", base.place, "check targets: names of linear layers"),
    ):
        model: Any = peft.get_peft_model(inner, config)
    stored = model.peft_config["default"]
    stored.base_model_name_or_path, stored.revision = base.label, base.revision  # not a folder of this machine
    return model


def _with_adapter(inner: Any, folder: Path) -> Any:
    """The model with the trained adapters of a folder. Formats other than safetensors are not read."""
    import peft

    advice = "train the judge again"
    if missing := [name for name in ADAPTER if not (folder / name).is_file()]:
        raise DataError("the trained judge is not complete", where=str(folder), why=f"no {missing[0]}", next=advice)
    with (
        ignore_future_warnings(),
        explain_load_errors("the adapters of the judge cannot be loaded", str(folder), advice),
    ):
        return peft.PeftModel.from_pretrained(inner, str(folder)).eval()


Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TokenFork:
    """A place where the values differ: the tokens `before` it, and the tokens that may follow."""

    before: Tokens
    choices: Tokens


class ScoreGrid:
    """Values with their texts as tokens, each followed by the token `end`.

    `forks` are the places where the texts differ. `paths` are the token sequences to read after a prompt to pass every
    fork. Mostly it is one, such as ``0.`` for 0.0, 0.1, ..., 1.0. The `texts` ascend, and `tokens` are those of each.

    Raises:
        DataError: If two values have the same tokens.
    """

    def __init__(self, texts: Sequence[str], tokens: Sequence[Sequence[int]], end: int) -> None:
        self.values = tuple(map(float, texts))
        self.tokens: tuple[Tokens, ...] = tuple((*value, end) for value in tokens)
        if len(set(self.tokens)) < len(self.tokens):
            raise DataError(
                "two values of the grid have the same tokens",
                why=f"grid: {', '.join(texts)}",
                next="write the values in another way, or use another model",
            )
        following: dict[Tokens, set[int]] = {}
        for value in self.tokens:
            for index, token in enumerate(value):
                following.setdefault(value[:index], set()).add(token)
        forks = [TokenFork(before, tuple(sorted(nexts))) for before, nexts in following.items() if len(nexts) > 1]
        self.forks = tuple(sorted(forks, key=lambda fork: (len(fork.before), fork.before)))
        befores = [fork.before for fork in self.forks]
        self.paths = tuple(
            path for path in befores if not any(other != path and other[: len(path)] == path for other in befores)
        )

    @property
    def longest(self) -> int:
        """The number of tokens of the longest value, including its end."""
        return max(map(len, self.tokens))

    def tokens_of(self, value: float) -> Tokens:
        """The tokens of a value of the grid."""
        return self.tokens[self.values.index(value)]

    def sample_near(self, target: float, chance: Random) -> float:
        """One of the two values around `target`, drawn so that they average to `target`."""
        above = bisect_right(self.values, target)
        if above == 0:
            return self.values[0]
        low = self.values[above - 1]
        if above == len(self.values) or low == target:
            return low
        high = self.values[above]
        return high if chance.random() < (target - low) / (high - low) else low

    def expected(self, logs: dict[tuple[Tokens, int], float]) -> float:
        """The mean of the values, weighted by the probability that the model writes each.

        `logs` holds the log-probability of each choice among the choices of its fork.
        """
        total = weight = 0.0
        for value, tokens in zip(self.values, self.tokens, strict=True):
            probability = exp(sum(logs.get((tokens[:index], token), 0.0) for index, token in enumerate(tokens)))
            total, weight = total + probability * value, weight + probability
        return total / weight
