"""The log of the fake service: chat requests, their order, attempts and answers."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from benchbuilder.testing.fake_openai.behaviour import last_user_message

Record = dict[str, Any]


class RequestLog:
    """The chat requests since the last reset (`FakeOpenAI.log` lists the fields), and the calls of other paths."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.calls = Counter[str]()
        self.in_flight = self._peak = 0
        self._attempts = Counter[str]()

    def add(self, body: Mapping[str, Any], *, batch: str | None, keep_body: bool) -> Record:
        """Add a record for a chat request that has just arrived."""
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._attempts[digest] += 1
        record: Record = {
            "number": len(self.records) + 1, "hash": digest, "attempt": self._attempts[digest],
            "model": body.get("model"), "user": last_user_message(body), "effect": "answer", "status": None,
            "sent": False, "received": time.time(), "answered": None, "batch": batch,
        }  # fmt: skip
        if keep_body:
            record["body"] = body
        self.records.append(record)
        return record

    @contextmanager
    def flight(self) -> Generator[None]:
        """Counts a request as in flight for as long as the context lasts."""
        self.in_flight += 1
        self._peak = max(self._peak, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= 1

    def stats(self) -> dict[str, Any]:
        """The counts that `FakeOpenAI.stats` returns."""
        statuses = Counter(str(record["status"]) for record in self.records)
        return {
            "requests": len(self.records), "statuses": statuses, "in_flight": self.in_flight, "peak": self._peak,
            "calls": self.calls,
        }  # fmt: skip


def note_answer(record: Record, status: int, *, sent: bool) -> None:
    """Note the status of an answer in the log: 0 if the connection was dropped."""
    record.update(status=status, answered=time.time(), sent=sent)
