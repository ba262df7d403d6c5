"""Responses of the fake service, the ways in which they fail to arrive, and the log of chat requests."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from email.utils import formatdate
from typing import Any

from aiohttp import web

from benchbuilder.testing.fake_openai.behaviour import BehaviourRule, last_user_message

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
_PIECES = 20
"""How many pieces a slow body is sent in."""
_FLOOD_BYTES = 2**16


def json_response(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """A response with `data` as JSON, not escaped to ASCII."""
    body = json.dumps(data, ensure_ascii=False).encode()
    return web.Response(body=body, status=status, headers={"Content-Type": "application/json", **(headers or {})})


def error_response(message: str, status: int) -> web.Response:
    """An error in the format of the service."""
    return json_response({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)


def validation_error(field: str, part: str, allowed: Sequence[str]) -> web.Response:
    """A 500 whose message is a validation error, as the server of llama-cpp-python answers."""
    error = {"type": "literal_error", "loc": ("body", field, part), "msg": f"Input should be {' or '.join(allowed)}"}
    message = f"1 validation error:\n  {error}\n\n  POST /v1/chat/completions"
    return json_response({"error": {"message": message, "type": "internal_server_error", "param": None}}, 500)


def is_error(effect: str) -> bool:
    """Whether an effect answers with an error status."""
    return effect in _ERRORS or effect in ("status", "redirect")


def rule_error(rule: BehaviourRule, body: Mapping[str, Any], key: str = "") -> web.Response:
    """The error that a rule describes; like OpenAI, an ``unauthorized`` error repeats the key of the request."""
    headers = {**rule.headers, **retry_after_headers(rule.retry_after)}
    if rule.do == "redirect":
        return web.Response(status=307, headers={**headers, "Location": rule.location})
    status, code, sort, message = _ERRORS.get(rule.do, (rule.status, None, "error", "Error {status}."))
    message = (rule.message or message).format(
        key=key, model=body.get("model", ""), parameter=rule.parameter, status=status
    )
    parameter = {"unsupported_parameter": rule.parameter, "unsupported_format": "response_format"}.get(rule.do)
    error = {"message": message, "type": sort, "param": parameter, "code": rule.code or code}
    return json_response({"error": error}, status, headers)


def retry_after_headers(setting: str | None) -> dict[str, str]:
    """The header that `BehaviourRule.retry_after` describes."""
    if setting is None:
        return {}
    form, _, value = setting.rpartition(":")
    if form == "date":
        return {"Retry-After": formatdate(time.time() + float(value), usegmt=True)}
    return {"retry-after-ms": value} if form == "ms" else {"Retry-After": value}


async def deliver(request: web.Request, rule: BehaviourRule, response: web.Response) -> web.StreamResponse:
    """Send a response as the effect of a rule says: whole, slowly, in half or not at all.

    Returns:
        The response that aiohttp has to finish.
    """
    if rule.do == "hang":
        await asyncio.Event().wait()
    if rule.do in ("drop_before", "drop_after") and request.transport is not None:
        request.transport.abort()
    body = response.body
    if rule.do not in ("drop_midway", "dribble", "flood") or not isinstance(body, bytes):
        return response
    stream = web.StreamResponse(status=response.status, headers=response.headers)
    if rule.do == "flood":
        return await _flood(request, rule.size, stream, body)
    stream.content_length = len(body)
    await stream.prepare(request)
    if rule.do == "drop_midway":
        await stream.write(body[: len(body) // 2])
        if request.transport is not None:
            request.transport.close()
        return stream
    size = max(1, -(-len(body) // _PIECES))
    for start in range(0, len(body), size):
        await stream.write(body[start : start + size])
        await asyncio.sleep(rule.seconds / _PIECES)
    return stream


async def _flood(request: web.Request, size: int | None, stream: web.StreamResponse, body: bytes) -> web.StreamResponse:
    with suppress(ConnectionError):  # the client has had enough
        await stream.prepare(request)
        left = size
        while left is None or left > 0:
            await stream.write(b" " * min(_FLOOD_BYTES, left or _FLOOD_BYTES))
            left = None if left is None else left - _FLOOD_BYTES
        await stream.write(body)
    return stream


def is_connected(request: web.Request) -> bool:
    """Whether the client of a request can still get a response."""
    return request.transport is not None and not request.transport.is_closing()


Record = dict[str, Any]


class RequestLog:
    """The chat requests since the last reset (`FakeOpenAI.log` lists the fields), and the calls of other paths."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.calls = Counter[str]()
        self.in_flight = self._peak = 0
        self._attempts = Counter[str]()

    def add(self, body: Mapping[str, Any], *, batch: str | None, keep_body: bool) -> Record:
        """Add a record for a chat request that has just arrived."""
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._attempts[digest] += 1
        record: Record = {
            "number": len(self.records) + 1, "hash": digest, "attempt": self._attempts[digest],
            "model": body.get("model"), "user": last_user_message(body), "effect": "answer", "status": None,
            "sent": False, "received": time.time(), "answered": None, "batch": batch,
        }  # fmt: skip
        if keep_body:
            record["body"] = body
        self.records.append(record)
        return record

    @contextmanager
    def flight(self) -> Generator[None]:
        """Counts a request as in flight for as long as the context lasts."""
        self.in_flight += 1
        self._peak = max(self._peak, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= 1

    def stats(self) -> dict[str, Any]:
        """The counts that `FakeOpenAI.stats` returns."""
        statuses = Counter(str(record["status"]) for record in self.records)
        return {
            "requests": len(self.records), "statuses": statuses, "in_flight": self.in_flight, "peak": self._peak,
            "calls": self.calls,
        }  # fmt: skip


def note_answer(record: Record, status: int, *, sent: bool) -> None:
    """Note the status of an answer in the log: 0 if the connection was dropped."""
    record.update(status=status, answered=time.time(), sent=sent)
