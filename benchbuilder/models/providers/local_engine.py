"""A language model in this process: loads it from safetensors or GGUF and generates tokens."""

from __future__ import annotations

import io
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchbuilder.core import InstallationError, ServiceError, imports_of

Architecture = Literal["causal", "seq2seq"]

KEPT = (
    "bos_token_id", "decoder_start_token_id", "eos_token_id", "forced_bos_token_id", "forced_eos_token_id",
    "pad_token_id",
)  # fmt: skip
"""The only generation settings taken from the model: its token ids. The recipe sets how replies are sampled."""
_OWN = frozenset({"temperature", "top_p", "top_k", "min_p"})


@dataclass(frozen=True)
class WeightsSource:
    """The weights to load, from a folder or from the hub at a revision, the optional adapters, and the device."""

    name: str
    architecture: Architecture
    dtype: str
    device: str
    folder: Path | None = None
    revision: str | None = None
    adapter: Path | None = None
    gguf: str | None = None
    """The name of a GGUF file in the folder or on the hub: its weights are unpacked, and it holds the tokenizer."""
    trust_remote_code: bool = False
    """Whether code that the model brings runs in this process."""


@dataclass(frozen=True)
class GeneratedTokens:
    """The tokens of one reply without end and padding tokens, and whether the model ended it."""

    ids: list[int]
    ended: bool


