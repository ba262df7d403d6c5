"""The fake service: which request gets which answer, and a log of all of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from benchbuilder.testing.fake_openai.batches import FakeBatches
from benchbuilder.testing.fake_openai.behaviour import Behaviour, BehaviourRule, body_position
from benchbuilder.testing.fake_openai.errors import error_answer, is_error
from benchbuilder.testing.fake_openai.files import FakeFiles
from benchbuilder.testing.fake_openai.http import HttpAnswer, HttpConnection, HttpRequest
from benchbuilder.testing.fake_openai.replies import ReplyMaker, last_user_message
from benchbuilder.testing.fake_openai.tuning import FakeTuningJobs

CHAT_PATH = "/v1/chat/completions"


@dataclass
class ChatRequest:
    """One chat request on its way: what came, its record in the log, and the rule that it met."""

    body: Mapping[str, Any]
    digest: str
    record: dict[str, Any]
    rule: BehaviourRule


class FakeService:
    """Answers requests as a behaviour says, which may change at any time."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._configure(behaviour)
        self._reset()

    def _configure(self, behaviour: Behaviour) -> None:
        self._replies = ReplyMaker(behaviour)
        self._behaviour = behaviour
        self._allowed, self._refilled = float(behaviour.burst), time.monotonic()

    def _reset(self) -> None:
        self._log: list[dict[str, Any]] = []
        self._attempts = Counter[str]()
        self._in_flight = self._peak = 0
        self._calls = Counter[str]()
        self._round = getattr(self, "_round", 0) + 1
        self._files = FakeFiles()
        self._batches = FakeBatches(self._files, self._answer_batched)
        self._tuning = FakeTuningJobs(self._files)

    # --- routes

    def serve(self, call: HttpRequest, connection: HttpConnection) -> None:
        """Answer one HTTP request."""
        if call.path == CHAT_PATH and call.method == "POST":
            self._serve_chat(call, connection)
        elif call.path.startswith("/control/"):
            connection.send(self._control(call))
        else:
            self._serve_other(call, connection)

    def _serve_other(self, call: HttpRequest, connection: HttpConnection) -> None:
        """Everything but chat: models, files, batches, fine-tuning jobs."""
        self._calls[f"{call.method} {call.path}"] += 1
        number = self._calls[f"{call.method} {call.path}"]
        rule = self._rule(call.path, call.method, {}, "", number, number)
        if rule.do == "drop_before":
            connection.close_silently()
            return
        if (refused := self._authorization_error(call)) is not None:
            connection.send(refused)
            return
        if is_error(rule.do):
            connection.send(error_answer(rule, {}, _bearer_key(call)))
            return
        self._deliver(connection, rule, self._route(call))

    def _route(self, call: HttpRequest) -> HttpAnswer:
        if call.path == "/v1/models":
            names = self._behaviour.models or ("fake",)
            data = [{"id": name, "object": "model", "created": 0, "owned_by": "nobody"} for name in names]
            return HttpAnswer.json({"object": "list", "data": data})
        what, *parts = call.path.removeprefix("/v1/").strip("/").split("/")
        found = None
        if what == "files":
            found = self._files.route(call, parts)
        elif what == "batches":
            found = self._batches.route(call, parts, self._behaviour.batch)
        elif what == "fine_tuning":
            found = self._tuning.route(call, parts, self._behaviour.tuning)
        message = f"Invalid URL ({call.method} {call.path})"
        return found or HttpAnswer.json({"error": {"message": message, "type": "invalid_request_error"}}, 404)

    def _control(self, call: HttpRequest) -> HttpAnswer:
        if call.path == "/control/log":
            return HttpAnswer.json(self._log[int(call.query.get("since", "0")) :])
        if call.path == "/control/stats":
            statuses = Counter(str(record["status"]) for record in self._log)
            stats = {"requests": len(self._log), "statuses": statuses, "in_flight": self._in_flight}
            return HttpAnswer.json({**stats, "peak": self._peak, "calls": self._calls})
        if call.path == "/control/reset" and call.method == "POST":
            self._reset()
            return HttpAnswer.json({})
        if call.path == "/control/config" and call.method == "POST":
            try:
                self._configure(self._behaviour.with_changes(json.loads(call.body)))
            except (ValidationError, ValueError, OSError, KeyError) as error:
                return HttpAnswer.json({"error": {"message": str(error)}}, 400)
            return HttpAnswer.json({})
        return HttpAnswer.json({"error": {"message": f"no control {call.path}"}}, 404)

    # --- chat

    def _serve_chat(self, call: HttpRequest, connection: HttpConnection) -> None:
        try:
            body = json.loads(call.body)
            chat = self._register_chat(body, live=True)
        except (ValueError, AttributeError, TypeError):
            connection.send(error_answer(BehaviourRule(do="bad_request"), {}, ""))
            return
        if chat.rule.do == "drop_before":
            self._log_answer(chat, 0, connection.is_open)
            connection.close_silently()
            return
        if (refused := self._authorization_error(call) or self._rate_limit_answer()) is not None:
            self._log_answer(chat, refused.status, connection.is_open)
            connection.send(refused)
            return
        self._in_flight += 1
        self._peak = max(self._peak, self._in_flight)
        wait = self._latency(chat)
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self._finish, chat, connection, _bearer_key(call), self._round)
        else:
            self._finish(chat, connection, _bearer_key(call), self._round)

    def _finish(self, chat: ChatRequest, connection: HttpConnection, key: str, began: int) -> None:
        if began == self._round:
            self._in_flight -= 1
        if chat.rule.do == "hang":
            return
        answer = self._answer(chat, key)
        dropped = chat.rule.do in ("drop_after", "drop_midway")
        self._log_answer(chat, 0 if dropped else answer.status, connection.is_open)
        self._deliver(connection, chat.rule, answer)

    def _deliver(self, connection: HttpConnection, rule: BehaviourRule, answer: HttpAnswer) -> None:
        if rule.do == "drop_after":
            connection.close_silently()
        elif rule.do == "drop_midway":
            connection.send_half(answer)
        elif rule.do == "dribble":
            connection.send_slowly(answer, rule.seconds)
        elif rule.do != "hang":
            connection.send(answer)

    def _answer_batched(self, body: Mapping[str, Any], batch: str) -> HttpAnswer | None:
        """The answer to a request of a batch; ``None`` if it gets none."""
        chat = self._register_chat(body, live=False)
        chat.record["batch"] = batch
        if chat.rule.do in ("drop_before", "drop_after", "drop_midway", "hang"):
            self._log_answer(chat, 0, sent=True)
            return None
        answer = self._answer(chat, "")
        self._log_answer(chat, answer.status, sent=True)
        return answer

    def _register_chat(self, body: Mapping[str, Any], *, live: bool) -> ChatRequest:
        messages = body.get("messages", [])
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._attempts[digest] += 1
        number, attempt = len(self._log) + 1, self._attempts[digest]
        record: dict[str, Any] = {
            "number": number, "hash": digest, "attempt": attempt, "model": body.get("model"),
            "user": last_user_message(messages), "effect": "answer", "status": None, "sent": False,
            "received": time.time(), "answered": None, "batch": None,
        }  # fmt: skip
        if self._behaviour.keep_bodies:
            record["body"] = body
        self._log.append(record)
        rule = self._rule(CHAT_PATH, "POST", body, digest, number, attempt)
        record["effect"] = rule.do if live or rule.do != "dribble" else "answer"
        return ChatRequest(body, digest, record, rule)

    @staticmethod
    def _log_answer(chat: ChatRequest, status: int, sent: bool) -> None:
        """Note in the log what a request got: 0 if the connection was dropped."""
        chat.record.update(status=status, answered=time.time(), sent=sent)

    def _answer(self, chat: ChatRequest, key: str) -> HttpAnswer:
        """The answer, whatever becomes of it on its way."""
        rule, body = chat.rule, chat.body
        if is_error(rule.do):
            return error_answer(rule, body, key)
        if self._behaviour.models and body.get("model") not in self._behaviour.models:
            return error_answer(BehaviourRule(do="no_model"), body, key)
        for name in self._behaviour.unsupported:
            if name in body:
                return error_answer(BehaviourRule(do="unsupported_parameter", parameter=name), body, key)
        if rule.do in _ODD:
            return _ODD[rule.do]
        taught = self._tuning.learned_reply(body.get("model"), body.get("messages", []))
        completion = self._replies.completion(body, rule.do, chat.record["number"], taught)
        return HttpAnswer.json(completion, headers=rule.headers)

    def _latency(self, chat: ChatRequest) -> float:
        if chat.rule.latency_s is not None:
            return chat.rule.latency_s
        behaviour = self._behaviour
        if not behaviour.jitter:
            return behaviour.latency_s
        return behaviour.latency_s * (1 + behaviour.jitter * (2 * body_position(chat.digest, "latency") - 1))

    # --- rules and limits

    def _rule(
        self, path: str, method: str, body: Mapping[str, Any], digest: str, number: int, attempt: int
    ) -> BehaviourRule:
        """The first rule that holds; one that only answers if none does."""
        for rule in self._behaviour.rules:
            if rule.do == "unsupported_parameter" and rule.parameter not in body:
                continue
            if rule.do == "unsupported_format" and "response_format" not in body:
                continue
            if _matches_request(rule, path, method, body) and _matches_count(rule, digest, number, attempt):
                return rule
        return _ANSWER

    def _rate_limit_answer(self) -> HttpAnswer | None:
        """429 if there are too many requests."""
        behaviour = self._behaviour
        wait = 0.0
        if behaviour.max_in_flight is not None and self._in_flight >= behaviour.max_in_flight:
            wait = max(1.0, behaviour.latency_s)
        elif behaviour.requests_per_minute is not None:
            now, rate = time.monotonic(), behaviour.requests_per_minute / 60
            self._allowed = min(behaviour.burst, self._allowed + (now - self._refilled) * rate)
            self._refilled = now
            if self._allowed >= 1:
                self._allowed -= 1
                return None
            wait = (1 - self._allowed) / rate
        if not wait:
            return None
        after = f"ms:{int(wait * 1000) + 1}" if behaviour.limit_retry_after else None
        return error_answer(BehaviourRule(do="rate_limit", retry_after=after), {}, "")

    def _authorization_error(self, call: HttpRequest) -> HttpAnswer | None:
        wanted = self._behaviour.api_key
        if wanted is None or _bearer_key(call) == wanted:
            return None
        return error_answer(BehaviourRule(do="unauthorized"), {}, _bearer_key(call))


