"""Files of the fake service, and lists of whatever it keeps."""

from __future__ import annotations

import re
import time
from typing import Any

from benchbuilder.testing.fake_openai.http import HttpAnswer, HttpRequest


class FakeFiles:
    """Files that were handed in or made, by id."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._named = 0

    def __contains__(self, ident: object) -> bool:
        return ident in self._files

    def content(self, ident: str) -> bytes:
        """What a file holds."""
        return self._files[ident][1]

    def route(self, call: HttpRequest, parts: list[str]) -> HttpAnswer:
        """The answer to a request about files; `parts` is the path behind ``files``."""
        if not parts and call.method == "POST":
            return self._upload(call)
        if not parts:
            return list_page([file for file, _ in self._files.values()], call)
        if parts[0] not in self._files:
            return error_response(f"No such File object: {parts[0]}", 404)
        file, content = self._files[parts[0]]
        if call.method == "DELETE":
            del self._files[parts[0]]
            return HttpAnswer.json({"id": file["id"], "object": "file", "deleted": True})
        if parts[1:] == ["content"]:
            return HttpAnswer(200, content, {}, "application/octet-stream")
        return HttpAnswer.json(file)

    def _upload(self, call: HttpRequest) -> HttpAnswer:
        found = re.search(r'boundary="?([^";]+)', call.headers.get("content-type", ""))
        if found is None:
            return error_response("a file is uploaded as multipart/form-data", 400)
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
            return error_response("'file' and 'purpose' are required", 400)
        return HttpAnswer.json(self.store_file(fields["file"], name, fields["purpose"].decode()))

    def store_file(self, content: bytes, name: str, purpose: str) -> dict[str, Any]:
        """Keep a file; what the service says of it."""
        self._named += 1
        file: dict[str, Any] = {
            "id": f"file-{self._named}", "object": "file", "bytes": len(content), "created_at": unix_time(),
            "filename": name, "purpose": purpose, "status": "processed",
        }  # fmt: skip
        self._files[file["id"]] = (file, content)
        return file


def list_page(objects: list[dict[str, Any]], call: HttpRequest) -> HttpAnswer:
    """A page of a list, newest first."""
    newest = objects[::-1]
    ids = [thing["id"] for thing in newest]
    start = ids.index(call.query["after"]) + 1 if call.query.get("after") in ids else 0
    limit = int(call.query.get("limit", "20"))
    page = newest[start : start + limit]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
    return HttpAnswer.json({"object": "list", "data": page, **ends, "has_more": start + limit < len(newest)})


def error_response(message: str, status: int) -> HttpAnswer:
    """An error in the words of the service."""
    return HttpAnswer.json({"error": {"message": message, "type": "invalid_request_error", "code": None}}, status)


def unix_time() -> int:
    """Seconds since 1970."""
    return int(time.time())
