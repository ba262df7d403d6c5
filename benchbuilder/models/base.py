"""Models: what writes a text that no rule can write."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from benchbuilder.config import KindSpec

MessageRole = Literal["system", "user", "assistant"]
ASK_FOR_JSON = "Answer with one JSON object that satisfies this JSON Schema, and with nothing else: "
"""What stands before the schema in a message, where the backend is not given the schema itself."""
ReplyOutcome = Literal["complete", "truncated", "empty", "refused", "filtered"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: MessageRole
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model: the turns so far, the settings, the JSON Schema of the reply if one is wanted.

    `sample` tells equal requests apart that want replies of their own. `expected` is what the stage thinks a good
    reply looks like: quotes count its tokens; it is neither sent nor part of the key.
    """

    messages: tuple[Message, ...]
    sampling: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply as the service counted them."""

    prompt: int
    completion: int
    cached: int = 0
    """Those of the prompt that the service had in its cache."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. `usage` is ``None`` if the service did not say; `assumed` marks a quote's stand-in."""

    text: str
    outcome: ReplyOutcome
    usage: Usage | None = None
    assumed: bool = False


@dataclass(frozen=True)
class Receipt:
    """What a step asked of a model and what it cost, over all runs of a build.

    `calls` counts the replies that were paid for, `batched` those of them that were handed in by the batch, `outcomes`
    all of them by outcome. `uncounted` are replies for which the service gave no usage: their tokens are an estimate.
    `unanswered` counts attempts that may be billed though no reply came (timeouts, broken connections, a killed
    build), `unanswered_tokens` the most that these can have had; `usd` holds their cost. `usd` is ``None`` where a
    price is not known; `prices_as_of` dates the table.
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
    """Those of the `unanswered` that are in batches which are not through: their replies may still come."""


class TransientError(Exception):
    """An attempt failed that may succeed next time: too many requests, a fault of the service, no connection.

    `retry_after_s` is what the service asked for; `throttled` says that it was asked too often; `billed` that it may
    have done the work all the same (a timeout, a connection that broke after the request was sent); `unreached` that
    nobody was there (a refused connection, an unknown host).
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
    """The service refuses this one request whatever happens (400 and the like): its row fails, the others go on."""


class BatchGoneError(Exception):
    """The service does not know a batch, or a file of its results, any more; or never did under this key."""


class Model(ABC):
    """Writes replies. Made from its spec without importing anything heavy; `open` does that.

    A reply travels as the `body` that the backend gave, which is journaled before `read` makes a Reply of it.
    """

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]
    can_answer: ClassVar[bool] = True
    """Whether it answers at all; what only a model can do is dropped with ``needs_model`` if it does not."""
    settings: ClassVar[frozenset[str]] = frozenset()
    """The fields of `Sampling` that the backend knows."""
    required: ClassVar[frozenset[str]] = frozenset()
    """Those of them that it cannot do without."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @property
    def label(self) -> str:
        """How people call it: the name of the model."""
        return str(getattr(self.spec, "name", "") or self.kind)

    def identity(self) -> Mapping[str, Any]:
        """Everything about the model that shapes its replies besides the request: endpoint, name, wrapping."""
        return {"kind": self.kind}

    @property
    def replies_file(self) -> str:
        """The file that its replies were recorded in, if it only repeats what `label` once wrote."""
        return ""

    def ready(self) -> None:
        """InstallationError if a library is missing that it needs; none is imported."""

    def known_settings(self) -> frozenset[str]:
        """The sampling settings that this backend knows, by its kind and its spec."""
        return self.settings

    def sent_settings(self, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that are sent: those that the backend knows."""
        return {name: value for name, value in sampling.items() if name in self.known_settings()}

    @abstractmethod
    def read(self, body: str) -> Reply:
        """The reply that a journaled body holds; ValueError if it holds none."""


class LocalModel(Model):
    """Answers in this process, many requests at a time."""

    batch_size: int = 1

    @abstractmethod
    def generate(self, requests: Sequence[Request]) -> list[str]:
        """A body for each request, in order; loads what it needs on the first call.

        RefusedRequestError if it has none for the one request that it was given.
        """


@dataclass(frozen=True, slots=True)
class BatchState:
    """How a batch is getting on; `done` of `total` requests have a result, good or bad.

    `phase` is ``ended`` when what there is can be fetched, whether or not each request has a result, and ``failed``
    when the batch was not taken as a whole: `message` says why, in the service's words.
    """

    phase: Literal["running", "ended", "failed"]
    message: str
    done: int = 0
    total: int = 0


class BatchService(ABC):
    """Takes requests by the batch, to be answered within a day or so.

    Every method raises TransientError where another try may succeed, ServiceError where none can. A batch has a
    `mark` of ours by which it is found again if a kill came between handing it in and hearing its id.
    """

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    """The most that one batch may hold."""

    @abstractmethod
    def size(self, request: Request) -> int:
        """Bytes that a request takes in a batch, with a key of 64 characters."""

    @abstractmethod
    async def submit(self, mark: str, requests: Sequence[tuple[str, Request]]) -> str:
        """Hand in requests, each with its key; the id of the batch."""

    @abstractmethod
    async def find(self, mark: str, since: float) -> str | None:
        """The id of the batch with this mark, if there is one handed in `since` then (seconds since 1970)."""

    @abstractmethod
    async def poll(self, ident: str) -> BatchState:
        """How a batch is getting on; BatchGoneError if there is none."""

    @abstractmethod
    def results(self, ident: str) -> AsyncIterator[tuple[str, str | Exception]]:
        """Of a batch that has ended: key and body, or what `HostedModel.send` would have raised, in any order.

        They are read as they come. Requests without a result may be missing. BatchGoneError if they are not kept.
        """


class HostedModel(Model):
    """Answers over the network; the gateway decides when it is asked."""

    async def open(self) -> None:
        """Import and open what `send` needs, unless that is done; InstallationError or ServiceError if it cannot be."""

    def batches(self) -> BatchService | None:
        """How requests are handed in by the batch, where the service takes them so."""
        return None

    @abstractmethod
    async def send(self, request: Request) -> str:
        """The body of the answer to one attempt.

        TransientError if another attempt may succeed, RefusedRequestError if none will, ServiceError if no request
        to this service can (a wrong key, an unknown model).
        """

    async def close(self) -> None:
        """Give back connections."""


def request_key(model: Model, request: Request) -> str:
    """SHA-256 of everything that shapes a reply."""
    return request_keys(model, request)[0]


def request_keys(model: Model, request: Request) -> tuple[str, str]:
    """The key of a request, and its loose key: the same of everything but `max_new_tokens`."""
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
