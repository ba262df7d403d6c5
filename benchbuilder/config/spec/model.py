"""The models of a recipe: which one, how its replies are drawn, and how it is reached."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from benchbuilder.config.spec.base import FileRef, KindSpec, RuntimeOption, Spec

PositiveCount = Annotated[int, Field(ge=1)]


class Sampling(Spec):
    """How replies are drawn. ``null`` leaves a setting to the model; other values are part of every request's key.

    The names are those of the `transformers` library; an adapter translates them for its backend.
    """

    temperature: Annotated[float | None, Field(ge=0)] = None
    """0 always takes the likeliest token."""
    top_p: Annotated[float | None, Field(gt=0, le=1)] = None
    top_k: PositiveCount | None = None
    min_p: Annotated[float | None, Field(ge=0, le=1)] = None
    max_new_tokens: PositiveCount | None = None
    """Most tokens of a reply; one that reaches this number is `truncated`."""
    repetition_penalty: Annotated[float | None, Field(gt=0)] = None
    no_repeat_ngram_size: PositiveCount | None = None
    frequency_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    presence_penalty: Annotated[float | None, Field(ge=-2, le=2)] = None
    stop: tuple[str, ...] | None = None
    seed: Annotated[int | None, Field(ge=-(2**63), le=2**63 - 1)] = None

    def explicit_settings(self) -> dict[str, Any]:
        """The settings that are not left to the model, as plain data."""
        return self.model_dump(mode="json", exclude_none=True)


class ReasoningSpec(Spec):
    """How long a model thinks before it answers.

    `effort` is the service's own word; ``none`` asks for no thinking, ``null`` leaves it to the model. Services count
    thinking in the limit of new tokens. So what is sent as the limit is `max_new_tokens`, the limit of the answer, and
    `max_tokens` for thinking. `style` is how the service is told: ``openai`` (reasoning_effort), ``openrouter``
    (reasoning), or ``vllm`` (enable_thinking of the chat template, and thinking_token_budget); ``auto`` goes by the
    address.
    """

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    max_tokens: PositiveCount | None = None
    """Tokens for thinking; ``null``: 8,192, and the service is given no budget."""
    style: Literal["auto", "openai", "openrouter", "vllm"] = "auto"
    retry: bool = False
    """Whether a question is asked once more, with twice the tokens for thinking, if they left none for the answer."""

    @property
    def allowance(self) -> int:
        """The tokens for thinking that are added to the limit of the answer."""
        return 0 if self.effort == "none" else self.max_tokens or 8192


class ModelSpec(KindSpec):
    """Settings of every model that answers."""

    unsupported: Literal["error", "omit"] = "error"
    """What happens to a sampling setting that the backend does not know; key and card name omitted ones."""
    reuse: Literal["exact", "keep_complete"] = "exact"
    """``keep_complete``: a complete reply to the same request under a lower `max_new_tokens` counts too."""
    structured: Literal["json_schema", "json_object", "prompt"] = "prompt"
    """How a step gets JSON: the backend gets the schema, is told to write JSON, or only the prompt asks for it."""
    prices: Annotated[FileRef | None, RuntimeOption()] = None
    """A dated table of prices (YAML). Without it, or if the model is not in it, costs are reported as unknown."""
    token_counter: Annotated[FileRef | None, RuntimeOption()] = None
    """A ``tokenizer.json`` for counting tokens before a call; without one they are estimated by script."""


class BatchSpec(Spec):
    """How requests are sent in batches: all runtime options; live and batched requests share replies."""

    max_requests: Annotated[int, Field(ge=1, le=50_000), RuntimeOption()] = 50_000
    """Most requests in one batch; more make several batches."""
    poll_s: Annotated[float, Field(gt=0), RuntimeOption()] = 60.0
    """Seconds between two checks of a batch."""
    wait_s: Annotated[float, Field(ge=0), RuntimeOption()] = 3600.0
    """Seconds to wait for batches; then the build stops with exit code 75, and the same command continues."""


class HostedSpec(ModelSpec):
    """A model behind an address. All settings of the connection are runtime options, except the address."""

    base_url: str | None = None
    """The address; only the user sets it, not a recipe."""
    api_key_env: Annotated[str | None, RuntimeOption()] = None
    """The name of the environment variable with the key; only the user sets it. Keys are in no file."""
    concurrency: Annotated[int, Field(ge=1, le=4096), RuntimeOption()] = 16
    """Most requests in flight; fewer while the service reports overload."""
    requests_per_minute: Annotated[PositiveCount | None, RuntimeOption()] = None
    tokens_per_minute: Annotated[PositiveCount | None, RuntimeOption()] = None
    """Tokens of prompts and replies; pending replies count at their limit."""
    timeout_s: Annotated[float, Field(gt=0), RuntimeOption()] = 120.0
    """Seconds until a request without a complete answer is abandoned and repeated."""
    retries: Annotated[int, Field(ge=0), RuntimeOption()] = 5
    """Further attempts after a temporary error; then the row fails."""
    give_up_s: Annotated[float, Field(gt=0), RuntimeOption()] = 300.0
    """Seconds with failures and without a single good answer, after which the build stops."""
    batch: Annotated[BatchSpec | None, RuntimeOption()] = None
    """Send requests in batches, if the service accepts them."""


def without_batching(spec: KindSpec) -> KindSpec:
    """The same model, with single requests instead of batches."""
    return spec.model_copy(update={"batch": None}) if isinstance(spec, HostedSpec) else spec
