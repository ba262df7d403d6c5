"""Turns error responses and broken connections of a hosted service into exceptions that say what to do."""

from __future__ import annotations

import importlib
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from benchbuilder.core import ServiceError, parse_json
from benchbuilder.models.base import RefusedRequestError, TransientError
from benchbuilder.models.providers.openai_wire import body_excerpt, valid_text

LONGEST_WAIT_S = 24 * 3600.0
"""The longest pause that a service may request."""
_PAID = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits")
_LOST = (502, 504, 520, 522, 524)
"""Statuses of a proxy that lost its service; the service may have done the work."""
_CONTEXT = re.compile(
    r"context_length|context length|context size|context window|maximum context|prompt is too long|too many tokens",
    re.I,
)
_FORMAT = re.compile(r"response_format|json_schema|structured output", re.I)
_INVALID = re.compile(r"\b\d+ validation errors?\b|'loc': *[(\[]|\"loc\": *\[|'msg': *['\"]Input should be", re.I)
"""Some servers answer 500 to a request that does not fit their schema."""
_FIELD = re.compile(r"'loc': *[(\[]'body', *'(\w+)'")
_MASKED = re.compile(r"(?:(?<![\w.-])[\w.-]*+)?\*{3,}[\w.-]*")
"""A masked key, found in linear time: a match begins where its word begins, or at its asterisks."""
_PARAMETER = re.compile(
    r"(?:unsupported|unknown|unrecognized)(?: request)? (?:parameter|argument|value|field)s?(?: supplied)?:? *['\"`]?"
    r"([A-Za-z_]\w*)",
    re.I,
)


class UnknownFormatError(ServiceError):
    """The service does not take the form in which JSON was asked for."""


@dataclass(frozen=True)
class ErrorResponse:
    """A response with an error status, without the API key."""

    status: int
    headers: Mapping[str, str]
    body: str
    endpoint: str
    key_env: str
    """The environment variable that the key was read from."""
    model: str
    names: Mapping[str, str]
    """Names of settings in the recipe, by their names in the request."""
    with_key: bool = True
    """Whether a key was sent."""

    @property
    def error(self) -> dict[str, Any]:
        """The error object of the body, or an empty dict."""
        try:
            data: Any = parse_json(self.body)
        except ValueError:
            return {}
        if isinstance(data, list) and data:  # some services wrap it in a list
            data = data[0]
        error: Any = data.get("error", data) if isinstance(data, dict) else {}
        return error if isinstance(error, dict) else {"message": str(error)}

    @property
    def service_message(self) -> str:
        """The message of the service, on one short line."""
        error = self.error
        message = error.get("message") or error.get("detail")
        if not self.body.strip() and not message:
            return "nothing"
        return body_excerpt(str(message) if message else self.body, 240)

    def has_code(self, *codes: str) -> bool:
        """Whether the code or type of the error is one of `codes`."""
        return any(str(self.error.get(name)) in codes for name in ("code", "type"))

    def exception(self) -> TransientError | RefusedRequestError | ServiceError:
        """The exception to raise, with the error of OpenAI's library as its cause."""
        made = _by_status(self)
        made.__cause__ = _library_error(self)
        return made


def hide_key(text: str, key: str) -> str:
    """Remove the API key from a text, also in masked form (``sk-ab***yz``)."""
    shown = text.replace(key, "[key]") if key else text
    return _MASKED.sub("[key]", shown)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the service asks to wait, from the headers retry-after-ms or Retry-After (seconds or a date)."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(lower[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), LONGEST_WAIT_S)
    until = _header_time(lower.get("retry-after", ""))
    if until is None:
        return None
    # by the clock of the service, if it is known: ours may be wrong
    now = _header_time(lower.get("date", ""))
    return min(max(until - (time.time() if now is None else now), 0.0), LONGEST_WAIT_S)


