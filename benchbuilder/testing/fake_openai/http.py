"""HTTP/1.1 with keep-alive on asyncio protocols: as little as a fake service needs, and fast."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}


@dataclass(frozen=True)
class HttpRequest:
    """One HTTP request; names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @cached_property
    def query(self) -> dict[str, str]:
        """The query's fields, the last of each name."""
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}


@dataclass(frozen=True)
class HttpAnswer:
    """One HTTP answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    content_type: str = "application/json"

    @classmethod
    def json(cls, data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """An answer that holds `data`."""
        return cls(status, json.dumps(data, ensure_ascii=False).encode(), headers or {})

    def head(self) -> bytes:
        """The status line and the headers."""
        line = _LINES.get(self.status) or f"HTTP/1.1 {self.status} Status\r\n"
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        sizes = f"content-type: {self.content_type}\r\ncontent-length: {len(self.body)}\r\n"
        return f"{line}{sizes}{more}\r\n".encode("latin-1")


class HttpConnection(asyncio.Protocol):
    """One connection: hands its requests to `serve` one after the other, each when the one before is answered."""

    def __init__(self, serve: Callable[[HttpRequest, HttpConnection], None]) -> None:
        self._serve = serve
        self._data = bytearray()
        self._busy = False
        self._transport: asyncio.Transport | None = None

    @property
    def is_open(self) -> bool:
        """Whether an answer can still be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Forget the transport: what is answered later is sent to nobody."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Take what came, and serve the next request if it is whole."""
        self._data += data
        if not self._busy:
            self._next()

    def _next(self) -> None:
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return
        first, *lines = bytes(self._data[:end]).decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        parts = first.split(" ")
        if len(parts) != 3 or "transfer-encoding" in headers or not headers.get("content-length", "0").isdigit():
            self.send(HttpAnswer.json({"error": {"message": "a plain request with a content-length, please"}}, 400))
            self.close_silently()
            return
        start, size = end + 4, int(headers.get("content-length", "0"))
        if len(self._data) < start + size:
            return
        call = HttpRequest(parts[0], parts[1], headers, bytes(self._data[start : start + size]))
        del self._data[: start + size]
        self._busy = True
        self._serve(call, self)

    def send(self, answer: HttpAnswer) -> None:
        """Send a whole answer and go on with the next request."""
        if self._transport is not None:
            self._transport.write(answer.head() + answer.body)
        self._close()

    def send_half(self, response: HttpAnswer) -> None:
        """Send the head and half of the body, then close the connection."""
        if self._transport is not None:
            self._transport.write(response.head() + response.body[: len(response.body) // 2])
            self._transport.close()

    def send_slowly(self, answer: HttpAnswer, seconds: float, pieces: int = 20) -> None:
        """Send the head at once and the body in pieces over some seconds."""
        if self._transport is not None:
            self._transport.write(answer.head())
        size = max(1, -(-len(answer.body) // pieces))
        cuts = [answer.body[at : at + size] for at in range(0, len(answer.body), size)]
        self._piece(cuts, seconds / max(1, len(cuts)))

    def _piece(self, cuts: list[bytes], pause: float) -> None:
        if not cuts:
            self._close()
        elif self._transport is not None:
            self._transport.write(cuts[0])
            asyncio.get_running_loop().call_later(pause, self._piece, cuts[1:], pause)

    def close_silently(self) -> None:
        """Close the connection without another word."""
        if self._transport is not None:
            self._transport.abort() if self._busy else self._transport.close()

    def _close(self) -> None:
        self._busy = False
        if self._data:
            self._next()
