"""The model kind `transformers`: chat and seq2seq models that run in this process."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from benchbuilder.config import FileRef, KindSpec, ModelSpec, PositiveCount, RuntimeOption, Spec
from benchbuilder.core import DataError, ServiceError, require_extra
from benchbuilder.models.base import LocalModel, Message, RefusedRequestError, Reply, Request, Usage
from benchbuilder.models.providers.chat import (
    RESERVED,
    ChatWrapping,
    UnfitConversationError,
    apply_chat_template,
    chat_messages,
    merge_system_turns,
    unwrap_reply,
    wrap_messages,
)
from benchbuilder.models.providers.local_engine import Architecture, GeneratedTokens, LocalEngine, WeightsSource
from benchbuilder.models.providers.remote_code import INSIDE, RemoteCodeProcess
from benchbuilder.models.providers.weights_digest import file_sha256, weights_sha256

HUB_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?$"
SHAPING = (
    "name", "revision", "architecture", "dtype", "wrapping", "system_role", "chat_values", "max_input_tokens",
    "overflow",
)  # fmt: skip
"""Fields of the spec that shape replies."""
_LOOKING_BACK = ("repetition_penalty", "no_repeat_ngram_size")
"""Settings for which a causal model uses its whole input, including padding."""
_TURN = threading.Lock()
"""Random numbers belong to the process, so one batch is generated at a time."""


class TransformersSpec(ModelSpec):
    """Which model, and how conversations become prompts.

    JSON replies are requested in the prompt only (`structured: prompt`).
    """

    name: Annotated[str | None, Field(pattern=HUB_NAME)] = None
    """A model on the hub (``ORGANISATION/MODEL``), downloaded on first use. Or `path`."""
    revision: str | None = None
    """A commit of the model on the hub. Without one it is whatever the hub has, or the cache: not reproducible."""
    path: FileRef | None = None
    """A folder with config.json, tokenizer and weights as safetensors; or a GGUF file, or its folder. Or `name`."""
    gguf_file: str | None = None
    """The GGUF file in the folder or on the hub, if there are several. Its weights are unpacked when it is read."""
    adapter: FileRef | None = None
    """A folder with low-rank adapters (peft) for this model, as safetensors."""
    trust_remote_code: bool = False
    """Whether code that the model brings may run, in a process of its own. Such a model on the hub needs a `revision`:
    the 40 digits of a commit. Only the command line, or a recipe that you trust, can set it."""
    architecture: Architecture
    """``causal``: continues the prompt. ``seq2seq``: reads the prompt and writes a separate text (T5, BART)."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"]
    """The number type of the computation; ``auto``: as the weights are stored (GGUF: float32)."""
    wrapping: ChatWrapping | None = None
    """How conversations become one text; ``null``: by the chat template of the model."""
    system_role: Literal["own", "merge"] = "own"
    """``merge``: moves system messages before the first user message, for models without system messages."""
    chat_values: dict[str, JsonValue] = {}
    """Further values for the chat template, for instance ``enable_thinking: false``."""
    max_input_tokens: PositiveCount | None = None
    """Most tokens of a prompt; ``null``: the context of the model minus the new tokens."""
    overflow: Literal["refuse", "truncate"] = "refuse"
    """A longer prompt: its row fails, or it is cut (a causal model keeps its end, a seq2seq model its beginning)."""
    device: Annotated[str, RuntimeOption()] = "auto"
    """``cuda``, ``cuda:1``, ``cpu``; ``auto`` is ``cuda`` if there is one, else ``cpu``."""
    batch_size: Annotated[PositiveCount, RuntimeOption()] = 16
    """Requests that are answered together; sampled replies are generated one by one.

    A runtime option, as the most likely tokens do not depend on it, except for rounding: in half precision, two equally
    likely tokens may swap.
    """

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.name is None) == (self.path is None):
            raise ValueError("set one of `name` (ORGANISATION/MODEL on the hub) and `path` (a folder with a model)")
        if self.path is not None and self.revision is not None:
            raise ValueError("`revision` belongs to `name`; a folder has no revision")
        if self.trust_remote_code and self.path is None and not re.fullmatch("[0-9a-f]{40}", self.revision or ""):
            raise ValueError("`trust_remote_code` needs a `revision` of 40 digits: another commit is other code")
        if self.trust_remote_code and self.gguf_file is not None:
            raise ValueError("`trust_remote_code` is for safetensors: a GGUF file brings no code")
        if self.structured != "prompt":
            raise ValueError("`structured` must be `prompt`: these models cannot be forced to write JSON")
        if self.gguf_file is not None and not self.gguf_file.endswith(SUFFIX):
            raise ValueError("`gguf_file` is the name of a file that ends in .gguf")
        if reserved := sorted(RESERVED & set(self.chat_values)):
            raise ValueError(f"chat_values: {', '.join(reserved)} cannot be set")
        if self.wrapping is not None and self.chat_values:
            raise ValueError("`chat_values` go to a chat template, which `wrapping` replaces")
        return self

    @property
    def looks_elsewhere(self) -> bool:
        """What is named on the hub is read from the cache of its library."""
        return self.name is not None


