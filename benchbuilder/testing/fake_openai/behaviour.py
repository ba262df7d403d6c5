"""How the fake service behaves: plain data, so that a test or a shell can write it as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from benchbuilder.config.spec.base import Spec

Effect = Literal[
    "answer", "status", "rate_limit", "quota", "server_error", "unavailable", "unauthorized", "forbidden", "no_model",
    "bad_request", "context_length", "filtered_request", "unsupported_parameter", "unsupported_format", "redirect",
    "drop_before", "drop_after", "drop_midway", "hang", "dribble", "garbage", "html", "wrong_shape", "error_body",
    "truncate", "empty", "blank", "refuse", "filter", "without_field", "no_usage",
]  # fmt: skip
"""What becomes of a request.

* ``status`` answers with the rule's `status`, `code` and `message`; ``rate_limit`` (429), ``quota`` (429 that no
  waiting mends), ``server_error`` (500), ``unavailable`` (503), ``unauthorized`` (401), ``forbidden`` (403),
  ``no_model`` (404), ``bad_request``, ``context_length``, ``filtered_request``, ``unsupported_parameter`` and
  ``unsupported_format`` (400) answer as OpenAI does. ``redirect`` points to `location`.
* ``drop_before`` closes the connection at once, ``drop_after`` when the answer is due, ``drop_midway`` after half of
  it; ``hang`` never answers; ``dribble`` sends the body in small pieces over `seconds`.
* ``garbage`` is no JSON, ``html`` a page, ``wrong_shape`` JSON without choices, ``error_body`` an error in a 200.
* The rest is a good answer but for one thing: ``truncate`` cuts the text in half (finish reason ``length``),
  ``empty`` and ``blank`` have no text, ``refuse`` fills the refusal, ``filter`` has finish reason ``content_filter``,
  ``without_field`` lacks the field of the JSON that was asked for, ``no_usage`` does not count tokens.
"""


class RequestCondition(Spec):
    """Which requests a rule is about: all conditions that are set must hold; none set holds for each chat request."""

    path: str | None = None
    """A part of the path; without one, a rule is about chat completions (live ones and those of batches)."""
    method: str | None = None
    user: str | None = None
    """A part of the last user message."""
    system: str | None = None
    """A part of the first message, if that is a system message."""
    parameter: str | None = None
    """A top-level field of the body, for instance ``temperature``."""
    nth: tuple[int, ...] | None = None
    """Numbers in the order of arrival, from 1."""
    after: int | None = None
    """Requests that arrive after this number."""
    every: Annotated[int | None, Field(ge=1)] = None
    share: Annotated[float | None, Field(ge=0, le=1)] = None
    """This share of distinct bodies: the same ones each time, live or in a batch."""
    salt: str = ""
    """Another word picks another share."""
    attempts: int | None = None
    """Only the first so many attempts of each body."""


class BehaviourRule(Spec):
    """What becomes of some requests."""

    when: RequestCondition = RequestCondition()
    do: Effect
    status: int = 500
    code: str | None = None
    message: str | None = None
    parameter: str = "temperature"
    """What an ``unsupported_parameter`` complains of; the rule is only about bodies that have it."""
    headers: dict[str, str] = {}
    retry_after: str | None = None
    """The header Retry-After: seconds (``2``), ``date:2`` (an HTTP date two seconds ahead) or ``ms:1500``."""
    location: str = "http://127.0.0.2:9/v1/chat/completions"
    seconds: float = 2.0
    """How long a ``dribble`` takes."""
    latency_s: float | None = None
    """The time until this answer, if not that of the service."""


class BatchBehaviour(Spec):
    """How batches go."""

    polls: Annotated[int, Field(ge=0)] = 2
    """Looks at a batch until it is at its end; before, it is validating, in progress and finalizing."""
    end: Literal["completed", "failed", "expired", "cancelled"] = "completed"
    done_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The share of requests that are done when a batch ends early (expired or cancelled)."""


class TuningBehaviour(Spec):
    """How fine-tuning jobs go."""

    polls: Annotated[int, Field(ge=0)] = 2
    """Looks at a job until it is at its end; before, it is queued and running."""
    end: Literal["succeeded", "failed", "cancelled"] = "succeeded"
    message: str = "The job failed due to an internal error."
    """What is said of a job that failed. One whose training file is not right fails with that error at once."""
    closed: bool = False
    """Whether no job can be made any more (403)."""
    metadata: bool = True
    """Whether metadata of a job are kept."""
    unlisted: Annotated[int, Field(ge=0)] = 0
    """So many lists of jobs do not hold any yet."""


class Behaviour(Spec):
    """Everything that can be set about the service, at its start or while it runs."""

    latency_s: Annotated[float, Field(ge=0)] = 0.0
    """Seconds until an answer."""
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Latency varies by this share of itself, the same way for the same body."""
    rules: tuple[BehaviourRule, ...] = ()
    """The first rule that holds counts."""
    requests_per_minute: Annotated[float | None, Field(gt=0)] = None
    burst: Annotated[int, Field(ge=1)] = 1
    """Requests that may come at once under `requests_per_minute`."""
    max_in_flight: Annotated[int | None, Field(ge=1)] = None
    """More requests at the same time are answered with 429."""
    limit_retry_after: bool = True
    """Whether 429 on account of the limits says when to come back."""
    api_key: str | None = None
    """The key that requests must bring; without it, 401."""
    models: tuple[str, ...] = ()
    """The models that exist, for others 404; any model if empty."""
    unsupported: tuple[str, ...] = ()
    """Fields of the body that are answered with 400."""
    usage: bool = True
    """Whether tokens are counted in replies."""
    cached_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The share of prompt tokens that the usage calls cached."""
    tokens: str = "bytes3"
    """How tokens are counted: ``characters``, ``bytes3`` (three bytes each) or the path of a ``tokenizer.json``."""
    json_replies: Literal["asked", "always", "never"] = "asked"
    """When a reply is wrapped as a JSON object: if a response format asks for it, always or never."""
    json_field: str = "text"
    """The field of such an object if no schema names one."""
    fixed: str | None = None
    """One reply to everything."""
    table: dict[str, str] = {}
    """Replies by a part of the last user message; the longest part that is found counts."""
    script: str | None = None
    """A JSON file with further entries for `table`."""
    plugin: str | None = None
    """A Python file with ``reply(messages, body) -> str | None``; asked first, and ``None`` leaves it to the others."""
    keep_bodies: bool = False
    """Whether the log holds the body of each request."""
    batch: BatchBehaviour = BatchBehaviour()
    tuning: TuningBehaviour = TuningBehaviour()

    def with_changes(self, changes: Mapping[str, Any]) -> Behaviour:
        """This behaviour with some fields set anew."""
        return Behaviour.model_validate({**self.model_dump(mode="json"), **changes})


def body_position(digest: str, salt: str = "") -> float:
    """Where in [0, 1) a body stands, for good."""
    if not salt:
        return int(digest[:13], 16) / 16**13
    return int(hashlib.sha256(f"{salt}:{digest}".encode()).hexdigest()[:13], 16) / 16**13
