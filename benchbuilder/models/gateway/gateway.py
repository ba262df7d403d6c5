"""The gateway of a build: runs conversations and pays for each request once."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from benchbuilder.config import KindSpec, without_batching
from benchbuilder.core import BenchbuilderError, RecipeError, StoreError, create_from_spec
from benchbuilder.models.base import HostedModel, LocalModel, Model, Receipt, Reply, Request, request_key
from benchbuilder.models.conversation import ConversationEnd, Conversations
from benchbuilder.models.gateway.batch_sender import make_batch_sender
from benchbuilder.models.gateway.budget import Budget
from benchbuilder.models.gateway.conversation_loop import ConversationLoop
from benchbuilder.models.gateway.hosted_sender import HostedSender
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import lose_attempts
from benchbuilder.models.gateway.local_sender import LocalSender
from benchbuilder.models.gateway.model_client import ModelClient
from benchbuilder.models.gateway.prices import missing_price_problem, model_endpoint, model_price
from benchbuilder.models.gateway.process_owner import new_owner
from benchbuilder.models.gateway.reply_store import ReplyStore
from benchbuilder.models.gateway.service_gate import ServiceGate
from benchbuilder.models.gateway.token_count import TokenCounter
from benchbuilder.models.gateway.usage import read_receipts, total_spent, unpriced_models

T = TypeVar("T")


class Gateway:
    """Owns all model calls of a build, hosted and local: journal, budget, rate limits, and the gate to each service.

    Conversations may run from any thread, one step at a time.

    Args:
        journal: The journal file, on a local disk; it is created with the first reply.
        usd: Cap on US dollars over all runs together.
        tokens: Cap on tokens over all runs together.
        notice: Receives messages about rare events.

    Attributes:
        batching: Whether models that take requests by the batch get them so; otherwise each request is sent alone.
    """

    batching: bool = True

    def __init__(
        self,
        journal: Path,
        *,
        usd: float | None = None,
        tokens: int | None = None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._owner = new_owner()
        self.journal = Journal(journal, notice, self._owner)
        self._notice = notice
        self._caps = (usd, tokens)
        self._budget = Budget(usd, tokens, notice)
        self._runner: asyncio.Runner | None = None
        self._open: dict[str, ModelClient] = {}
        self._keepers: dict[str, ReplyStore] = {}
        self._gates: dict[tuple[str, str], ServiceGate] = {}
        self._one = threading.RLock()

    def converse(self, step: str, spec: KindSpec, conversations: Conversations[T], on_end: ConversationEnd[T]) -> None:
        """Run conversations to their ends, as many at a time as the model accepts; see `ConversationDriver`.

        It runs its own event loop: call it in a separate thread from inside another loop.

        Raises:
            RecipeError: A cap in US dollars is set and the model has no price; raised before any call.
            ServiceError: The service cannot be used.
            BudgetReached: The next request would exceed a cap.
        """
        _check_no_loop()
        spec = spec if self.batching else without_batching(spec)
        with self._one:
            if self._runner is None:
                self._runner = asyncio.Runner()
            gc.freeze()  # garbage collection pauses everything: exclude the objects that exist already
            try:
                self._runner.run(self._converse(step, spec, conversations, on_end))
            finally:
                gc.unfreeze()

    def lookup(self, spec: KindSpec, request: Request) -> Reply | None:
        """The journaled reply to a request, by the reuse policy of the spec; nothing is sent or written."""
        keeper = self._keepers.get(_name(spec))
        if keeper is None:
            model: Model = create_from_spec("model", spec)
            keeper = self._keepers[_name(spec)] = ReplyStore(model, self.journal, None, model_endpoint(model))
        return keeper.find(request_key(keeper.model, request), request, settle=False)

    def receipts(self) -> tuple[Receipt, ...]:
        """The cost of all runs, by step and model."""
        return read_receipts(self.journal)

    def in_flight(self) -> dict[str, int]:
        """How many requests of each step are on their way, of every program that uses the journal."""
        sql = "SELECT step, count(*) FROM attempts WHERE outcome = 'sent' GROUP BY step"
        return {str(step): int(count) for step, count in self.journal.rows(sql)}

    def close(self) -> None:
        """Close models and journal; StoreError if the last entries could not be written."""
        try:
            if self._runner is not None:
                with suppress(asyncio.CancelledError):
                    self._runner.run(self._close())
                self._runner.close()
                self._runner = None
                if self.journal.is_writing:
                    with suppress(StoreError):  # closing the journal reports it
                        self.journal.commit_now(partial(lose_attempts, owner=self._owner))
        finally:
            self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            with suppress(StoreError):  # the current error is more important
                self.close()

    async def _converse(
        self, step: str, spec: KindSpec, conversations: Conversations[Any], on_end: ConversationEnd[Any]
    ) -> None:
        client = await self._client(spec)
        client.sender.begin_step()
        sender = client.sender

        def stopping(in_flight: int) -> None:
            requests = "1 request" if in_flight == 1 else f"{in_flight} requests"
            hosted = isinstance(client.replies.model, HostedModel)
            billed = f" ({'it' if in_flight == 1 else 'they'} may be billed)" if hosted else ""
            self._notice(f"stopping: waiting for {requests} in flight; Ctrl-C again stops at once{billed}")

        loop = ConversationLoop[Any](sender, partial(client.ask, step), conversations, on_end, stopping)
        try:
            await loop.run()
        finally:
            await sender.end_step()
            await self.journal.commit(_write_nothing)

    async def _client(self, spec: KindSpec) -> ModelClient:
        """The client of a model, created once."""
        client = self._open.get(_name(spec))
        if client is None:
            model: Model = create_from_spec("model", spec)
            prices, price = model_price(model)
            if price is None and self._caps[0] is not None:
                raise RecipeError([missing_price_problem(model, prices)])
            keeper = ReplyStore(model, self.journal, price, model_endpoint(model))
            as_of = "" if prices is None or price is None else prices.as_of
            keeper.catch_up(as_of)
            await self.journal.commit(_write_nothing)
            client = self._open[_name(spec)] = self._make_sender(keeper, self._make_budget(), as_of)
        return client

    def _make_sender(self, keeper: ReplyStore, budget: Budget, as_of: str) -> ModelClient:
        model = keeper.model
        counter = TokenCounter(model.spec)
        if isinstance(model, LocalModel):
            return ModelClient(keeper, counter, LocalSender(model, keeper, budget), budget, as_of)
        if isinstance(model, HostedModel):
            about = keeper.endpoint, model.label
            gate = self._gates.setdefault(about, ServiceGate(model.label, keeper.endpoint))
            live = HostedSender(model, keeper, counter, budget, self._owner, self._notice, gate)
            sender = make_batch_sender(model, keeper, budget, self._owner, self._notice, live) or live
            return ModelClient(keeper, counter, sender, budget, as_of)
        raise TypeError(f"the model kind {model.kind!r} cannot answer: it is neither hosted nor local")

    def _make_budget(self) -> Budget:
        """The budget, charged with everything in the journal; nothing is in flight between steps."""
        if self._budget.has_cap:
            self._budget.spent_usd, self._budget.spent_tokens = total_spent(self.journal)
        if self._caps[0] is not None and (models := unpriced_models(self.journal)):
            self._notice(f"budget.usd does not include the cost of models without a known price: {', '.join(models)}")
        return self._budget

    async def _close(self) -> None:
        for client in self._open.values():
            await client.sender.close()
        self._open.clear()


def _name(spec: KindSpec) -> str:
    return f"{spec.kind} {spec.model_dump_json()}"


def _write_nothing(_: sqlite3.Connection) -> None:
    """Write nothing; once it is committed, all earlier entries are on disk."""


def _check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise BenchbuilderError(
        "models cannot be called from inside a running event loop",
        why="the gateway runs its own loop, and a thread has one at a time; a notebook runs one already",
        next="call it in a separate thread, for instance with `await asyncio.to_thread(...)`",
    )