class TransformersBody(Spec):
    """A journaled reply: the text of the model, and what ended it."""

    kind: Literal["transformers"]
    text: str
    finish: Literal["end", "stop", "length"]
    prompt_tokens: int
    completion_tokens: int
    cut: bool
    """Whether the prompt was truncated."""
    made_with: dict[str, str]


class TransformersModel(LocalModel):
    """A model of the `transformers` library, from safetensors or GGUF. Custom code runs in a process of its own.

    Tokens are sampled if `temperature` is above 0, or if it is unset and one of `top_p`, `top_k`, `min_p` is set.
    Otherwise the most likely tokens are taken, with one beam. Of the model's own generation settings, only the token
    ids are used. A sampled reply depends on the request, `seed` and sample number only, not on other requests.
    """

    kind: ClassVar[str] = "transformers"
    spec_class: ClassVar[type[KindSpec]] = TransformersSpec
    settings: ClassVar[frozenset[str]] = frozenset({
        "temperature", "top_p", "top_k", "min_p", "max_new_tokens", "repetition_penalty", "no_repeat_ngram_size",
        "stop", "seed",
    })  # fmt: skip
    required: ClassVar[frozenset[str]] = frozenset({"max_new_tokens"})
    spec: TransformersSpec

    def __init__(self, spec: TransformersSpec) -> None:
        super().__init__(spec)
        self.batch_size = spec.batch_size
        self._identity: dict[str, Any] | None = None
        self._engine: LocalEngine | None = None
        self._process: RemoteCodeProcess | None = None

    def ready(self) -> None:
        """InstallationError if torch or transformers is missing, peft for adapters, or gguf for a GGUF file."""
        adapts, unpacks = self.spec.adapter is not None, self._place()[1] is not None
        wanted = ("torch", "transformers", *(["peft"] if adapts else []), *(["gguf"] if unpacks else []))
        require_extra("hf", "the model kind 'transformers'", wanted)

    @property
    def label(self) -> str:
        """Its name on the hub, or the name of its folder."""
        return (
            self.spec.name or Path(self.spec.path.path if self.spec.path else "").name.removesuffix(SUFFIX) or self.kind
        )

    def identity(self) -> Mapping[str, Any]:
        """The model (a folder by its contents) and the settings that shape replies; DataError without the folder."""
        if self._identity is None:
            spec = self.spec.model_dump(mode="json", include=set(SHAPING))
            weights = {} if self.spec.gguf_file is None else {"gguf_file": self.spec.gguf_file}
            if self.spec.path is not None:
                at, gguf = find_gguf(self.spec.path.file, self.spec.gguf_file)
                code = self.spec.trust_remote_code
                weights = {"sha256": weights_sha256(at, code=code) if gguf is None else file_sha256(at / gguf)}
            if self.spec.trust_remote_code:
                weights["trust_remote_code"] = "true"
            if self.spec.adapter is not None:
                weights["adapter_sha256"] = weights_sha256(self.spec.adapter.file)
            self._identity = {"kind": self.kind, **spec, **weights}
        return self._identity

    def generate(self, requests: Sequence[Request]) -> list[str]:
        """One body per request, in order; nothing is generated if one of them is refused."""
        with _TURN:
            if self.spec.trust_remote_code and INSIDE not in os.environ:
                self.ready()
                self._process = self._process or RemoteCodeProcess(self)
                return self._process.generate(requests)
            if self._engine is None:
                self.ready()
                self._engine = LocalEngine(self._source())
            engine = self._engine
            prompts = [self._prompt(engine, request) for request in requests]
            bodies = [""] * len(requests)
            for batch in self._batches(requests, prompts):
                sampling = self.sent_settings(requests[batch[0]].sampling)
                seed = _seed(requests[batch[0]], sampling) if _is_sampled(sampling) else None
                replies = engine.generate([prompts[index][0] for index in batch], sampling, seed)
                for index, reply in zip(batch, replies, strict=True):
                    bodies[index] = _body(engine, reply, prompts[index], tuple(sampling.get("stop") or ()))
            return bodies

    def read(self, body: str) -> Reply:
        """The reply with restored line breaks and tabs; ValueError for an invalid body."""
        parsed = TransformersBody.model_validate_json(body)
        text = parsed.text if self.spec.wrapping is None else unwrap_reply(self.spec.wrapping, parsed.text)
        usage = Usage(prompt=parsed.prompt_tokens, completion=parsed.completion_tokens)
        if parsed.finish == "length":
            return Reply(text, "truncated", usage)
        return Reply(text, "complete" if text.strip() else "empty", usage)

    def _place(self) -> tuple[Path | None, str | None]:
        """The folder of the model, if it has one, and its GGUF file."""
        if self.spec.path is None:
            return None, self.spec.gguf_file
        return find_gguf(self.spec.path.file, self.spec.gguf_file)

    def _source(self) -> WeightsSource:
        spec = self.spec
        if spec.name is not None and Path(spec.name).exists():
            raise ServiceError(
                f"model.name is {spec.name}, which is also a folder here",
                next=f"write model.path={spec.name} if you mean the folder; else run the command in another one",
            )
        folder, gguf = self._place()
        adapter = None if spec.adapter is None else spec.adapter.file
        return WeightsSource(
            self.label, spec.architecture, spec.dtype, spec.device, folder, spec.revision, adapter, gguf,
            spec.trust_remote_code,
        )  # fmt: skip

    def _batches(self, requests: Sequence[Request], prompts: Sequence[tuple[list[int], bool]]) -> Iterator[list[int]]:
        """Positions of the requests of each batch: equal settings, and prompts of similar length.

        The length is exactly equal if padding would shape the reply.
        """
        groups: dict[tuple[str, int], list[int]] = {}
        causal = self.spec.architecture == "causal"
        for index, request in enumerate(requests):
            sampling = self.sent_settings(request.sampling)
            exact = causal and any(sampling.get(name) is not None for name in _LOOKING_BACK)
            length = len(prompts[index][0]) if exact else 0
            groups.setdefault((json.dumps(sampling, sort_keys=True), length), []).append(index)
        for positions in groups.values():
            size = 1 if _is_sampled(requests[positions[0]].sampling) else self.batch_size
            positions.sort(key=lambda index: len(prompts[index][0]))
            yield from (positions[start : start + size] for start in range(0, len(positions), size))

    def _prompt(self, engine: LocalEngine, request: Request) -> tuple[list[int], bool]:
        """The prompt tokens of a request, and whether they were truncated."""
        new: int | None = request.sampling.get("max_new_tokens")
        if new is None:
            what = f"{self.label} needs a limit of new tokens"
            raise ServiceError(what, next="set sampling.max_new_tokens of the step")
        text = self._text(engine, chat_messages(request))
        special = self.spec.wrapping is not None
        ids = engine.encode(text, special=special)
        beside = new if self.spec.architecture == "causal" else 0
        room = None if engine.context is None else max(0, engine.context - beside)
        limit = min((most for most in (room, self.spec.max_input_tokens) if most is not None), default=len(ids))
        if len(ids) <= limit:
            return ids, False
        if self.spec.overflow == "truncate" and limit > 0:
            return engine.encode(text, special=special, limit=limit), True
        why = "max_input_tokens" if limit == self.spec.max_input_tokens else f"its context minus {beside} new ones"
        raise RefusedRequestError(f"the prompt has {len(ids)} tokens, and {self.label} accepts {limit} ({why})")

    def _text(self, engine: LocalEngine, messages: tuple[Message, ...]) -> str:
        """The conversation as the model reads it."""
        spec = self.spec
        if spec.system_role == "merge":
            messages = merge_system_turns(messages)
        try:
            if spec.wrapping is not None:
                return wrap_messages(spec.wrapping, messages)
            return apply_chat_template(engine.tokenizer, messages, spec.chat_values)
        except UnfitConversationError as error:
            what = f"the conversation does not fit {self.label}"
            raise ServiceError(what, why=str(error), next=error.next) from error


