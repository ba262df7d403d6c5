"""The interface of models: requests, replies, receipts, and the base classes of local and hosted models."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from benchbuilder.config import KindSpec

MessageRole = Literal["system", "user", "assistant"]
ASK_FOR_JSON = "Answer with one JSON object that satisfies this JSON Schema, and with nothing else: "
"""Precedes the schema in a message if the backend does not receive the schema itself."""
ReplyOutcome = Literal["complete", "truncated", "thought_out", "empty", "refused", "filtered"]
"""``thought_out``: the limit of tokens came before the answer began."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    role: MessageRole
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model.

    Attributes:
        messages: The turns so far.
        sampling: Sampling settings by name (see `Sampling`).
        schema: JSON Schema of the reply, if a structured reply is wanted.
        sample: Distinguishes equal requests that need independent replies.
        expected: What the step considers a typical reply. Quotes count its tokens. It is neither sent nor part of the
            key.
    """

    messages: tuple[Message, ...]
    sampling: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request and its reply, as the service counted them."""

    __pydantic_config__ = ConfigDict(extra="forbid")
    prompt: Annotated[int, Field(ge=0)]
    completion: Annotated[int, Field(ge=0)]
    cached: Annotated[int, Field(ge=0)] = 0
    """Prompt tokens that came from the cache of the service."""
    reasoning: Annotated[int, Field(ge=0)] = 0
    """Tokens of the reply that are reasoning; `completion` contains them."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a model. `usage` is ``None`` if unknown; `assumed` marks the placeholder of a quote.

    `model` is the name of the model that the service says it used; empty if it says none. `thoughts` is the reasoning
    before the text, if the service gives it.
    """

    text: str
    outcome: ReplyOutcome
    usage: Usage | None = None
    assumed: bool = False
    model: str = ""
    thoughts: str = ""


@dataclass(frozen=True)
class Receipt:
    """The requests of one step to one model and their cost, over all runs of a build.

    `calls` counts the paid replies, `batched` those of them that were sent in batches, `outcomes` all of them by
    outcome. `uncounted` replies came without plausible usage: our own count replaces it. `unanswered` counts attempts
    that may be billed although no reply came (timeouts, broken connections, a killed build). `unanswered_tokens` is
    the upper bound of their tokens, and `usd` includes their cost. `usd` is ``None`` if a price is unknown;
    `prices_as_of` is the date of the price table.
    """

    step: str
    model: str
    endpoint: str
    calls: int
    batched: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    uncounted: int
    unanswered: int
    unanswered_tokens: int
    usd: float | None
    prices_as_of: str
    outcomes: Mapping[str, int]
    pending: int = 0
    """Unanswered requests in unfinished batches: their replies may still come."""
    reasoning_tokens: int = 0
    """The tokens of `completion_tokens` that are reasoning."""
    reasoning_estimated: bool = False
    """Whether some of them are our own count, because the service gave the reasoning and not its tokens."""


