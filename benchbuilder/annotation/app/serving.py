"""Serves the app on a port until it is stopped."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any

import anyio.to_thread
import uvicorn
from fastapi import FastAPI

from benchbuilder.core import ServiceError

_THREADS = 8
"""Concurrent requests: with more of them, writers wait longer for the database."""
_SWITCH_SECONDS = 0.0005
"""The thread switch interval: writers release the lock at every statement, and must get it back soon."""


def serve_app(app: FastAPI, host: str, port: int, *, on_ready: Callable[[str], None]) -> None:
    """Serve `app` until SIGINT or SIGTERM; `on_ready` gets the address as soon as requests are answered.

    Port 0 selects a free one. When it stops, running requests get ten seconds. Proxy headers about the client are only
    trusted from this machine.

    Raises:
        ServiceError: it cannot listen at this host and port.
    """
    listening = _listen(host, port)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=10,
        timeout_keep_alive=30,
        proxy_headers=True,
        forwarded_allow_ips="127.0.0.1,::1",
    )
    name = f"[{host}]" if ":" in host else host
    server = _Server(config, lambda: on_ready(f"http://{name}:{listening.getsockname()[1]}/"))
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        sys.setswitchinterval(before)
        listening.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, *args: Any, **options: Any) -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        await super().startup(*args, **options)
        if not self.should_exit:
            self._ready()


def _listen(host: str, port: int) -> socket.socket:
    # asyncio disables delays only for sockets with the protocol TCP; otherwise pages take 40 ms longer.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        raise ServiceError(
            f"The review app cannot listen at {host}, port {port}", why=str(error),
            next="Stop what uses the port, or choose another one.",
        ) from error  # fmt: skip
    return listening
