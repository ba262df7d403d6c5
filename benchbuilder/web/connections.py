"""Bounds what a client can hold: the time for a request and for reading the reply, and the connections of an address.

uvicorn limits only the time between requests. Without these bounds, a client could open many connections, send a byte
now and then, and keep them.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence
from typing import Any

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""The time for the head of a request, from the connection or from the first byte of a further request."""
BODY_SECONDS = 30.0
"""The time for the rest of a request, which has at most 1 MB."""
REPLY_SECONDS = 120.0
"""The time from a whole request until the client has read the reply."""
PER_ADDRESS = 100
"""Open connections of one client, see `client_network`."""
IN_ALL = 800
"""Open connections of all clients: fewer than the files that a process may usually open (1,024)."""


def client_network(address: str) -> str:
    """What counts as one client: the address; for IPv6 its first 48 bits, as one client may have all the others.

    >>> client_network("192.0.2.7"), client_network("2001:db8:1:2::3"), client_network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1::/48', '192.0.2.7')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 48), strict=False))


class ConnectionLimits:
    """The limits, and the open connections. `proxies` (addresses or networks) share only the limit `in_all`."""

    def __init__(
        self, proxies: Sequence[str] = (), *, header_s: float = HEADER_SECONDS, body_s: float = BODY_SECONDS,
        reply_s: float = REPLY_SECONDS, per_address: int = PER_ADDRESS, in_all: int = IN_ALL,
    ) -> None:  # fmt: skip
        self.header_s, self.body_s, self.reply_s = header_s, body_s, reply_s
        self._per_address, self._in_all = per_address, in_all
        self._proxies = [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]
        self._open: set[GuardedProtocol] = set()

    def admit(self, newcomer: GuardedProtocol) -> None:
        """Count a connection; over a limit, end the one that has waited longest, first those without any request."""
        self._open.add(newcomer)
        same = [each for each in self._open if each.network == newcomer.network]
        if len(same) > self._per_address and not self._is_proxy(newcomer):
            self._end_one(same, newcomer)
        elif len(self._open) > self._in_all:
            self._end_one(list(self._open), newcomer)

    def forget(self, connection: GuardedProtocol) -> None:
        """Count a connection no longer."""
        self._open.discard(connection)

    def _is_proxy(self, connection: GuardedProtocol) -> bool:
        try:
            address = ipaddress.ip_address(connection.client[0] if connection.client else "")
        except ValueError:
            return False
        return any(address in proxy for proxy in self._proxies)

    @staticmethod
    def _end_one(among: list[GuardedProtocol], newcomer: GuardedProtocol) -> None:
        waiting = [each for each in among if not each.is_answering and each is not newcomer]
        min(waiting, key=lambda each: (each.requests > 0, each.since), default=newcomer).give_up()


class GuardedProtocol(H11Protocol):
    """A connection that ends when its client takes too long."""

    def __init__(self, limits: ConnectionLimits, config: Config, *args: Any, **options: Any) -> None:
        super().__init__(config, *args, **options)
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._phase = ""
        self.network, self.requests, self.since = "", 0, 0.0

    @property
    def is_answering(self) -> bool:
        """Whether a whole request is there, and its answer is not complete."""
        return self._has_request() and not self.cycle.more_body

    def _has_request(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, unlike its annotation
        return cycle is not None and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and give it time for the head of a request."""
        super().connection_made(transport)
        self.network, self.since = client_network(self.client[0] if self.client else ""), self.loop.time()
        self._enter("head", self._limits.header_s)
        self._limits.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._limits.forget(self)
        self._enter("closed", None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came in, and limit the time for what must follow."""
        super().data_received(data)
        self._limit_next()

    def on_response_complete(self) -> None:
        """Limit the time for what must follow; uvicorn limits the time until another request begins."""
        self.requests, self.since = self.requests + 1, self.loop.time()
        super().on_response_complete()
        self._limit_next()

    def give_up(self) -> None:
        """End the connection at once, without what is not sent yet."""
        self._limits.forget(self)
        self.transport.abort()

    def _limit_next(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            self._enter(f"body {self.requests}", self._limits.body_s)
        elif self._has_request():
            self._enter(f"reply {self.requests}", self._limits.reply_s)
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._enter(f"head {self.requests}", self._limits.header_s)
        elif self.requests and not self._unread():
            self._enter("rest", None)

    def _unread(self) -> int:
        return self.transport.get_write_buffer_size()

    def _enter(self, phase: str, seconds: float | None) -> None:
        """Start the time of `phase`, unless it has begun already."""
        if phase == self._phase:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._phase = phase
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._on_time)

    def _on_time(self) -> None:
        if not self._phase.startswith("reply") or self._has_request() or self._unread():
            self.give_up()
