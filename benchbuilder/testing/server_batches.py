"""Files and batches of the fake service: requests handed in as JSONL, answered after some looks at the batch."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from benchbuilder.testing.server_behaviour import BatchBehaviour, share_of
from benchbuilder.testing.server_http import Answer, Call

Respond = Callable[[Mapping[str, Any], str], Answer | None]
_ENDED = ("completed", "failed", "expired", "cancelled")


class Batches:
    """Files by id, batches by id; `respond` answers one request of a batch."""

    def __init__(self, respond: Respond) -> None:
        self._respond = respond
        self._files: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._batches: dict[str, dict[str, Any]] = {}
        self._looks: dict[str, int] = {}
        self._named = 0

    def route(self, call: Call, behaviour: BatchBehaviour) -> Answer | None:
        """The answer to a request about files or batches; ``None`` if it is about neither."""
        parts = call.path.removeprefix("/v1/").strip("/").split("/")
        if parts[0] == "files":
            return self._file_route(call, parts[1:])
        if parts[0] == "batches":
            return self._batch_route(call, parts[1:], behaviour)
        return None

    def _file_route(self, call: Call, parts: list[str]) -> Answer:
        if not parts and call.method == "POST":
            return self._upload(call)
        if not parts:
            return _listed([file for file, _ in self._files.values()], call)
        if parts[0] not in self._files:
            return _error(f"No such File object: {parts[0]}", 404)
        file, content = self._files[parts[0]]
        if call.method == "DELETE":
            del self._files[parts[0]]
            return Answer.json({"id": file["id"], "object": "file", "deleted": True})
        if parts[1:] == ["content"]:
            return Answer(200, content, {}, "application/octet-stream")
        return Answer.json(file)

    def _batch_route(self, call: Call, parts: list[str], behaviour: BatchBehaviour) -> Answer:
        if not parts and call.method == "POST":
            return self._create(json.loads(call.body))
        if not parts:
            return _listed(list(self._batches.values()), call)
        batch = self._batches.get(parts[0])
        if batch is None:
            return _error(f"No batch found with id '{parts[0]}'.", 404)
        if parts[1:] == ["cancel"]:
            return self._cancel(batch)
        self._advance(batch, behaviour)
        return Answer.json(batch)

    # --- files

    def _upload(self, call: Call) -> Answer:
        found = re.search(r'boundary="?([^";]+)', call.headers.get("content-type", ""))
        if found is None:
            return _error("a file is uploaded as multipart/form-data", 400)
        fields: dict[str, bytes] = {}
        name = "upload.jsonl"
        for part in call.body.split(b"--" + found[1].encode())[1:-1]:
            head, _, content = part.partition(b"\r\n\r\n")
            field = re.search(rb'name="([^"]*)"', head)
            if field is not None:
                fields[field[1].decode()] = content.removesuffix(b"\r\n")
            if filename := re.search(rb'filename="([^"]*)"', head):
                name = filename[1].decode()
        if "file" not in fields or "purpose" not in fields:
            return _error("'file' and 'purpose' are required", 400)
        return Answer.json(self._keep(fields["file"], name, fields["purpose"].decode()))

    def _keep(self, content: bytes, name: str, purpose: str) -> dict[str, Any]:
        self._named += 1
        file: dict[str, Any] = {
            "id": f"file-{self._named}", "object": "file", "bytes": len(content), "created_at": _now(),
            "filename": name, "purpose": purpose, "status": "processed",
        }  # fmt: skip
        self._files[file["id"]] = (file, content)
        return file

    # --- batches

    def _create(self, asked: Mapping[str, Any]) -> Answer:
        if asked.get("input_file_id") not in self._files:
            return _error(f"No such File object: {asked.get('input_file_id')}", 400)
        batch: dict[str, Any] = {
            "id": f"batch_{len(self._batches) + 1}", "object": "batch", "endpoint": asked.get("endpoint"),
            "errors": None, "input_file_id": asked["input_file_id"], "status": "validating",
            "completion_window": asked.get("completion_window", "24h"), "output_file_id": None,
            "error_file_id": None, "created_at": _now(), "request_counts": {"total": 0, "completed": 0, "failed": 0},
            "metadata": asked.get("metadata"),
        }  # fmt: skip
        self._batches[batch["id"]] = batch
        self._looks[batch["id"]] = 0
        return Answer.json(batch)

    def _cancel(self, batch: dict[str, Any]) -> Answer:
        if batch["status"] in _ENDED:
            return _error(f"Cannot cancel a batch with status '{batch['status']}'.", 409)
        batch.update(status="cancelling", cancelling_at=_now())
        return Answer.json(batch)

    def _advance(self, batch: dict[str, Any], behaviour: BatchBehaviour) -> None:
        """What another look at a batch finds."""
        if batch["status"] in _ENDED:
            return
        self._looks[batch["id"]] += 1
        lines = self._files[batch["input_file_id"]][1].splitlines()
        requests, errors = _requests(lines)
        if errors:
            batch.update(status="failed", failed_at=_now(), errors={"object": "list", "data": errors})
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
        batch.update({"status": status, f"{status}_at": _now()})
        if status == "failed":
            error = {"code": "internal_error", "message": "The batch failed.", "line": None, "param": None}
            batch["errors"] = {"object": "list", "data": [error]}
            return
        good: list[str] = []
        bad: list[str] = []
        for number, request in enumerate(sorted(requests, key=lambda one: share_of(_hex(one["custom_id"])))):
            done = number < round(share * len(requests))
            line = self._line(batch["id"], number, request, done=done, status=status)
            (good if (line["response"] or {}).get("status_code") == 200 else bad).append(json.dumps(line))
        for name, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                content = "\n".join(lines).encode() + b"\n"
                batch[name] = self._keep(content, f"{batch['id']}_{name[:-8]}.jsonl", "batch_output")["id"]
        batch["request_counts"].update(completed=len(good), failed=len(bad))

    def _line(self, batch: str, number: int, request: Mapping[str, Any], *, done: bool, status: str) -> dict[str, Any]:
        answer = self._respond(request["body"], batch) if done else None
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


def _listed(things: list[dict[str, Any]], call: Call) -> Answer:
    """A page of a list, newest first."""
    newest = things[::-1]
    ids = [thing["id"] for thing in newest]
    start = ids.index(call.query["after"]) + 1 if call.query.get("after") in ids else 0
    limit = int(call.query.get("limit", "20"))
    page = newest[start : start + limit]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
    return Answer.json({"object": "list", "data": page, **ends, "has_more": start + limit < len(newest)})


def _error(message: str, status: int) -> Answer:
    return Answer.json({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _now() -> int:
    return int(time.time())
