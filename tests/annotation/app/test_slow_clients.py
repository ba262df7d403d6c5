"""Clients that take too long, on a real port with short limits: their connections end, and others are served."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from patience import patience, until
from review_world import World

from benchbuilder.web import ConnectionLimits, serve_app, serving

LIMIT_S = 1.0
PATIENCE_S = patience()
"""Every limit that users have is longer, so what ends before was ended by one of the test."""
HEAD = b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"


@dataclass
class Live:
    port: int
    server: Any

    def connections(self) -> int:
        """The open ones, as the server counts them."""
        return len(self.server.server_state.connections)

    def connect(self, sent: bytes = b"") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=patience())
        client.sendall(sent)
        return client

    def seconds_to_end(self, client: socket.socket, drip: bytes = b"") -> float:
        """Until the server ends the connection; `drip` is sent again and again meanwhile."""
        began = time.monotonic()
        client.settimeout(0.05 if drip else 60)
        with client, contextlib.suppress(ConnectionError):
            while True:
                with contextlib.suppress(TimeoutError):
                    if not client.recv(65536):
                        break
                client.sendall(drip)
        return time.monotonic() - began

    def status(self, path: str = "/help") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience())
        with contextlib.closing(connection):
            connection.request("GET", path)
            return connection.getresponse().status


@contextlib.contextmanager
def live(world: World, monkeypatch: pytest.MonkeyPatch, **limits: Any) -> Iterator[Live]:
    servers: list[Any] = []
    ready = threading.Event()
    ports: list[int] = []

    class Server(serving._Server):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            servers.append(self)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    def began(address: str) -> None:
        ports.append(int(address.rstrip("/").rpartition(":")[2]))
        ready.set()

    monkeypatch.setattr(serving, "_Server", Server)
    bounds = ConnectionLimits(**{"header_s": LIMIT_S, "body_s": LIMIT_S, "reply_s": LIMIT_S} | limits)
    thread = threading.Thread(
        target=serve_app, args=(world.app, "127.0.0.1", 0), kwargs={"on_ready": began, "limits": bounds}
    )
    thread.start()
    assert ready.wait(patience())
    try:
        yield Live(ports[0], servers[0])
    finally:
        servers[0].should_exit = True
        thread.join(patience())


def test_slow_heads_and_bodies_end_whatever_is_sent_meanwhile(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with live(world, monkeypatch) as server:
        slow = {
            "silent": (b"", b""),
            "head": (b"GET /help HT", b""),
            "dripping head": (b"GET /help HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"x"),
            "body": (HEAD + b"Content-Length: 1000\r\n\r\na=", b""),
            "dripping body": (HEAD + b"Content-Length: 100000\r\n\r\na=", b"x"),
            "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
            "refused body": (HEAD + b"Content-Length: 9000000\r\n\r\na=", b"x"),
            "second head": (b"GET /help HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /he", b"x"),
        }
        clients = {name: (server.connect(begin), drip) for name, (begin, drip) in slow.items()}
        for name, (client, drip) in clients.items():
            assert server.seconds_to_end(client, drip) < PATIENCE_S, name
        assert server.status() == 200


@pytest.mark.push
def test_a_reply_that_nobody_reads_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    request = b"GET /static/review.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with live(world, monkeypatch) as server, server.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(request * 400)
        until(server.connections, "the server has the connection")

        def is_ended() -> bool:
            with contextlib.suppress(ConnectionError):
                client.sendall(b"G")
            return not server.connections()

        # The server's side is asked: the client would often hear nothing, as its system drops an end that comes behind
        # bytes for which it has no room.
        until(is_ended, "the server has ended it")
        assert server.status() == 200


def test_waiting_between_requests_is_no_slowness(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with live(world, monkeypatch) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience())
        with contextlib.closing(connection):
            for pause in (0, 1.2 * LIMIT_S, 1.2 * LIMIT_S):
                time.sleep(pause)
                connection.request("GET", "/help")
                answer = connection.getresponse()
                assert (answer.status, len(answer.read()) > 100) == (200, True)


def test_the_connections_of_an_address_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with live(world, monkeypatch, header_s=30, per_address=5) as server:
        idle = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience())
        idle.request("GET", "/help")
        idle.getresponse().read()
        held = [server.connect(b"GET") for _ in range(12)]
        assert server.status() == 200, "a newcomer takes the place of the one that has waited longest"
        idle.request("GET", "/help")
        assert idle.getresponse().status == 200, "those that were served before go last"
        idle.close()
        ended = 0
        for client in held:
            client.settimeout(0.05)
            try:
                ended += client.recv(1) == b""
            except ConnectionError:
                ended += 1
            except TimeoutError:
                pass
            client.close()
        assert ended >= 8


@pytest.mark.parametrize(("proxies", "kept"), [((), 3), (("127.0.0.1",), 6), (("10.0.0.0/8",), 3)])
def test_a_named_proxy_has_only_the_limit_in_all(proxies: tuple[str, ...], kept: int) -> None:
    limits = ConnectionLimits(proxies, per_address=3, in_all=6)
    ended: list[Any] = []

    class Connection:
        network, requests, since, is_answering, client = "127.0.0.1", 0, 0.0, False, ("127.0.0.1", 1)

        def give_up(self) -> None:
            ended.append(self)
            limits.forget(self)  # type: ignore[arg-type]

    for _ in range(10):
        limits.admit(Connection())  # type: ignore[arg-type]
    assert 10 - len(ended) == kept
