"""The error answers of the fake service, as OpenAI words and numbers them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any

from benchbuilder.testing.fake_openai.behaviour import BehaviourRule
from benchbuilder.testing.fake_openai.http import HttpAnswer

_ERRORS: Mapping[str, tuple[int, str | None, str, str]] = {
    "rate_limit": (429, "rate_limit_exceeded", "requests", "Rate limit reached for requests."),
    "quota": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "server_error": (500, None, "server_error", "The server had an error while processing your request."),
    "unavailable": (503, None, "server_error", "The engine is currently overloaded."),
    "unauthorized": (401, "invalid_api_key", "invalid_request_error", "Incorrect API key provided: {key}."),
    "forbidden": (403, "unsupported_country_region_territory", "request_forbidden", "Country not supported."),
    "no_model": (404, "model_not_found", "invalid_request_error", "The model `{model}` does not exist."),
    "bad_request": (400, None, "invalid_request_error", "We could not parse the JSON body of your request."),
    "context_length": (
        400, "context_length_exceeded", "invalid_request_error",
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.",
    ),
    "filtered_request": (400, "content_filter", "invalid_request_error", "The prompt triggered the content policy."),
    "unsupported_parameter": (
        400, "unsupported_parameter", "invalid_request_error",
        "Unsupported parameter: '{parameter}' is not supported with this model.",
    ),
    "unsupported_format": (
        400, None, "invalid_request_error", "Invalid parameter: 'response_format' of this type is not supported.",
    ),
}  # fmt: skip
"""Status, code, type and message by effect."""


def is_error(effect: str) -> bool:
    """Whether an effect answers with an error status."""
    return effect in _ERRORS or effect in ("status", "redirect")


def error_answer(rule: BehaviourRule, body: Mapping[str, Any], key: str) -> HttpAnswer:
    """The error that a rule wants; OpenAI repeats the key that it was given, and so does this."""
    headers = {**rule.headers, **retry_after_headers(rule.retry_after)}
    if rule.do == "redirect":
        return HttpAnswer(307, b"", {**headers, "location": rule.location})
    status, code, sort, message = _ERRORS.get(rule.do, (rule.status, None, "error", "Error {status}."))
    message = (rule.message or message).format(
        key=key, model=body.get("model", ""), parameter=rule.parameter, status=status
    )
    parameter = {"unsupported_parameter": rule.parameter, "unsupported_format": "response_format"}.get(rule.do)
    error = {"message": message, "type": sort, "param": parameter, "code": rule.code or code}
    return HttpAnswer.json({"error": error}, status, headers)


def retry_after_headers(setting: str | None) -> dict[str, str]:
    """The header that `BehaviourRule.retry_after` describes."""
    if setting is None:
        return {}
    form, _, value = setting.rpartition(":")
    if form == "date":
        return {"retry-after": formatdate(time.time() + float(value), usegmt=True)}
    return {"retry-after-ms": value} if form == "ms" else {"retry-after": value}