def _is_sampled(sampling: Mapping[str, Any]) -> bool:
    """Whether tokens are sampled under these settings."""
    temperature = sampling.get("temperature")
    if temperature is not None:
        return bool(temperature > 0)
    return any(sampling.get(name) is not None for name in ("top_p", "top_k", "min_p"))


def _seed(request: Request, sampling: Mapping[str, Any]) -> int:
    messages = [[message.role, message.content] for message in chat_messages(request)]
    parts = json.dumps([messages, sampling, request.sample], ensure_ascii=False, sort_keys=True)
    return int.from_bytes(hashlib.sha256(parts.encode()).digest()[:7], "big")


def _body(engine: LocalEngine, drawn: GeneratedTokens, prompt: tuple[list[int], bool], stops: tuple[str, ...]) -> str:
    text = engine.decode(drawn.ids)
    found = [at for stop in stops if (at := text.find(stop)) >= 0]
    if found:
        text = text[: min(found)]
    body = TransformersBody(
        kind="transformers", text=text, finish="stop" if found else "end" if drawn.ended else "length",
        prompt_tokens=len(prompt[0]), completion_tokens=len(drawn.ids), cut=prompt[1], made_with=engine.made_with,
    )  # fmt: skip
    return body.model_dump_json()


SUFFIX = ".gguf"


