"""Keeping replies: the body to disk, then read, then settled."""

from __future__ import annotations

import datetime
import time
from functools import lru_cache, partial

from benchbuilder.core.errors import StoreError
from benchbuilder.models.base import Model, Reply, Request, TransientError, request_keys
from benchbuilder.models.gateway.journal import Held, Journal
from benchbuilder.models.gateway.journal_tables import (
    Asked,
    Cost,
    Settled,
    garble_reply,
    price_replies,
    settle_reply,
    unpack,
    write_reply,
)
from benchbuilder.models.gateway.prices import Price
from benchbuilder.models.gateway.token_count import Counter


def now_utc() -> str:
    """The time, to the second."""
    return _written(int(time.time()))


@lru_cache(maxsize=1)
def _written(second: int) -> str:
    return datetime.datetime.fromtimestamp(second, datetime.UTC).isoformat()


class Keeper:
    """Takes the bodies of one model to the journal, and replies from it."""

    def __init__(self, model: Model, journal: Journal, price: Price | None, endpoint: str) -> None:
        self.model, self.journal, self.price, self.endpoint = model, journal, price, endpoint
        self._by_script = Counter(None)
        self._keeps_complete = getattr(model.spec, "reuse", "exact") == "keep_complete"

    def find(self, key: str, request: Request, *, settle: bool = True) -> Reply | None:
        """What the journal holds for a request; with `settle`, what a kill left unread is settled on the way."""
        held = self.journal.find(key)
        if held is not None:
            try:
                return self._read(held, request, settle=settle)
            except TransientError:
                return None
        if not self._keeps_complete:
            return None
        limit = self.model.sent(request.sampling).get("max_new_tokens")
        held = self.journal.find_complete(request_keys(self.model, request)[1], limit)
        return None if held is None else self._read(held, request, settle=False)

    def _read(self, held: Held, request: Request, *, settle: bool) -> Reply:
        """The reply in a body that the journal holds; TransientError if it holds none and may be asked again."""
        try:
            reply = self.model.read(held.body)
        except ValueError as error:
            if held.outcome is None:
                if settle:
                    self.journal.later(partial(garble_reply, key=held.key))
                raise TransientError(str(error), billed=True) from error
            raise StoreError(
                f"the journal holds a reply that the model kind {self.model.kind} cannot read",
                where=f"{self.journal.file}, key {held.key}",
                why=str(error),
                next="use the version of the kind that wrote it, or move the journal away and pay again",
            ) from error
        if held.outcome is None and settle:
            self.journal.later(partial(settle_reply, key=held.key, settled=self.settled(reply, request)))
        return reply

    async def keep(self, asked: Asked, body: str, attempt: str = "") -> tuple[Reply, Cost]:
        """Journal a body, then read it: the reply, and what it cost. TransientError if it holds no answer."""
        fresh = await self.journal.commit(partial(write_reply, asked=asked, body=body, at=now_utc(), attempt=attempt))
        if not fresh:  # another process was faster: its reply counts, ours is an attempt that is billed
            held = self.journal.find(asked.key)
            if held is not None:
                return self._read(held, asked.request, settle=True), asked.worst
        try:
            reply = self.model.read(body)
        except ValueError as error:
            self.journal.later(partial(garble_reply, key=asked.key))
            raise TransientError(f"no answer of the protocol: {error}", billed=True) from error
        settled = self.settled(reply, asked.request)
        self.journal.later(partial(settle_reply, key=asked.key, settled=settled))
        return reply, settled.cost

    def settled(self, reply: Reply, request: Request, *, batched: bool = False) -> Settled:
        """What a reply cost: as the service counted, else as we estimate."""
        usage = reply.usage
        prompt = self._by_script.prompt(request) if usage is None else usage.prompt
        completion = self._by_script.count(reply.text) if usage is None else usage.completion
        cached = 0 if usage is None else usage.cached
        usd = None if self.price is None else self.price.usd(prompt, completion, cached, batched=batched)
        return Settled(reply.outcome, Cost(prompt, completion, usd), cached, usage is None)

    def catch_up(self, prices: str) -> None:
        """Settle what a kill left unread, and price what was paid before a price was known."""
        for key, body, packed, batched in self.journal.unread(self.model.label, self.endpoint):
            try:
                reply = self.model.read(body)
            except ValueError:
                self.journal.later(partial(garble_reply, key=key))
                continue
            settled = self.settled(reply, unpack(packed), batched=batched)
            self.journal.later(partial(settle_reply, key=key, settled=settled))
        unpriced = self.journal.rows(
            "SELECT 1 FROM replies WHERE usd IS NULL AND model = ?1 AND endpoint = ?2"
            " UNION ALL SELECT 1 FROM attempts WHERE usd IS NULL AND model = ?1 AND endpoint = ?2 LIMIT 1",
            self.model.label,
            self.endpoint,
        )
        if self.price is not None and unpriced:
            label, price = self.model.label, self.price.per_token()
            self.journal.later(partial(price_replies, model=label, endpoint=self.endpoint, price=price, prices=prices))
