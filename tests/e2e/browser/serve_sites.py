"""Serves the review app over every database in a folder, in a process of its own.

    python serve_sites.py FOLDER

``FOLDER/ward.sqlite`` is served as ``http://ward.localhost:PORT/``: browsers take each name for a site of its own, with
its own cookies and storage, and look none of them up. The address of the server is the one line on stdout.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI

from benchbuilder.annotation.app.app import create_app
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.web import host_of, serve_app


class Sites:
    """An ASGI app that hands each request to the app of the site that it asks for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._apps: dict[str, FastAPI] = {}
        self._lock = threading.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        host = host_of(dict(scope["headers"])[b"host"].decode("ascii"))
        await self._app(host)(scope, receive, send)

    def _app(self, host: str) -> FastAPI:
        with self._lock:
            if host not in self._apps:
                store = AnnotationStore.open(f"sqlite:///{self._folder / host.partition('.')[0]}.sqlite")
                self._apps[host] = create_app(store, {}, secure=False, hosts=[host])
            return self._apps[host]


if __name__ == "__main__":
    sites = cast("FastAPI", Sites(Path(sys.argv[1])))
    serve_app(sites, "127.0.0.1", 0, on_ready=lambda address: print(address, flush=True))
