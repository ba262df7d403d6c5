"""What a recipe says of models: which one, how its replies are drawn, and how it is reached."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from benchbuilder.config.spec.base import FileRef, KindSpec, RuntimeOption, Spec

PositiveCount = Annotated[int, Field(ge=1)]


class Sampling(Spec):
    """How replies are drawn. What is ``null`` is left to the model; what is set is part of every request's key.

    The names are those of the `transformers` library; an adapter translates them for its backend.
    """

    temperature: Annotated[float | None, Field(ge=0)] = None
    """0 takes the likeliest token each time."""
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    top_k: PositiveCount | None = None
    min_p: Annotated[float | None, Field(ge=0, le=1)] = None
    max_new_tokens: PositiveCount | None = None
    """Tokens that a reply may have; one that reaches it is `truncated`."""
    repetition_penalty: Annotated[float | None, Field(gt=0)] = None
    no_repeat_ngram_size: PositiveCount | None = None
    frequency_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    presence_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None

    def explicit_settings(self) -> dict[str, Any]:
        """The settings that are not left to the model, as plain data."""
        return self.model_dump(mode="json", exclude_none=True)


class ModelSpec(KindSpec):
    """What every model that answers has."""

    unsupported: Literal["error", "omit"] = "error"
    """What becomes of a sampling setting that the backend does not know; what is omitted stands in key and card."""
    reuse: Literal["exact", "keep_complete"] = "exact"
    """``keep_complete``: a complete reply to the same request under a lower `max_new_tokens` counts too."""
    structured: Literal["json_schema", "json_object", "prompt"] = "prompt"
    """How a step that wants JSON gets it: the backend is given the schema, is told to write JSON, or is only asked."""
    prices: Annotated[FileRef | None, RuntimeOption()] = None
    """A dated table of prices (YAML). Without one, or without the model in it, costs are unknown and said to be."""
    token_counter: Annotated[FileRef | None, RuntimeOption()] = None
    """A ``tokenizer.json`` to count tokens with before a call; without one they are estimated by script."""


class BatchSpec(Spec):
    """How requests are handed in by the batch: all knobs, live and batched requests share replies."""

    max_requests: Annotated[int, Field(ge=1, le=50_000), RuntimeOption()] = 50_000
    """Requests in one batch; more make several."""
    poll_s: Annotated[float, Field(gt=0), RuntimeOption()] = 60.0
    """Seconds between two looks at a batch."""
    wait_s: Annotated[float, Field(ge=0), RuntimeOption()] = 3600.0
    """Seconds to wait for batches; then the build stops with exit code 75, and the same command goes on."""


class HostedSpec(ModelSpec):
    """A model behind an address. Everything about how it is reached is a knob but the address itself."""

    base_url: str | None = None
    """The address, which the user sets, not a recipe."""
    api_key_env: Annotated[str | None, RuntimeOption()] = None
    """The name of the environment variable that holds the key; set by the user too. Keys stand in no file."""
    concurrency: Annotated[int, Field(ge=1, le=4096), RuntimeOption()] = 16
    """Requests in flight at most; fewer while the service says that it is too much."""
    requests_per_minute: Annotated[PositiveCount | None, RuntimeOption()] = None
    tokens_per_minute: Annotated[PositiveCount | None, RuntimeOption()] = None
    """Tokens of prompts and replies, the replies counted at their limit until they are there."""
    timeout_s: Annotated[float, Field(gt=0), RuntimeOption()] = 120.0
    """Seconds until a request without a whole answer is given up and tried again."""
    retries: Annotated[int, Field(ge=0), RuntimeOption()] = 5
    """Further attempts at a request after an answer that may be another next time; then its row fails."""
    give_up_s: Annotated[float, Field(gt=0), RuntimeOption()] = 300.0
    """Seconds without a single good answer, while others fail, after which the build stops."""
    batch: Annotated[BatchSpec | None, RuntimeOption()] = None
    """Hand requests in by the batch, where the service takes them."""


def without_batching(spec: KindSpec) -> KindSpec:
    """The same model, asked request by request where it would have been asked by the batch."""
    return spec.model_copy(update={"batch": None}) if isinstance(spec, HostedSpec) else spec
