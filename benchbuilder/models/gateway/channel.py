"""A channel: all that belongs to one model, with single flight for equal requests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from benchbuilder.models.base import Reply, Request, request_keys
from benchbuilder.models.gateway.budget import ASSUMED_REPLY, Budget
from benchbuilder.models.gateway.journal_tables import Asked, Cost
from benchbuilder.models.gateway.reply_store import Keeper
from benchbuilder.models.gateway.requests import RowFailedError, Sender, Turn
from benchbuilder.models.gateway.token_count import Counter

_COUNTED, _COUNTED_AFTER = 256, 16


@dataclass
class Channel:
    """Answers requests: from the journal, from an equal request in flight, or by asking."""

    keeper: Keeper
    counter: Counter
    sender: Sender
    budget: Budget
    prices: str
    """Date of the price table, "" if none."""
    _asked_so_far: int = 0
    _by_script: Counter = field(default_factory=lambda: Counter(None))
    _flights: dict[str, asyncio.Future[Reply | RowFailedError]] = field(
        default_factory=dict[str, "asyncio.Future[Reply | RowFailedError]"]
    )

    async def ask(self, step: str, request: Request, turn: Turn) -> Reply:
        """The reply to a request; RowFailedError if there is none."""
        key, loose = request_keys(self.keeper.model, request)
        if (flight := self._flights.get(key)) is not None:
            turn.idle(1)
            try:
                answer = await asyncio.shield(flight)
            finally:
                turn.idle(-1)
            if isinstance(answer, RowFailedError):
                raise RowFailedError(str(answer)) from answer
            return answer
        if (reply := self.keeper.find(key, request)) is not None:
            return reply
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self.sender.ask(self._asked(step, key, loose, request), turn)
        except RowFailedError as error:
            flight.set_result(error)
            raise
        else:
            flight.set_result(reply)
        finally:
            del self._flights[key]
            flight.cancel()  # of no effect where there is an answer
        return reply

    def _asked(self, step: str, key: str, loose: str, request: Request) -> Asked:
        """A request as journal and budget see it."""
        model, price = self.keeper.model, self.keeper.price
        sampling = model.sent(request.sampling)
        limit = sampling.get("max_new_tokens")
        completion = ASSUMED_REPLY if limit is None else int(limit)

        def cost(prompt: int) -> Cost:
            return Cost(prompt, completion, None if price is None else price.worst(prompt, completion))

        worst = cost(self.counter.bound(request))
        if self.counter.exact and not self.budget.fits(worst):
            worst = cost(self.counter.most(request))  # a tokenizer is slow: only where its count matters
        self._asked_so_far += 1
        # our own count, to learn from the difference to the service's: of every request only while there are few
        counts = self._asked_so_far <= _COUNTED or not self._asked_so_far % _COUNTED_AFTER
        return Asked(
            key=key,
            loose=None if limit is None else loose,
            step=step,
            model=model.label,
            endpoint=self.keeper.endpoint,
            request=request,
            sampling=sampling,
            counted=self._by_script.prompt(request) if counts else 0,
            worst=worst,
            prices=self.prices,
        )
