"""Stores the replies of one model: journals each body, reads it, then settles its cost."""

from __future__ import annotations

import datetime
import time
from dataclasses import replace
from functools import lru_cache, partial

from benchbuilder.core import StoreError
from benchbuilder.models.base import Model, Reply, Request, TransientError, request_keys
from benchbuilder.models.gateway.budget import ASSUMED_REPLY_TOKENS
from benchbuilder.models.gateway.journal import Journal, JournaledReply
from benchbuilder.models.gateway.journal_tables import (
    Cost,
    JournalRequest,
    SettledReply,
    garble_reply,
    price_replies,
    settle_reply,
    unpack_request,
    write_reply,
)
from benchbuilder.models.gateway.prices import Price
from benchbuilder.models.gateway.token_count import TokenCounter, plausible_tokens

_TOLERANCE = 8
"""Tokens beyond a limit that are nothing to remark on: services count the ends of replies in their own ways."""


def now_utc() -> str:
    """The current time in UTC, to the second, in ISO format."""
    return _iso_time(int(time.time()))


@lru_cache(maxsize=1)
def _iso_time(second: int) -> str:
    return datetime.datetime.fromtimestamp(second, datetime.UTC).isoformat()


class ReplyStore:
    """Stores the replies of one model in the journal and reads them back.

    `beyond` holds the most prompt and reply tokens that the service counted beyond the worst case of a request. Later
    requests reserve so many more, so that a cap holds although the service adds to prompts or ignores limits.
    `longest_beyond_limit` is the longest reply that the service counted beyond its limit, with that limit.
    """

    def __init__(self, model: Model, journal: Journal, price: Price | None, endpoint: str) -> None:
        self.model, self.journal, self.price, self.endpoint = model, journal, price, endpoint
        self._by_script = TokenCounter(None)
        self.beyond = (0, 0)
        self.longest_beyond_limit = (0, 0)
        self._keeps_complete = getattr(model.spec, "reuse", "exact") == "keep_complete"

    def find(self, key: str, request: Request, *, settle: bool = True) -> Reply | None:
        """The journaled reply to a request, or ``None``; with `settle`, an unread reply is settled."""
        held = self.journal.find(key)
        if held is not None:
            try:
                return self._read(held, request, settle=settle)
            except TransientError:
                return None
        if settle:
            self.journal.set_aside_damaged()
        if not self._keeps_complete:
            return None
        limit = self.model.sent_settings(request.sampling).get("max_new_tokens")
        held = self.journal.find_complete(request_keys(self.model, request)[1], limit)
        return None if held is None else self._read(held, request, settle=False)

    def _read(self, entry: JournaledReply, request: Request, *, settle: bool) -> Reply:
        """Read a journaled body; TransientError if it holds no reply and the request may be sent again."""
        try:
            reply = self.model.read(entry.body)
        except ValueError as error:
            if entry.outcome is None:
                if settle:
                    self.journal.commit_later(partial(garble_reply, key=entry.key))
                raise TransientError(str(error), billed=True) from error
            raise StoreError(
                f"the journal holds a reply that the model kind {self.model.kind} cannot read",
                where=f"{self.journal.file}, key {entry.key}",
                why=str(error),
                next="use the version of the kind that wrote it, or move the journal away and pay again",
            ) from error
        if entry.outcome is None and settle:
            self.journal.commit_later(partial(settle_reply, key=entry.key, settled=self.settled_reply(reply, request)))
        return reply

    async def store(self, request: JournalRequest, body: str, attempt: str = "") -> tuple[Reply, Cost]:
        """Journal a body, then read it; return the reply and its cost. TransientError if it holds no answer."""
        fresh = await self.journal.commit(
            partial(write_reply, request=request, body=body, time=now_utc(), attempt=attempt)
        )
        if not fresh:  # another process was faster: its reply counts, ours is a billed attempt
            held = self.journal.find(request.key)
            if held is not None:
                return self._read(held, request.request, settle=True), request.worst_cost
        try:
            reply = self.model.read(body)
        except ValueError as error:
            self.journal.commit_later(partial(garble_reply, key=request.key))
            raise TransientError(f"an invalid answer: {error}", billed=True) from error
        settled = self.settled_reply(reply, request.request)
        self.journal.commit_later(partial(settle_reply, key=request.key, settled=settled))
        return reply, settled.cost

    def settled_reply(self, reply: Reply, request: Request, *, batched: bool = False) -> SettledReply:
        """The cost of a reply by the usage that the service reports; by our own count where that cannot be right."""
        usage, limit = reply.usage, self.model.sent_settings(request.sampling).get("max_new_tokens")
        prompt, doubt_prompt = plausible_tokens(
            None if usage is None else usage.prompt, self._by_script.prompt(request), self._by_script.bound(request)
        )
        completion, doubt_completion = plausible_tokens(
            None if usage is None else usage.completion, self._by_script.count(reply.text + reply.thoughts), limit
        )
        cached = 0 if usage is None or doubt_prompt or usage.cached > prompt else usage.cached
        self._learn(prompt - self._by_script.bound(request), completion, limit)
        usd = None if self.price is None else self.price.usd(prompt, completion, cached, batched=batched)
        counted = 0 if usage is None else usage.reasoning
        return SettledReply(
            reply.outcome,
            Cost(prompt, completion, usd),
            cached,
            estimated=doubt_prompt or doubt_completion,
            reasoning=min(completion, counted or self._by_script.count(reply.thoughts)),
            reasoning_estimated=not counted and bool(reply.thoughts),
        )

    def _learn(self, more_prompt: int, completion: int, limit: int | None) -> None:
        more = completion - (ASSUMED_REPLY_TOKENS if limit is None else limit)
        self.beyond = max(self.beyond[0], more_prompt), max(self.beyond[1], more)
        if limit is not None and completion > limit + max(_TOLERANCE, limit // 10):
            self.longest_beyond_limit = max(self.longest_beyond_limit, (completion, limit))

    def with_learnt_cost(self, request: JournalRequest) -> JournalRequest:
        """`request` with what the service counts beyond the worst case."""
        if self.beyond == (0, 0):
            return request
        worst = request.worst_cost
        most = worst.prompt + self.beyond[0], worst.completion + self.beyond[1]
        cost = Cost(*most, None if self.price is None else self.price.worst(*most))
        return replace(request, worst_cost=cost)

    def catch_up(self, prices: str) -> None:
        """Settle replies that a kill left unread, and price replies that were paid before a price was known."""
        self.journal.check()
        for held, packed, batched in self.journal.unread(self.model.label, self.endpoint):
            key = held.key
            try:
                reply = self.model.read(held.body)
            except ValueError:
                self.journal.commit_later(partial(garble_reply, key=key))
                continue
            settled = self.settled_reply(reply, unpack_request(packed), batched=batched)
            self.journal.commit_later(partial(settle_reply, key=key, settled=settled))
        unpriced = self.journal.rows(
            "SELECT 1 FROM replies WHERE usd IS NULL AND model = ?1 AND endpoint = ?2"
            " UNION ALL SELECT 1 FROM attempts WHERE usd IS NULL AND model = ?1 AND endpoint = ?2 LIMIT 1",
            self.model.label,
            self.endpoint,
        )
        if self.price is not None and unpriced:
            label, price = self.model.label, self.price.per_token()
            self.journal.commit_later(
                partial(price_replies, model=label, endpoint=self.endpoint, price=price, prices=prices)
            )