class LocalEngine:
    """A loaded model with its `tokenizer`; `context` is its maximum number of tokens, if known."""

    def __init__(self, source: WeightsSource) -> None:
        """Load the model; ServiceError if that fails, InstallationError if a library is missing."""
        self.source = source
        torch, transformers = _libraries()
        with quiet_transformers(transformers), _no_bars(source), _explain_load_errors(source):
            self.device: Any = _device(torch, source.device)
            options: dict[str, Any] = {"trust_remote_code": source.trust_remote_code}
            options |= {"revision": source.revision} if source.revision else {}
            options |= {"gguf_file": source.gguf} if source.gguf else {"use_safetensors": True}
            dtype = "float32" if source.gguf and source.dtype == "auto" else source.dtype
            place = str(source.folder or source.name)
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                place, **{name: value for name, value in options.items() if name != "use_safetensors"}
            )
            auto = transformers.AutoModelForCausalLM
            if source.architecture == "seq2seq":
                auto = transformers.AutoModelForSeq2SeqLM
            model: Any = auto.from_pretrained(place, dtype=dtype, **options)
            if source.adapter is not None:
                model = _merge_adapter(model, source.adapter)
            self.model: Any = model.to(self.device).eval()
        defaults: Any = self.model.generation_config
        self._ids = {name: value for name in KEPT if (value := getattr(defaults, name, None)) is not None}
        self.model.generation_config = transformers.GenerationConfig(**self._ids)
        self.ends = _ids(self._ids.get("eos_token_id")) | _ids(self.tokenizer.eos_token_id)
        self._pad: int = next(iter([*_ids(self.tokenizer.pad_token_id), *sorted(self.ends), 0]))
        config: Any = self.model.config.get_text_config()
        self.context: int | None = getattr(config, "max_position_embeddings", None)
        self.tokenizer.truncation_side = "left" if source.architecture == "causal" else "right"
        self.made_with = {
            "torch": str(torch.__version__),
            "transformers": str(transformers.__version__),
            "device": str(self.device.type),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "commit": str(getattr(self.model.config, "_commit_hash", None) or ""),
        }

    def encode(self, text: str, *, special: bool, limit: int | None = None) -> list[int]:
        """The tokens of a prompt; beyond `limit`, a causal model keeps its end, a seq2seq model its beginning."""
        _, transformers = _libraries()
        with quiet_transformers(transformers):
            cut: dict[str, Any] = {} if limit is None else {"truncation": True, "max_length": limit}
            return list(self.tokenizer(text, add_special_tokens=special, **cut)["input_ids"])

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def generate(
        self, prompts: Sequence[Sequence[int]], sampling: Mapping[str, Any], seed: int | None
    ) -> list[GeneratedTokens]:
        """Generate replies: the most likely tokens, or sampled ones if a seed is given.

        Args:
            prompts: Token ids of each prompt.
            sampling: Generation settings.
            seed: Seed of the random numbers; ``None`` for greedy decoding.

        Raises:
            ServiceError: There is not enough memory.
        """
        torch, transformers = _libraries()
        causal = self.source.architecture == "causal"
        width = max(map(len, prompts))
        fills = [[self._pad] * (width - len(prompt)) for prompt in prompts]
        ids = [[*fill, *prompt] if causal else [*prompt, *fill] for fill, prompt in zip(fills, prompts, strict=True)]
        ones = [[1] * len(prompt) for prompt in prompts]
        zeros = [[0] * len(fill) for fill in fills]
        mask = [[*no, *yes] if causal else [*yes, *no] for no, yes in zip(zeros, ones, strict=True)]
        config = transformers.GenerationConfig(**self._settings(sampling, sample=seed is not None))
        stop = {"tokenizer": self.tokenizer} if sampling.get("stop") else {}
        devices, count = [self.device] if self.device.type == "cuda" else [], len(prompts)
        advice = f"a lower model.batch_size (here: {count} at a time)" if count > 1 else "a smaller model or dtype"
        with (
            quiet_transformers(transformers),
            explain_out_of_memory(torch, "generate", advice),
            torch.random.fork_rng(devices),
            torch.inference_mode(),
        ):
            if seed is not None:
                torch.manual_seed(seed)
            replies: list[list[int]] = self.model.generate(
                input_ids=torch.tensor(ids, device=self.device),
                attention_mask=torch.tensor(mask, device=self.device),
                generation_config=config,
                **stop,
            ).tolist()
        return [self._trim(row[width if causal else 1 :], stops=bool(stop)) for row in replies]

    def _settings(self, sampling: Mapping[str, Any], *, sample: bool) -> dict[str, Any]:
        settings = {name: value for name, value in sampling.items() if name not in _OWN | {"seed", "stop"}}
        settings |= self._ids | {"eos_token_id": sorted(self.ends) or None, "pad_token_id": self._pad}
        settings |= {"do_sample": sample, "num_beams": 1}
        if sampling.get("stop"):
            settings["stop_strings"] = list(sampling["stop"])
        if sample:
            # otherwise the library uses its own defaults (the 50 most likely tokens)
            settings |= {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
            settings |= {name: sampling[name] for name in _OWN if name in sampling}
        return settings

    def _trim(self, row: list[int], *, stops: bool) -> GeneratedTokens:
        end = next((index for index, token in enumerate(row) if token in self.ends), None)
        if end is not None:
            return GeneratedTokens(row[:end], ended=True)
        while stops and row and row[-1] == self._pad:  # a row with a stop string is padded
            row = row[:-1]
        return GeneratedTokens(row, ended=False)


def _merge_adapter(model: Any, folder: Path) -> Any:
    """Merge the adapters of a folder into the weights; only safetensors are read."""
    import peft

    if lacking := [
        name for name in ("adapter_config.json", "adapter_model.safetensors") if not (folder / name).is_file()
    ]:
        raise OSError(f"the folder of adapters {folder} has no {lacking[0]}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation warnings of the library
        return peft.PeftModel.from_pretrained(model, str(folder)).merge_and_unload()


def _ids(value: Any) -> set[int]:
    return set() if value is None else {int(item) for item in (value if isinstance(value, list) else [value])}


def _libraries() -> tuple[Any, Any]:
    with imports_of("hf", "the model kind 'transformers'"):
        import torch
        import transformers
    return torch, transformers


def _device(torch: Any, device: str) -> Any:
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


@contextmanager
def quiet_transformers(transformers: Any) -> Generator[None]:
    """Hide notices and progress bars of the library."""
    logging: Any = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if bars:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def _no_bars(source: WeightsSource) -> Generator[None]:
    """Hide the progress bar that unpacking a GGUF file draws on its own."""
    with redirect_stderr(io.StringIO()) if source.gguf else nullcontext():
        yield


@contextmanager
def _explain_load_errors(source: WeightsSource) -> Generator[None]:
    """Explain errors of loading."""
    from safetensors import SafetensorError

    what = f"the model {source.name} cannot be loaded"
    try:
        yield
    except ImportError as error:
        raise InstallationError(what, why=first_error_line(error), next="install the library that is named") from error
    except OSError as error:
        wanted = "config.json, tokenizer and weights as safetensors, or a GGUF file; other formats are never read"
        if source.folder is None:
            wanted = (
                f"check the name and the connection, or fetch it where there is one (hf download {source.name}) and "
                f"set model.path to its folder, with {wanted}"
            )
        raise ServiceError(what, where=str(source.folder or ""), why=first_error_line(error), next=wanted) from error
    except (ValueError, KeyError, RuntimeError, MemoryError, SafetensorError) as error:
        raise ServiceError(
            what,
            where=str(source.folder or ""),
            why=f"{type(error).__name__}: {first_error_line(error)}",
            next="check model.architecture, model.dtype and model.device; a model that needs code of its own has "
            "model.trust_remote_code=true and runs it in a process of its own",
        ) from error


@contextmanager
def explain_out_of_memory(torch: Any, activity: str, advice: str) -> Generator[None]:
    """Raise ServiceError with `advice` if there is not enough memory for an `activity` (``generate``)."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if type(error) is RuntimeError and "allocate memory" not in str(error):
            raise
        raise ServiceError(
            f"there is not enough memory to {activity}", why=first_error_line(error), next=f"set {advice}"
        ) from error


def first_error_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return str(error).strip().partition("\n")[0]
