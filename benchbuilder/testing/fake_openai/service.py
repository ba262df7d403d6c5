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

from benchbuilder.testing.fake_openai.batches import Batches
from benchbuilder.testing.fake_openai.behaviour import Behaviour, Rule, share_of
from benchbuilder.testing.fake_openai.errors import error_answer, is_error
from benchbuilder.testing.fake_openai.files import Files
from benchbuilder.testing.fake_openai.http import Answer, Call, Connection
from benchbuilder.testing.fake_openai.replies import Replies, last_user
from benchbuilder.testing.fake_openai.tuning import TuningJobs

CHAT = "/v1/chat/completions"


@dataclass
class Chat:
    """One chat request on its way: what came, its record in the log, and the rule that it met."""

    body: Mapping[str, Any]
    digest: str
    record: dict[str, Any]
    rule: Rule


class Service:
    """Answers requests as a behaviour says, which may change at any time."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._configure(behaviour)
        self._forget()

    def _configure(self, behaviour: Behaviour) -> None:
        self._replies = Replies(behaviour)
        self._behaviour = behaviour
        self._allowed, self._refilled = float(behaviour.burst), time.monotonic()

    def _forget(self) -> None:
        self._log: list[dict[str, Any]] = []
        self._attempts = Counter[str]()
        self._in_flight = self._peak = 0
        self._calls = Counter[str]()
        self._round = getattr(self, "_round", 0) + 1
        self._files = Files()
        self._batches = Batches(self._files, self._batched)
        self._tuning = TuningJobs(self._files)

    # --- routes

    def serve(self, call: Call, connection: Connection) -> None:
        """Answer one HTTP request."""
        if call.path == CHAT and call.method == "POST":
            self._chat(call, connection)
        elif call.path.startswith("/control/"):
            connection.send(self._control(call))
        else:
            self._other(call, connection)

    def _other(self, call: Call, connection: Connection) -> None:
        """Everything but chat: models, files, batches, fine-tuning jobs."""
        self._calls[f"{call.method} {call.path}"] += 1
        number = self._calls[f"{call.method} {call.path}"]
        rule = self._rule(call.path, call.method, {}, "", number, number)
        if rule.do == "drop_before":
            connection.drop()
            return
        if (refused := self._unauthorized(call)) is not None:
            connection.send(refused)
            return
        if is_error(rule.do):
            connection.send(error_answer(rule, {}, _key(call)))
            return
        self._deliver(connection, rule, self._route(call))

    def _route(self, call: Call) -> Answer:
        if call.path == "/v1/models":
            names = self._behaviour.models or ("fake",)
            data = [{"id": name, "object": "model", "created": 0, "owned_by": "nobody"} for name in names]
            return Answer.json({"object": "list", "data": data})
        what, *parts = call.path.removeprefix("/v1/").strip("/").split("/")
        found = None
        if what == "files":
            found = self._files.route(call, parts)
        elif what == "batches":
            found = self._batches.route(call, parts, self._behaviour.batch)
        elif what == "fine_tuning":
            found = self._tuning.route(call, parts, self._behaviour.tuning)
        message = f"Invalid URL ({call.method} {call.path})"
        return found or Answer.json({"error": {"message": message, "type": "invalid_request_error"}}, 404)

    def _control(self, call: Call) -> Answer:
        if call.path == "/control/log":
            return Answer.json(self._log[int(call.query.get("since", "0")) :])
        if call.path == "/control/stats":
            statuses = Counter(str(record["status"]) for record in self._log)
            stats = {"requests": len(self._log), "statuses": statuses, "in_flight": self._in_flight}
            return Answer.json({**stats, "peak": self._peak, "calls": self._calls})
        if call.path == "/control/reset" and call.method == "POST":
            self._forget()
            return Answer.json({})
        if call.path == "/control/config" and call.method == "POST":
            try:
                self._configure(self._behaviour.with_changes(json.loads(call.body)))
            except (ValidationError, ValueError, OSError, KeyError) as error:
                return Answer.json({"error": {"message": str(error)}}, 400)
            return Answer.json({})
        return Answer.json({"error": {"message": f"no control {call.path}"}}, 404)

    # --- chat

    def _chat(self, call: Call, connection: Connection) -> None:
        try:
            body = json.loads(call.body)
            chat = self._arrived(body, live=True)
        except (ValueError, AttributeError, TypeError):
            connection.send(error_answer(Rule(do="bad_request"), {}, ""))
            return
        if chat.rule.do == "drop_before":
            self._answered(chat, 0, connection.open)
            connection.drop()
            return
        if (refused := self._unauthorized(call) or self._limited()) is not None:
            self._answered(chat, refused.status, connection.open)
            connection.send(refused)
            return
        self._in_flight += 1
        self._peak = max(self._peak, self._in_flight)
        wait = self._latency(chat)
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self._finish, chat, connection, _key(call), self._round)
        else:
            self._finish(chat, connection, _key(call), self._round)

    def _finish(self, chat: Chat, connection: Connection, key: str, began: int) -> None:
        if began == self._round:
            self._in_flight -= 1
        if chat.rule.do == "hang":
            return
        answer = self._answer(chat, key)
        dropped = chat.rule.do in ("drop_after", "drop_midway")
        self._answered(chat, 0 if dropped else answer.status, connection.open)
        self._deliver(connection, chat.rule, answer)

    def _deliver(self, connection: Connection, rule: Rule, answer: Answer) -> None:
        if rule.do == "drop_after":
            connection.drop()
        elif rule.do == "drop_midway":
            connection.send_half(answer)
        elif rule.do == "dribble":
            connection.dribble(answer, rule.seconds)
        elif rule.do != "hang":
            connection.send(answer)

    def _batched(self, body: Mapping[str, Any], batch: str) -> Answer | None:
        """The answer to a request of a batch; ``None`` if it gets none."""
        chat = self._arrived(body, live=False)
        chat.record["batch"] = batch
        if chat.rule.do in ("drop_before", "drop_after", "drop_midway", "hang"):
            self._answered(chat, 0, sent=True)
            return None
        answer = self._answer(chat, "")
        self._answered(chat, answer.status, sent=True)
        return answer

    def _arrived(self, body: Mapping[str, Any], *, live: bool) -> Chat:
        messages = body.get("messages", [])
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._attempts[digest] += 1
        number, attempt = len(self._log) + 1, self._attempts[digest]
        record: dict[str, Any] = {
            "number": number, "hash": digest, "attempt": attempt, "model": body.get("model"),
            "user": last_user(messages), "effect": "answer", "status": None, "sent": False,
            "received": time.time(), "answered": None, "batch": None,
        }  # fmt: skip
        if self._behaviour.keep_bodies:
            record["body"] = body
        self._log.append(record)
        rule = self._rule(CHAT, "POST", body, digest, number, attempt)
        record["effect"] = rule.do if live or rule.do != "dribble" else "answer"
        return Chat(body, digest, record, rule)

    @staticmethod
    def _answered(chat: Chat, status: int, sent: bool) -> None:
        """Note in the log what a request got: 0 if the connection was dropped."""
        chat.record.update(status=status, answered=time.time(), sent=sent)

    def _answer(self, chat: Chat, key: str) -> Answer:
        """The answer, whatever becomes of it on its way."""
        rule, body = chat.rule, chat.body
        if is_error(rule.do):
            return error_answer(rule, body, key)
        if self._behaviour.models and body.get("model") not in self._behaviour.models:
            return error_answer(Rule(do="no_model"), body, key)
        for name in self._behaviour.unsupported:
            if name in body:
                return error_answer(Rule(do="unsupported_parameter", parameter=name), body, key)
        if rule.do in _ODD:
            return _ODD[rule.do]
        taught = self._tuning.taught(body.get("model"), body.get("messages", []))
        completion = self._replies.completion(body, rule.do, chat.record["number"], taught)
        return Answer.json(completion, headers=rule.headers)

    def _latency(self, chat: Chat) -> float:
        if chat.rule.latency_s is not None:
            return chat.rule.latency_s
        behaviour = self._behaviour
        if not behaviour.jitter:
            return behaviour.latency_s
        return behaviour.latency_s * (1 + behaviour.jitter * (2 * share_of(chat.digest, "latency") - 1))

    # --- rules and limits

    def _rule(self, path: str, method: str, body: Mapping[str, Any], digest: str, number: int, attempt: int) -> Rule:
        """The first rule that holds; one that only answers if none does."""
        for rule in self._behaviour.rules:
            if rule.do == "unsupported_parameter" and rule.parameter not in body:
                continue
            if rule.do == "unsupported_format" and "response_format" not in body:
                continue
            if _holds(rule, path, method, body) and _counts(rule, digest, number, attempt):
                return rule
        return _ANSWER

    def _limited(self) -> Answer | None:
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
        return error_answer(Rule(do="rate_limit", retry_after=after), {}, "")

    def _unauthorized(self, call: Call) -> Answer | None:
        wanted = self._behaviour.api_key
        if wanted is None or _key(call) == wanted:
            return None
        return error_answer(Rule(do="unauthorized"), {}, _key(call))


_ANSWER = Rule(do="answer")
_ODD = {
    "garbage": Answer(200, b'{"id": "chatcmpl-1", "choices": [{"mess', {}),
    "html": Answer(200, b"<html><body>Please log in.</body></html>", {}, "text/html"),
    "wrong_shape": Answer.json({"id": "chatcmpl-1", "object": "chat.completion", "result": "fine"}),
    "error_body": Answer.json({"error": {"message": "The provider returned an error.", "code": 502}}),
}


def _holds(rule: Rule, path: str, method: str, body: Mapping[str, Any]) -> bool:
    """Whether path and body are what a rule is about."""
    when = rule.when
    if path != CHAT if when.path is None else when.path not in path:
        return False
    if when.method is not None and when.method != method:
        return False
    if when.parameter is not None and when.parameter not in body:
        return False
    messages = body.get("messages") or [{}]
    if when.user is not None and when.user not in last_user(messages):
        return False
    first = messages[0]
    return when.system is None or (first.get("role") == "system" and when.system in str(first.get("content")))


def _counts(rule: Rule, digest: str, number: int, attempt: int) -> bool:
    """Whether number, share and attempt are what a rule is about."""
    when = rule.when
    if when.nth is not None and number not in when.nth:
        return False
    if when.after is not None and number <= when.after:
        return False
    if when.every is not None and number % when.every:
        return False
    if when.share is not None and share_of(digest or str(number), when.salt) >= when.share:
        return False
    return when.attempts is None or attempt <= when.attempts


def _key(call: Call) -> str:
    return call.headers.get("authorization", "").removeprefix("Bearer ")
