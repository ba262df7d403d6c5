"""How the fake service behaves: plain data that a test or a shell can write as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from benchbuilder.config import Spec

CHAT_PATH = "/v1/chat/completions"

Effect = Literal[
    "answer", "status", "rate_limit", "quota", "server_error", "unavailable", "unauthorized", "forbidden", "no_model",
    "bad_request", "context_length", "filtered_request", "unsupported_parameter", "unsupported_format", "redirect",
    "drop_before", "drop_after", "drop_midway", "hang", "dribble", "flood", "garbage", "html", "wrong_shape",
    "error_body", "truncate", "empty", "blank", "refuse", "filter", "without_field", "no_usage",
]  # fmt: skip
"""What happens to a request.

* ``status`` answers with the rule's `status`, `code` and `message`; ``rate_limit`` (429), ``quota`` (429, a
  permanent error), ``server_error`` (500), ``unavailable`` (503), ``unauthorized`` (401), ``forbidden`` (403),
  ``no_model`` (404), ``bad_request``, ``context_length``, ``filtered_request``, ``unsupported_parameter`` and
  ``unsupported_format`` (400) answer as OpenAI does. ``redirect`` points to `location`.
* ``drop_before`` closes the connection at once, ``drop_after`` when the answer is due, and ``drop_midway`` after half
  of it. ``hang`` never answers. ``dribble`` sends the body in small pieces over `seconds`. ``flood`` sends `size` bytes
  of white space before the body.
* ``garbage`` answers with invalid JSON, ``html`` with a page, ``wrong_shape`` with JSON that has no choices, and
  ``error_body`` with an error under status 200.
* The other effects change one thing in a good answer. ``truncate`` cuts the text in half (finish reason ``length``).
  ``empty`` and ``blank`` have no text. ``refuse`` fills the refusal. ``filter`` has the finish reason
  ``content_filter``. ``without_field`` omits the requested field of the JSON. ``no_usage`` does not count tokens.
"""


class RequestCondition(Spec):
    """Which requests a rule applies to: those that meet all conditions that are set; without any, all chat requests."""

    path: str | None = None
    """A part of the path; without it, the rule applies to chat completions, live or in a batch."""
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
    """This share of the distinct bodies: the same bodies each time, live or in a batch."""
    salt: str = ""
    """Another salt picks other bodies."""
    attempts: int | None = None
    """Only this many first attempts of each body."""

    def matches(self, path: str, method: str, record: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
        """Whether a request meets all conditions; `Behaviour.rule_for` explains the arguments."""
        first = (body.get("messages") or [{}])[0]
        number = record["number"]
        return (
            (path == CHAT_PATH if self.path is None else self.path in path)
            and self.method in (None, method)
            and (self.parameter is None or self.parameter in body)
            and (self.user is None or self.user in last_user_message(body))
            and (self.system is None or (first.get("role") == "system" and self.system in str(first.get("content"))))
            and (self.nth is None or number in self.nth)
            and (self.after is None or number > self.after)
            and (self.every is None or number % self.every == 0)
            and (self.share is None or body_position(record["hash"] or str(number), self.salt) < self.share)
            and (self.attempts is None or record["attempt"] <= self.attempts)
        )


class BehaviourRule(Spec):
    """What happens to some requests."""

    when: RequestCondition = RequestCondition()
    do: Effect
    status: int = 500
    code: str | None = None
    message: str | None = None
    parameter: str = "temperature"
    """The field that an ``unsupported_parameter`` error names; the rule applies only to bodies that have it."""
    headers: dict[str, str] = {}
    retry_after: str | None = None
    """The header Retry-After: seconds (``2``), ``date:2`` (an HTTP date two seconds ahead) or ``ms:1500``."""
    location: str = "http://127.0.0.2:9/v1/chat/completions"
    seconds: float = 2.0
    """How long a ``dribble`` takes."""
    size: Annotated[int | None, Field(ge=0)] = None
    """How much a ``flood`` sends; without it, it goes on until the client leaves."""
    latency_s: float | None = None
    """Seconds until this answer, if they differ from the latency of the service."""

    def is_about(self, body: Mapping[str, Any]) -> bool:
        """Whether a body has the field that this error is about."""
        field = {"unsupported_parameter": self.parameter, "unsupported_format": "response_format"}.get(self.do)
        return field is None or field in body


class BatchBehaviour(Spec):
    """How batches proceed."""

    polls: Annotated[int, Field(ge=0)] = 2
    """Polls of a batch before it ends; until then it is validating, in progress and finalizing."""
    end: Literal["completed", "failed", "expired", "cancelled"] = "completed"
    done_share: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The share of requests that are done when a batch ends early (expired or cancelled)."""


