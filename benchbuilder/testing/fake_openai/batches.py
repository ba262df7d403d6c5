"""Batches of the fake service: requests in a JSONL file, answered after some polls of the batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from aiohttp import web

from benchbuilder.testing.fake_openai.behaviour import BatchBehaviour, body_position
from benchbuilder.testing.fake_openai.files import FakeCollection, FakeFiles, FakeObject, unix_time
from benchbuilder.testing.fake_openai.responses import json_response

_ENDED = ("completed", "failed", "expired", "cancelled")


class FakeBatches(FakeCollection):
    """Batches of requests in `files`; `respond` answers the body of one request of a batch, or does not (``None``)."""

    path = "/v1/batches"
    missing = "No batch found with id '{id}'."

    def __init__(self, files: FakeFiles, respond: Callable[[Mapping[str, Any], str], web.Response | None]) -> None:
        self.behaviour = BatchBehaviour()
        self._files, self._respond = files, respond
        super().__init__()

    def routes(self) -> list[web.RouteDef]:
        """The paths of the batches API."""
        return [*super().routes(), web.post("/v1/batches/{id}/cancel", self._cancel)]

    async def _create(self, request: web.Request) -> web.Response:
        body: Mapping[str, Any] = await request.json()
        if body.get("input_file_id") not in self._files:
            raise web.HTTPBadRequest(text=f"No such File object: {body.get('input_file_id')}")
        batch: FakeObject = {
            "id": f"batch_{len(self._objects) + 1}", "object": "batch", "endpoint": body.get("endpoint"),
            "errors": None, "input_file_id": body["input_file_id"], "status": "validating",
            "completion_window": body.get("completion_window", "24h"), "output_file_id": None,
            "error_file_id": None, "created_at": unix_time(),
            "request_counts": {"total": 0, "completed": 0, "failed": 0}, "metadata": body.get("metadata"),
        }  # fmt: skip
        self._objects[batch["id"]] = batch
        return json_response(batch)

    async def _cancel(self, request: web.Request) -> web.Response:
        batch = self._requested(request)
        if batch["status"] in _ENDED:
            raise web.HTTPConflict(text=f"Cannot cancel a batch with status '{batch['status']}'.")
        batch.update(status="cancelling", cancelling_at=unix_time())
        return json_response(batch)

    def _advance(self, item: FakeObject) -> None:
        batch, behaviour = item, self.behaviour
        if batch["status"] in _ENDED:
            return
        lines = self._files.content(batch["input_file_id"]).splitlines()
        requests, errors = _requests(lines)
        if errors:
            batch.update(status="failed", failed_at=unix_time(), errors={"object": "list", "data": errors})
            return
        batch["request_counts"]["total"] = len(requests)
        if batch["status"] == "cancelling":
            self._end(batch, requests, "cancelled", behaviour.done_share)
            return
        remaining = behaviour.polls - self._polls[batch["id"]]
        if remaining >= 0:
            batch["status"] = "finalizing" if remaining == 0 and behaviour.polls > 1 else "in_progress"
        else:
            self._end(batch, requests, behaviour.end, 1.0 if behaviour.end == "completed" else behaviour.done_share)

    def _end(self, batch: FakeObject, requests: list[dict[str, Any]], status: str, share: float) -> None:
        """Answer the requests, in an order unlike that of the input, into an output file and an error file."""
        batch.update({"status": status, f"{status}_at": unix_time()})
        if status == "failed":
            error = {"code": "internal_error", "message": "The batch failed.", "line": None, "param": None}
            batch["errors"] = {"object": "list", "data": [error]}
            return
        completed: list[str] = []
        failed: list[str] = []
        for number, request in enumerate(sorted(requests, key=_position)):
            is_answered = number < round(share * len(requests))
            line = self._line(batch["id"], number, request, is_answered=is_answered, status=status)
            is_good = (line["response"] or {}).get("status_code") == 200
            (completed if is_good else failed).append(json.dumps(line))
        for name, lines in (("output_file_id", completed), ("error_file_id", failed)):
            if lines:
                content = "\n".join(lines).encode() + b"\n"
                batch[name] = self._files.store_file(content, f"{batch['id']}_{name[:-8]}.jsonl", "batch_output")["id"]
        batch["request_counts"].update(completed=len(completed), failed=len(failed))

    def _line(
        self, batch: str, number: int, request: Mapping[str, Any], *, is_answered: bool, status: str
    ) -> dict[str, Any]:
        response = self._respond(request["body"], batch) if is_answered else None
        line: dict[str, Any] = {"id": f"batch_req_{number}", "custom_id": request["custom_id"], "response": None}
        if response is not None:
            body: Any = response.text
            with suppress(ValueError):
                body = json.loads(body)
            answer = {"status_code": response.status, "request_id": f"req_{number}", "body": body}
            return {**line, "response": answer, "error": None}
        code = "batch_cancelled" if status == "cancelled" else "batch_expired"
        return {**line, "error": {"code": code, "message": "This request could not be executed."}}


def _requests(lines: list[bytes]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The requests of an input file, and the errors in it."""
    requests: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    seen = set[str]()
    for number, line in enumerate(lines, 1):
        try:
            request = json.loads(line)
            name = request["custom_id"]
            error = "duplicate_custom_id" if name in seen else "" if "body" in request else "missing_required_parameter"
        except (ValueError, KeyError, TypeError):
            request, name, error = {}, "", "invalid_json_line"
        seen.add(name)
        requests.append(request)
        if error:
            errors.append({"code": error, "message": f"Line {number}: {error}.", "line": number, "param": None})
    if not requests:
        errors.append({"code": "empty_file", "message": "The input file is empty.", "line": None, "param": None})
    return requests, errors


def _position(request: Mapping[str, Any]) -> float:
    return body_position(hashlib.sha256(request["custom_id"].encode()).hexdigest())