class TransientError(Exception):
    """A failed attempt that may succeed later: too many requests, a fault of the service, no connection.

    Args:
        message: What happened.
        retry_after_s: Seconds to wait, if the service asked for a pause.
        throttled: Whether the service received too many requests.
        billed: Whether the service may have done the work (a timeout, or a connection that broke after sending).
        unreached: Whether the service could not be reached (a refused connection, an unknown host).
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        throttled: bool = False,
        billed: bool = False,
        unreached: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after_s, self.throttled, self.billed = retry_after_s, throttled, billed
        self.unreached = unreached


class RefusedRequestError(Exception):
    """The service refuses this request for good (400 and similar): its row fails, the others continue."""


class BatchGoneError(Exception):
    """The service does not know a batch or its result file: it was deleted, or belongs to another key."""


class Model(ABC):
    """Writes replies. Its constructor imports nothing heavy; `open` and `generate` do.

    A backend returns the raw `body` of a reply. The gateway journals the body, then `read` turns it into a Reply.
    """

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]
    can_answer: ClassVar[bool] = True
    """Whether it answers at all. If not, rows that need a model are dropped with the reason ``needs_model``."""
    settings: ClassVar[frozenset[str]] = frozenset()
    """The fields of `Sampling` that the backend supports."""
    required: ClassVar[frozenset[str]] = frozenset()
    """The settings that must be set."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @property
    def label(self) -> str:
        """The name of the model, for people."""
        return str(getattr(self.spec, "name", "") or self.kind)

    def identity(self) -> Mapping[str, Any]:
        """Everything that shapes replies besides the request (endpoint, name, wrapping); part of the key of a reply."""
        return {"kind": self.kind}

    @property
    def replies_file(self) -> str:
        """Name of the file of recorded replies, if the model replays them; else ""."""
        return ""

    def ready(self) -> None:
        """Check, without importing them, that all required libraries are installed.

        Raises:
            InstallationError: A library is missing.
        """

    def known_settings(self) -> frozenset[str]:
        """The sampling settings that this backend supports, by its kind and its spec."""
        return self.settings

    def sent_settings(self, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """The part of `sampling` that the backend supports."""
        return {name: value for name, value in sampling.items() if name in self.known_settings()}

    @abstractmethod
    def read(self, body: str) -> Reply:
        """Parse a journaled body.

        Raises:
            ValueError: The body holds no reply.
        """


class LocalModel(Model):
    """A model in this process; answers many requests at a time."""

    batch_size: int = 1

    @abstractmethod
    def generate(self, requests: Sequence[Request]) -> list[str]:
        """Answer requests; the first call loads the model.

        Returns:
            One body per request, in order.

        Raises:
            RefusedRequestError: A single request was given and cannot be answered.
        """


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch; `done` of `total` requests have a result, good or bad.

    `phase` is ``ended`` when results can be fetched, even if some requests have none. It is ``failed`` when the service
    rejected the whole batch; `message` then holds its reason.
    """

    phase: Literal["running", "ended", "failed"]
    message: str
    done: int = 0
    total: int = 0


class BatchService(ABC):
    """Accepts batches of requests, which are answered within about a day.

    Every method raises TransientError if a retry may succeed, and ServiceError if not. We give each batch a `mark`. If
    a kill comes between submission and the receipt of the id, the mark identifies the batch.
    """

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    """The largest size of one batch, in bytes."""

    @abstractmethod
    def size(self, request: Request) -> int:
        """Bytes of a request in a batch, with a key of 64 characters."""

    @abstractmethod
    async def submit(self, mark: str, requests: Sequence[tuple[str, Request]]) -> str:
        """Submit requests, each with its key; return the id of the batch."""

    @abstractmethod
    async def find(self, mark: str) -> str | None:
        """The id of the batch with this mark, if one was submitted."""

    @abstractmethod
    async def poll(self, ident: str) -> BatchState:
        """The state of a batch; BatchGoneError if it does not exist."""

    @abstractmethod
    def results(self, ident: str) -> AsyncIterator[tuple[str, str | Exception]]:
        """Stream the results of an ended batch, in any order.

        Yields:
            Key and body; or key and the exception that `HostedModel.send` would have raised. Requests without a result
            may be missing.

        Raises:
            BatchGoneError: The service no longer keeps the results.
        """


class HostedModel(Model):
    """A model behind an address; the gateway decides when to send a request."""

    async def open(self) -> None:
        """Import libraries and open connections, unless that is done.

        Raises:
            InstallationError: A library is missing.
            ServiceError: The service cannot be used, for instance because the key is missing.
        """

    def batches(self) -> BatchService | None:
        """The batch interface of the service, or ``None``."""
        return None

    @property
    def limit_remedy(self) -> str:
        """What to set if the service ignores the limit of tokens of a reply."""
        return "Every reply is charged at its real length"

    def take_remarks(self) -> Sequence[str]:
        """What was noticed about the service since the last call, for people."""
        return ()

    @abstractmethod
    async def send(self, request: Request) -> str:
        """Make one attempt and return the body of the answer.

        Raises:
            TransientError: Another attempt may succeed.
            RefusedRequestError: This request will never succeed.
            ServiceError: No request to this service can succeed (a wrong key, an unknown model).
        """

    async def close(self) -> None:
        """Close connections."""


def request_key(model: Model, request: Request) -> str:
    """SHA-256 of everything that shapes a reply."""
    return request_keys(model, request)[0]


def request_keys(model: Model, request: Request) -> tuple[str, str]:
    """The key of a request, and its loose key, which leaves out `max_new_tokens`."""
    parts = {
        "model": dict(model.identity()),
        "messages": [[message.role, message.content] for message in request.messages],
        "schema": request.schema,
        "structured": model.spec.structured if request.schema is not None else None,
        "sample": request.sample,
    }
    shared = json.dumps(parts, ensure_ascii=False, sort_keys=True).encode()
    sampling = model.sent_settings(request.sampling)
    digest = hashlib.sha256(shared)
    loose = digest.copy()
    digest.update(json.dumps(sampling, ensure_ascii=False, sort_keys=True).encode())
    sampling.pop("max_new_tokens", None)
    loose.update(json.dumps({"sampling without limit": sampling}, ensure_ascii=False, sort_keys=True).encode())
    return digest.hexdigest(), loose.hexdigest()