def find_gguf(path: Path, name: str | None = None) -> tuple[Path, str | None]:
    """The folder of a model and the GGUF file in it, ``None`` for safetensors.

    Args:
        path: A GGUF file, or a folder.
        name: The file in the folder, if it is named.

    Raises:
        DataError: The file is no GGUF file or is missing, or several are in the folder and none is named.
    """
    if path.is_file():
        if path.suffix.lower() != SUFFIX:
            next = "name a folder with config.json, tokenizer and safetensors, or a file that ends in .gguf"
            raise DataError("this is no model", where=str(path), why="it is a file, and no GGUF file", next=next)
        return path.parent, path.name
    if name is not None:
        if not (path / name).is_file():
            known = ", ".join(sorted(file.name for file in path.glob(f"*{SUFFIX}"))) or "none"
            raise DataError(f"{path} has no file {name}", why=f"GGUF files there: {known}", next="set model.gguf_file")
        return path, name
    if any(path.glob("*.safetensors")):
        return path, None
    files = sorted(file.name for file in path.glob(f"*{SUFFIX}"))
    if len(files) > 1:
        why = f"they are {', '.join(files)}"
        raise DataError(f"{path} has several GGUF files", why=why, next="name one of them: model.gguf_file=NAME")
    return path, files[0] if files else None