def _header_time(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date, or ``None``."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _by_status(failure: ErrorResponse) -> TransientError | RefusedRequestError | ServiceError:
    status = failure.status
    if status == 402 or (status in (403, 429) and failure.has_code(*_PAID)):
        return _service_error(failure, "the account has no credit left, or reached its limit",
                        "add credit or raise the limit there, then give the same command again")  # fmt: skip
    if status == 500 and _INVALID.search(failure.service_message):
        return _refused_request(failure)
    if status in (408, 409, 425, 429) or status >= 500:
        return _transient(failure)
    if 300 <= status < 400:
        to = failure.headers.get("location", "another address").partition("?")[0]
        return _service_error(failure, f"the address redirects to {to}", "set model.base_url to where the service is")
    if status in (401, 403) and not failure.with_key:
        return ServiceError(
            f"the service wants a key, and {failure.key_env} is not set",
            where=failure.endpoint,
            why=f"it answers with {status}",
            next=f"export {failure.key_env}=..., or name another variable in model.api_key_env",
        )
    if status == 401:
        return _service_error(failure, f"the service does not accept the key read from {failure.key_env}",
                        f"set {failure.key_env} to a key of this service, or name another variable in "
                        "model.api_key_env")  # fmt: skip
    if status == 403:
        return _service_error(failure, f"the key read from {failure.key_env} may not use {failure.model!r}",
                        "ask the provider which models, projects and countries the key is for")  # fmt: skip
    if status in (404, 405):
        return _not_found(failure)
    return _refused_request(failure)


def _service_error(failure: ErrorResponse, message: str, next: str) -> ServiceError:
    return ServiceError(message, where=failure.endpoint, why=f"{failure.status}: {failure.service_message}", next=next)


def _transient(failure: ErrorResponse) -> TransientError:
    wait = retry_after(failure.headers)
    what = {408: "took too long", 409: "was in conflict with another request", 429: "asks for fewer requests"}
    message = (
        f"{failure.endpoint} {what.get(failure.status, 'has a fault')} ({failure.status}: {failure.service_message})"
    )
    throttled = failure.status in (429, 529) or (failure.status == 503 and wait is not None)
    return TransientError(message, retry_after_s=wait, throttled=throttled, billed=failure.status in (408, *_LOST))


def _not_found(failure: ErrorResponse) -> ServiceError:
    hints = ["see in the provider's list which models the key may use (benchbuild takes the name in model.name)"]
    if not re.search(r"/v\d+[a-z]*$", failure.endpoint):
        hints.insert(0, f"most services have it under /v1: does model.base_url have to be {failure.endpoint}/v1?")
    if failure.has_code("model_not_found") or "model" in failure.service_message:
        return _service_error(failure, f"the service has no model {failure.model!r}", "; ".join(hints[::-1]))
    return _service_error(
        failure, f"there are no chat completions at this address, or no model {failure.model!r}", "; ".join(hints)
    )


def _refused_request(failure: ErrorResponse) -> RefusedRequestError | ServiceError:
    """Explain a rejected request: either a setting, which affects all requests, or its own text."""
    message, error = failure.service_message, failure.error
    parameter = valid_text(str(error.get("param") or ""))
    refusal = f"{failure.endpoint} refuses the request ({failure.status}: {message})"
    if failure.has_code("context_length_exceeded") or _CONTEXT.search(message):
        return RefusedRequestError(f"{refusal}: prompt and max_new_tokens are too long for {failure.model!r}")
    if parameter.startswith("response_format") or (not parameter and _FORMAT.search(message)):
        return UnknownFormatError(
            "the service does not take this response format", where=failure.endpoint,
            why=f"{failure.status}: {message}", next="ask for JSON in words with model.structured=prompt",
        )  # fmt: skip
    found = _PARAMETER.search(message)
    codes = ("unsupported_parameter", "unsupported_value", "unknown_parameter", "unrecognized_parameter")
    if not found and failure.status == 500:
        found = _FIELD.search(message)
    if found or failure.has_code(*codes):
        return _unsupported(failure, parameter or (found[1] if found else ""))
    if failure.status == 413:
        return RefusedRequestError(f"{refusal}: the prompt is too long")
    return RefusedRequestError(f"{refusal}: shorten or correct what `benchbuild prompt show` shows of this row")


def _unsupported(failure: ErrorResponse, parameter: str) -> ServiceError:
    name = failure.names.get(parameter)
    if parameter in ("max_tokens", "max_completion_tokens"):
        other = "max_tokens" if parameter == "max_completion_tokens" else "max_completion_tokens"
        next = f"set model.max_tokens_field={other}"
    elif name is not None:
        next = (
            f"leave {name} out of the steps' sampling, or say that the model lacks it: "
            f"model.lacks=[{name}] model.unsupported=omit"
        )
    else:
        next = "see model.extra_body, and what the provider says of this model"
    return _service_error(failure, f"{failure.model!r} does not take {parameter or 'a setting of the request'}", next)


def _library_error(failure: ErrorResponse) -> Exception:
    """The error that OpenAI's own library raises for such a response."""
    import openai

    classes: dict[int, Any] = {
        400: openai.BadRequestError, 401: openai.AuthenticationError, 403: openai.PermissionDeniedError,
        404: openai.NotFoundError, 409: openai.ConflictError, 422: openai.UnprocessableEntityError,
        429: openai.RateLimitError,
    }  # fmt: skip
    default: Any = openai.InternalServerError if failure.status >= 500 else openai.APIStatusError
    cls = classes.get(failure.status, default)
    response: Any = http_library().Response(
        failure.status, text=failure.body, request=_request(failure.endpoint), headers=_plain(failure.headers)
    )
    return cls(f"{failure.status}: {failure.service_message}", response=response, body=failure.error or failure.body)


def connection_error(error: BaseException | None, message: str, endpoint: str, *, timeout: bool = False) -> Exception:
    """The error that OpenAI's library raises for a broken connection or a timeout."""
    import openai

    if timeout:
        made: Exception = openai.APITimeoutError(request=_request(endpoint))
    else:
        made = openai.APIConnectionError(message=message, request=_request(endpoint))
    made.__cause__ = error
    return made


def http_library() -> Any:
    """The HTTP library of the installed `openai`: httpx, or its successor under another name."""
    import openai

    names = [cls.__module__.partition(".")[0] for cls in openai.DefaultHttpxClient.__mro__]
    return importlib.import_module(next(name for name in names if name.startswith("httpx")))


def _request(endpoint: str) -> Any:
    """The request without its headers, which hold the key."""
    return http_library().Request("POST", f"{endpoint}/chat/completions")


def _plain(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are valid for a decoded body."""
    dropped = ("content-length", "content-encoding", "transfer-encoding", "content-type", "set-cookie")
    return {name: value for name, value in headers.items() if name.lower() not in dropped}