_ANSWER = BehaviourRule(do="answer")
_ODD = {
    "garbage": HttpAnswer(200, b'{"id": "chatcmpl-1", "choices": [{"mess', {}),
    "html": HttpAnswer(200, b"<html><body>Please log in.</body></html>", {}, "text/html"),
    "wrong_shape": HttpAnswer.json({"id": "chatcmpl-1", "object": "chat.completion", "result": "fine"}),
    "error_body": HttpAnswer.json({"error": {"message": "The provider returned an error.", "code": 502}}),
}


def _matches_request(rule: BehaviourRule, path: str, method: str, body: Mapping[str, Any]) -> bool:
    """Whether path and body are what a rule is about."""
    when = rule.when
    if path != CHAT_PATH if when.path is None else when.path not in path:
        return False
    if when.method is not None and when.method != method:
        return False
    if when.parameter is not None and when.parameter not in body:
        return False
    messages = body.get("messages") or [{}]
    if when.user is not None and when.user not in last_user_message(messages):
        return False
    first = messages[0]
    return when.system is None or (first.get("role") == "system" and when.system in str(first.get("content")))


def _matches_count(rule: BehaviourRule, digest: str, number: int, attempt: int) -> bool:
    """Whether number, share and attempt are what a rule is about."""
    when = rule.when
    if when.nth is not None and number not in when.nth:
        return False
    if when.after is not None and number <= when.after:
        return False
    if when.every is not None and number % when.every:
        return False
    if when.share is not None and body_position(digest or str(number), when.salt) >= when.share:
        return False
    return when.attempts is None or attempt <= when.attempts


def _bearer_key(call: HttpRequest) -> str:
    return call.headers.get("authorization", "").removeprefix("Bearer ")
