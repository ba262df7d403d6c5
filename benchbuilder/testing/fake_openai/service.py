"""The fake service as an aiohttp application: its paths, its limits, and the answer to each chat request."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from benchbuilder.testing.fake_openai.batches import FakeBatches
from benchbuilder.testing.fake_openai.behaviour import CHAT_PATH, Behaviour, BehaviourRule, body_position
from benchbuilder.testing.fake_openai.files import FakeFiles
from benchbuilder.testing.fake_openai.replies import ReplyMaker
from benchbuilder.testing.fake_openai.responses import (
    Record,
    RequestLog,
    deliver,
    error_response,
    is_connected,
    is_error,
    json_response,
    note_answer,
    rule_error,
    validation_error,
)
from benchbuilder.testing.fake_openai.tuning import FakeTuningJobs

_INVALID = {
    "garbage": (b'{"id": "chatcmpl-1", "choices": [{"mess', "application/json"),
    "html": (b"<html><body>Please log in.</body></html>", "text/html"),
    "wrong_shape": (b'{"id": "chatcmpl-1", "object": "chat.completion", "result": "fine"}', "application/json"),
    "error_body": (b'{"error": {"message": "The provider returned an error.", "code": 502}}', "application/json"),
}
"""Body and content type of the effects that answer something other than a completion."""


class FakeService:
    """Answers requests as a behaviour says, which may change at any time."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._log = RequestLog()
        self._files = FakeFiles()
        self._batches = FakeBatches(self._files, self._answer_batched)
        self._tuning = FakeTuningJobs(self._files)
        self._configure(behaviour)

    def app(self) -> web.Application:
        """The application that serves all paths."""
        app = web.Application(middlewares=[self._apply_rules], client_max_size=0)
        app.add_routes([
            web.post(CHAT_PATH, self._serve_chat),
            web.get("/v1/models", self._list_models),
            *self._files.routes(),
            *self._batches.routes(),
            *self._tuning.routes(),
            web.get("/control/log", self._show_log),
            web.get("/control/stats", self._show_stats),
            web.post("/control/reset", self._reset),
            web.post("/control/config", self._change_behaviour),
        ])  # fmt: skip
        return app

    def _configure(self, behaviour: Behaviour) -> None:
        self._replies = ReplyMaker(behaviour)
        self._behaviour = behaviour
        self._batches.behaviour, self._tuning.behaviour = behaviour.batch, behaviour.tuning
        self._allowance, self._refilled = float(behaviour.burst), time.monotonic()

    @web.middleware
    async def _apply_rules(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Apply the rules to every path but chat, which applies them itself, and the control endpoints."""
        if request.path == CHAT_PATH or request.path.startswith("/control/"):
            return await handler(request)
        # a request counts once all of it is here; aiohttp keeps the form or body for the handler
        await (request.post() if request.content_type.startswith("multipart/") else request.read())
        call = f"{request.method} {request.path}"
        self._log.calls[call] += 1
        number = self._log.calls[call]
        record = {"number": number, "attempt": number, "hash": ""}
        rule = self._behaviour.rule_for(request.path, request.method, record)
        if rule.do == "drop_before":
            return await deliver(request, rule, web.Response())
        if (refused := self._authorization_error(request)) is not None:
            return refused
        if is_error(rule.do):
            return rule_error(rule, {}, _bearer_key(request))
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = error_response(error.text or "", error.status)
        assert isinstance(response, web.Response)
        return await deliver(request, rule, response)

    async def _list_models(self, _: web.Request) -> web.Response:
        names = self._behaviour.models or ("fake",)
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "nobody"} for name in names]
        return json_response({"object": "list", "data": data})

    # --- control

    async def _show_log(self, request: web.Request) -> web.Response:
        return json_response(self._log.records[int(request.query.get("since", "0")) :])

    async def _show_stats(self, _: web.Request) -> web.Response:
        return json_response(self._log.stats())

    async def _reset(self, _: web.Request) -> web.Response:
        self._log = RequestLog()
        for part in (self._files, self._batches, self._tuning):
            part.reset()
        return json_response({})

    async def _change_behaviour(self, request: web.Request) -> web.Response:
        try:
            self._configure(self._behaviour.with_changes(json.loads(await request.text())))
        except (ValidationError, ValueError, OSError, KeyError) as error:
            return error_response(str(error), 400)
        return json_response({})

    # --- chat

    async def _serve_chat(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await request.json()
            record, rule = self._register_chat(body)
        except (ValueError, AttributeError, TypeError):
            return rule_error(BehaviourRule(do="bad_request"), {})
        log, key, response = self._log, _bearer_key(request), web.Response()
        if rule.do != "drop_before":
            refused = self._authorization_error(request) or self._limit_error()
            if refused is not None:
                note_answer(record, refused.status, sent=is_connected(request))
                return refused
            with log.flight():
                if (wait := self._latency(rule, record)) > 0:
                    await asyncio.sleep(wait)
            response = self._answer(body, rule, record, key)
        if rule.do != "hang":
            status = 0 if rule.do.startswith("drop_") else response.status
            note_answer(record, status, sent=is_connected(request))
        return await deliver(request, rule, response)

    def _answer_batched(self, body: Mapping[str, Any], batch: str) -> web.Response | None:
        """The answer to a request of a batch; ``None`` if it gets none."""
        record, rule = self._register_chat(body, batch)
        if rule.do == "hang" or rule.do.startswith("drop_"):
            note_answer(record, 0, sent=True)
            return None
        response = self._answer(body, rule, record, "")
        note_answer(record, response.status, sent=True)
        return response

    def _register_chat(self, body: Mapping[str, Any], batch: str | None = None) -> tuple[Record, BehaviourRule]:
        """Log a chat request, and find its rule."""
        record = self._log.add(body, batch=batch, keep_body=self._behaviour.keep_bodies)
        rule = self._behaviour.rule_for(CHAT_PATH, "POST", record, body)
        record["effect"] = "answer" if batch is not None and rule.do in ("dribble", "flood") else rule.do
        return record, rule

    def _answer(self, body: Mapping[str, Any], rule: BehaviourRule, record: Record, key: str) -> web.Response:
        """The answer to a chat request, before anything happens to it on its way."""
        if is_error(rule.do):
            return rule_error(rule, body, key)
        if self._behaviour.models and body.get("model") not in self._behaviour.models:
            return rule_error(BehaviourRule(do="no_model"), body, key)
        for name in self._behaviour.unsupported:
            if name in body:
                return rule_error(BehaviourRule(do="unsupported_parameter", parameter=name), body, key)
        form = (body.get("response_format") or {}).get("type", "text")
        if self._behaviour.formats is not None and form not in ("text", *self._behaviour.formats):
            return validation_error("response_format", "type", self._behaviour.formats)
        if rule.do in _INVALID:
            content, content_type = _INVALID[rule.do]
            return web.Response(body=content, content_type=content_type)
        learned = self._tuning.learned_reply(body.get("model"), body.get("messages", []))
        completion = self._replies.completion(body, rule.do, record["number"], learned)
        return json_response(completion, headers=rule.headers)

    def _latency(self, rule: BehaviourRule, record: Record) -> float:
        """Seconds until the answer."""
        if rule.latency_s is not None:
            return rule.latency_s
        behaviour = self._behaviour
        if not behaviour.jitter:
            return behaviour.latency_s
        return behaviour.latency_s * (1 + behaviour.jitter * (2 * body_position(record["hash"], "latency") - 1))

    # --- limits

    def _limit_error(self) -> web.Response | None:
        """Status 429 if there are too many requests."""
        behaviour = self._behaviour
        wait = 0.0
        if behaviour.max_in_flight is not None and self._log.in_flight >= behaviour.max_in_flight:
            wait = max(1.0, behaviour.latency_s)
        elif behaviour.requests_per_minute is not None:
            now, rate = time.monotonic(), behaviour.requests_per_minute / 60
            self._allowance = min(behaviour.burst, self._allowance + (now - self._refilled) * rate)
            self._refilled = now
            if self._allowance >= 1:
                self._allowance -= 1
                return None
            wait = (1 - self._allowance) / rate
        if not wait:
            return None
        retry_after = f"ms:{int(wait * 1000) + 1}" if behaviour.limit_retry_after else None
        return rule_error(BehaviourRule(do="rate_limit", retry_after=retry_after), {})

    def _authorization_error(self, request: web.Request) -> web.Response | None:
        """Status 401 if the request brings another key than the one that the behaviour wants."""
        if self._behaviour.api_key in (None, _bearer_key(request)):
            return None
        return rule_error(BehaviourRule(do="unauthorized"), {}, _bearer_key(request))


def _bearer_key(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


class _StopOnError(logging.Handler):
    """Ends the process when aiohttp or asyncio logs a mistake of the service or its plugin: no client waits in vain."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, ConnectionError | HttpProcessingError):  # those are the client's
            print(record.getMessage(), *traceback.format_exception(error), sep="\n", file=sys.stderr, flush=True)
            os._exit(1)


async def serve_fake_openai(behaviour: Behaviour, host: str, port: int) -> None:
    """Serve until the parent process ends; print the port first."""
    logging.getLogger().addHandler(_StopOnError(logging.ERROR))
    parent = os.getppid()
    runner = web.AppRunner(FakeService(behaviour).app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port, backlog=4096).start()
    print(runner.addresses[0][1], flush=True)
    while os.getppid() == parent:
        await asyncio.sleep(0.5)
