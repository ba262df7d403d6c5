"""Batches of the fake service: requests handed in as JSONL, answered after some looks at the batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from benchbuilder.testing.fake_openai.behaviour import BatchBehaviour, body_position
from benchbuilder.testing.fake_openai.files import FakeFiles, error_response, list_page, unix_time
from benchbuilder.testing.fake_openai.http import HttpAnswer, HttpRequest

Respond = Callable[[Mapping[str, Any], str], HttpAnswer | None]
_ENDED = ("completed", "failed", "expired", "cancelled")


class FakeBatches:
    """Batches of requests in `files`, by id; `respond` answers one request of a batch."""

    def __init__(self, files: FakeFiles, respond: Respond) -> None:
        self._files, self._respond = files, respond
        self._batches: dict[str, dict[str, Any]] = {}
        self._looks: dict[str, int] = {}

    def route(self, call: HttpRequest, path_parts: list[str], behaviour: BatchBehaviour) -> HttpAnswer:
        """The answer to a request about batches; `path_parts` is the path behind ``batches``."""
        if not path_parts and call.method == "POST":
            return self._create(json.loads(call.body))
        if not path_parts:
            return list_page(list(self._batches.values()), call)
        batch = self._batches.get(path_parts[0])
        if batch is None:
            return error_response(f"No batch found with id '{path_parts[0]}'.", 404)
        if path_parts[1:] == ["cancel"]:
            return self._cancel(batch)
        self._advance(batch, behaviour)
        return HttpAnswer.json(batch)

    def _create(self, request_body: Mapping[str, Any]) -> HttpAnswer:
        if request_body.get("input_file_id") not in self._files:
            return error_response(f"No such File object: {request_body.get('input_file_id')}", 400)
        batch: dict[str, Any] = {
            "id": f"batch_{len(self._batches) + 1}", "object": "batch", "endpoint": request_body.get("endpoint"),
            "errors": None, "input_file_id": request_body["input_file_id"], "status": "validating",
            "completion_window": request_body.get("completion_window", "24h"), "output_file_id": None,
            "error_file_id": None, "created_at": unix_time(), "request_counts": {"total": 0, "completed": 0, "failed": 0},
            "metadata": request_body.get("metadata"),
        }  # fmt: skip
        self._batches[batch["id"]] = batch
        self._looks[batch["id"]] = 0
        return HttpAnswer.json(batch)

    def _cancel(self, batch: dict[str, Any]) -> HttpAnswer:
        if batch["status"] in _ENDED:
            return error_response(f"Cannot cancel a batch with status '{batch['status']}'.", 409)
        batch.update(status="cancelling", cancelling_at=unix_time())
        return HttpAnswer.json(batch)

    def _advance(self, batch: dict[str, Any], behaviour: BatchBehaviour) -> None:
        """What another look at a batch finds."""
        if batch["status"] in _ENDED:
            return
        self._looks[batch["id"]] += 1
        lines = self._files.content(batch["input_file_id"]).splitlines()
        requests, errors = _requests(lines)
        if errors:
            batch.update(status="failed", failed_at=unix_time(), errors={"object": "list", "data": errors})
            return
        batch["request_counts"]["total"] = len(requests)
        if batch["status"] == "cancelling":
            self._end(batch, requests, "cancelled", behaviour.done_share)
            return
        left = behaviour.polls - self._looks[batch["id"]]
        if left >= 0:
            batch["status"] = "finalizing" if left == 0 and behaviour.polls > 1 else "in_progress"
        else:
            self._end(batch, requests, behaviour.end, 1.0 if behaviour.end == "completed" else behaviour.done_share)

    def _end(self, batch: dict[str, Any], requests: list[dict[str, Any]], status: str, share: float) -> None:
        """Answer the requests, in an order of their own, into an output and an error file."""
        batch.update({"status": status, f"{status}_at": unix_time()})
        if status == "failed":
            error = {"code": "internal_error", "message": "The batch failed.", "line": None, "param": None}
            batch["errors"] = {"object": "list", "data": [error]}
            return
        good: list[str] = []
        bad: list[str] = []
        for number, request in enumerate(sorted(requests, key=lambda one: body_position(_hex(one["custom_id"])))):
            done = number < round(share * len(requests))
            line = self._line(batch["id"], number, request, is_answered=done, status=status)
            (good if (line["response"] or {}).get("status_code") == 200 else bad).append(json.dumps(line))
        for name, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                content = "\n".join(lines).encode() + b"\n"
                batch[name] = self._files.store_file(content, f"{batch['id']}_{name[:-8]}.jsonl", "batch_output")["id"]
        batch["request_counts"].update(completed=len(good), failed=len(bad))

    def _line(
        self, batch: str, number: int, request: Mapping[str, Any], *, is_answered: bool, status: str
    ) -> dict[str, Any]:
        answer = self._respond(request["body"], batch) if is_answered else None
        line: dict[str, Any] = {"id": f"batch_req_{number}", "custom_id": request["custom_id"], "response": None}
        if answer is not None:
            body: Any = answer.body.decode()
            with suppress(ValueError):
                body = json.loads(body)
            response = {"status_code": answer.status, "request_id": f"req_{number}", "body": body}
            return {**line, "response": response, "error": None}
        code = "batch_cancelled" if status == "cancelled" else "batch_expired"
        return {**line, "error": {"code": code, "message": "This request could not be executed."}}


def _requests(lines: list[bytes]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The requests of an input file, and what is wrong with it."""
    requests: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    seen = set[str]()
    for number, line in enumerate(lines, 1):
        try:
            request = json.loads(line)
            name = request["custom_id"]
            wrong = "duplicate_custom_id" if name in seen else "" if "body" in request else "missing_required_parameter"
        except (ValueError, KeyError, TypeError):
            request, name, wrong = {}, "", "invalid_json_line"
        seen.add(name)
        requests.append(request)
        if wrong:
            errors.append({"code": wrong, "message": f"Line {number}: {wrong}.", "line": number, "param": None})
    if not requests:
        errors.append({"code": "empty_file", "message": "The input file is empty.", "line": None, "param": None})
    return requests, errors


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
