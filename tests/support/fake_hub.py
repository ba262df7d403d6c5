"""A server that speaks the few addresses of the Hugging Face Hub that publishing uses."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs


class FakeHub:
    """One dataset repository in memory: the files of its branch, and of each tag.

    Addresses that contain `refuse` get `status`; replies from those that contain `loses` are lost after all is done.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {".gitattributes": b""}
        self.tags: dict[str, dict[str, bytes]] = {}
        self.requests: list[str] = []
        self.refuse = ""
        self.status = 403
        self.loses = ""
        self.exists = True
        self.address = ""

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """The status and the JSON that a request gets."""
        path = path.partition("?")[0]
        self.requests.append(f"{method} {path}")
        if self.refuse and self.refuse in path:
            return self.status, {"error": "you may not write here"}
        if not self.exists and path != "/api/repos/create":
            return 404, {"error": "Repository not found"}
        if path == "/api/repos/create":
            self.exists = True
            return 200, {"url": f"{self.address}/datasets/owner/garden", "id": "owner/garden"}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if path.endswith("/refs"):
            commits = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": "c" * 40} for tag in self.tags]
            return 200, {"branches": [], "converts": [], "tags": commits}
        if "/preupload/" in path:
            files = json.loads(body)["files"]
            return 200, {"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]}
        if "/commit/" in path:
            self._commit(body)
            return 200, {"commitUrl": f"{self.address}/datasets/owner/garden/commit/{'a' * 40}", "commitOid": "a" * 40}
        if "/tag/" in path:
            self.tags[json.loads(body)["tag"]] = dict(self.files)
            return 200, {}
        if "/paths-info/" in path:
            files = self.tags[path.rpartition("/")[2]]
            wanted = [name for name in parse_qs(body.decode())["paths"] if name in files]
            return 200, [{"type": "file", "path": name, "size": len(files[name]), "oid": git_hash(files[name])}
                         for name in wanted]  # fmt: skip
        if "/tree/" in path:
            return 200, [{"type": "file", "path": name, "size": len(data), "oid": "b" * 40}
                         for name, data in self.files.items()]  # fmt: skip
        siblings = [{"rfilename": name} for name in self.files]
        return 200, {"id": "owner/garden", "sha": "a" * 40, "siblings": siblings, "private": False}

    def _commit(self, body: bytes) -> None:
        for line in body.decode().splitlines():
            said = json.loads(line)
            if said["key"] == "file":
                self.files[said["value"]["path"]] = base64.b64decode(said["value"]["content"])
            elif said["key"] == "deletedFile":
                del self.files[said["value"]["path"]]


def git_hash(data: bytes) -> str:
    """The name of a file's contents in git."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """Serve an empty repository; its `address` is the endpoint."""
    hub = FakeHub()

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, data = hub.answer(self.command, self.path, body)
            if hub.loses and hub.loses in self.path:  # the network is cut: it is done, and nobody hears of it
                self.close_connection = True
                return
            text = json.dumps(data).encode()
            self.send_response(status)
            if status == 404:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = _reply  # noqa: N815 - names of the base class

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.address = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()
