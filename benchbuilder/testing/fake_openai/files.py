"""The objects of the fake service and their common paths; its files."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, ClassVar

from aiohttp import web

from benchbuilder.testing.fake_openai.responses import json_response

FakeObject = dict[str, Any]
"""An object as the service describes it to clients; ``id`` identifies it."""


class FakeCollection(ABC):
    """Objects by id, which clients list, show and poll."""

    path: ClassVar[str]
    missing: ClassVar[str]
    """The error for an unknown ``{id}``."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all objects."""
        self._objects: dict[str, FakeObject] = {}
        self._polls = Counter[str]()

    def __contains__(self, ident: object) -> bool:
        return ident in self._objects

    def routes(self) -> list[web.RouteDef]:
        """The paths that this collection serves."""
        item = f"{self.path}/{{id}}"
        return [web.post(self.path, self._create), web.get(self.path, self._list), web.get(item, self._show)]

    @abstractmethod
    async def _create(self, request: web.Request) -> web.Response:
        """Make an object from a request."""

    @abstractmethod
    def _advance(self, item: FakeObject) -> None:
        """Bring an object to the state that another poll finds."""

    async def _list(self, request: web.Request) -> web.Response:
        return list_page(list(self._objects.values()), request)

    async def _show(self, request: web.Request) -> web.Response:
        item = self._requested(request)
        self._polls[item["id"]] += 1
        self._advance(item)
        return json_response(item)

    def _requested(self, request: web.Request) -> FakeObject:
        """The object that the path of a request names."""
        ident = request.match_info["id"]
        if ident not in self._objects:
            raise web.HTTPNotFound(text=self.missing.format(id=ident))
        return self._objects[ident]


class FakeFiles(FakeCollection):
    """Uploaded and generated files, by id."""

    path = "/v1/files"
    missing = "No such File object: {id}"

    def reset(self) -> None:
        """Forget all files."""
        super().reset()
        self._contents: dict[str, bytes] = {}

    def content(self, ident: str) -> bytes:
        """The content of a file."""
        return self._contents[ident]

    def store_file(self, content: bytes, name: str, purpose: str) -> FakeObject:
        """Keep a file; return its object."""
        ident = f"file-{len(self._contents) + 1}"
        self._contents[ident] = content
        self._objects[ident] = {
            "id": ident, "object": "file", "bytes": len(content), "created_at": unix_time(),
            "filename": name, "purpose": purpose, "status": "processed",
        }  # fmt: skip
        return self._objects[ident]

    def routes(self) -> list[web.RouteDef]:
        """The paths of the files API."""
        item = "/v1/files/{id}"
        return [*super().routes(), web.delete(item, self._delete), web.get(f"{item}/content", self._download)]

    async def _create(self, request: web.Request) -> web.Response:
        form = await request.post()
        upload, purpose = form.get("file"), form.get("purpose")
        if not isinstance(upload, web.FileField) or not isinstance(purpose, str):
            raise web.HTTPBadRequest(text="'file' and 'purpose' are required, as multipart/form-data")
        return json_response(self.store_file(upload.file.read(), upload.filename, purpose))

    def _advance(self, item: FakeObject) -> None:
        """Files are complete at once."""

    async def _delete(self, request: web.Request) -> web.Response:
        file = self._objects.pop(self._requested(request)["id"])
        return json_response({"id": file["id"], "object": "file", "deleted": True})

    async def _download(self, request: web.Request) -> web.Response:
        return web.Response(body=self._contents[self._requested(request)["id"]])


def list_page(objects: list[FakeObject], request: web.Request) -> web.Response:
    """A page of a list, newest first: `limit` objects behind the id `after`, both from the query."""
    newest = objects[::-1]
    ids = [item["id"] for item in newest]
    start = ids.index(request.query["after"]) + 1 if request.query.get("after") in ids else 0
    limit = int(request.query.get("limit", "20"))
    page = newest[start : start + limit]
    ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {"first_id": None, "last_id": None}
    return json_response({"object": "list", "data": page, **ends, "has_more": start + limit < len(newest)})


def unix_time() -> int:
    """Seconds since 1970."""
    return int(time.time())