class TuningBehaviour(Spec):
    """How fine-tuning jobs proceed."""

    polls: Annotated[int, Field(ge=0)] = 2
    """Polls of a job before it ends; until then it is queued and running."""
    end: Literal["succeeded", "failed", "cancelled"] = "succeeded"
    message: str = "The job failed due to an internal error."
    """The error of a job that fails; one with an invalid training file fails at the first poll, with its own error."""
    closed: bool = False
    """Whether new jobs are refused (403)."""
    metadata: bool = True
    """Whether the metadata of a job are kept."""
    unlisted: Annotated[int, Field(ge=0)] = 0
    """How many lists of jobs are empty before one shows the jobs."""


class Behaviour(Spec):
    """All settings of the service, at its start or while it runs."""

    latency_s: Annotated[float, Field(ge=0)] = 0.0
    """Seconds until an answer."""
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Latency varies by this share of itself, the same way for the same body."""
    rules: tuple[BehaviourRule, ...] = ()
    """The first rule that matches a request applies."""
    requests_per_minute: Annotated[float | None, Field(gt=0)] = None
    burst: Annotated[int, Field(ge=1)] = 1
    """How many requests may arrive at once under `requests_per_minute`."""
    max_in_flight: Annotated[int | None, Field(ge=1)] = None
    """Requests beyond this number at the same time are answered with 429."""
    limit_retry_after: bool = True
    """Whether a 429 because of these limits says when to retry."""
    api_key: str | None = None
    """The key that requests must bring; others are answered with 401."""
    models: tuple[str, ...] = ()
    """The models that exist; others are answered with 404. Any model exists if this is empty."""
    unsupported: tuple[str, ...] = ()
    """Fields of the body that lead to a 400."""
    ignored: tuple[str, ...] = ()
    """Fields of the body without effect, for instance ``max_completion_tokens``."""
    formats: tuple[str, ...] | None = None
    """The types of response format that exist; others are answered with 500 and a validation error, as some servers
    do. All exist without it."""
    usage: bool = True
    """Whether replies count tokens."""
    template_tokens: Annotated[int, Field(ge=0)] = 0
    """Tokens that a chat template adds to each prompt, in the counts of replies."""
    cached_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The share of prompt tokens that the usage reports as cached."""
    tokens: str = "bytes3"
    """How tokens are counted: by ``characters``, ``bytes3`` (three bytes each) or the path of a ``tokenizer.json``."""
    json_replies: Literal["asked", "always", "never"] = "asked"
    """When a reply is wrapped in a JSON object: if the response format asks for it, always or never."""
    json_field: str = "text"
    """The field of that object if no schema names one."""
    fixed: str | None = None
    """One reply to every request."""
    table: dict[str, str] = {}
    """Replies by a part of the last user message; the longest matching part decides."""
    script: str | None = None
    """A JSON file with further entries for `table`."""
    plugin: str | None = None
    """A Python file with ``reply(messages, body) -> str | None``, called first; ``None`` leaves the reply to others."""
    keep_bodies: bool = False
    """Whether the log holds the body of each request."""
    batch: BatchBehaviour = BatchBehaviour()
    tuning: TuningBehaviour = TuningBehaviour()

    def with_changes(self, changes: Mapping[str, Any]) -> Behaviour:
        """A copy of this behaviour with other values for some fields.

        Raises:
            ValueError: A field is unknown, or its value is wrong.
        """
        return Behaviour.model_validate({**self.model_dump(mode="json"), **changes})

    def rule_for(
        self, path: str, method: str, record: Mapping[str, Any], body: Mapping[str, Any] = MappingProxyType({})
    ) -> BehaviourRule:
        """The first rule that applies to a request; one that only answers if none does.

        Args:
            path: The path; requests of a batch have that of chat completions.
            method: The HTTP method.
            record: ``number`` in the order of arrival, ``attempt`` and ``hash`` of the body; paths other than chat have
                no hash, and each of them counts its own requests.
            body: The JSON body of a chat request.
        """
        for rule in self.rules:
            if rule.is_about(body) and rule.when.matches(path, method, record, body):
                return rule
        return _ANSWER


_ANSWER = BehaviourRule(do="answer")


def last_user_message(body: Mapping[str, Any]) -> str:
    """The last user message of a chat request."""
    for message in reversed(body.get("messages", [])):
        if message.get("role") == "user":
            return str(message.get("content") or "")
    return ""


def body_position(digest: str, salt: str = "") -> float:
    """A fixed position in [0, 1) for the hash of a body; another salt gives another position."""
    if not salt:
        return int(digest[:13], 16) / 16**13
    return int(hashlib.sha256(f"{salt}:{digest}".encode()).hexdigest()[:13], 16) / 16**13
