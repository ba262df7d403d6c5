"""The budget: hard caps over everything that the journal holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from benchbuilder.core import BudgetReached
from benchbuilder.models.gateway.journal_tables import Cost

ASSUMED_REPLY_TOKENS = 4096
"""Tokens that a reply is assumed to have at most where no `max_new_tokens` is sent. A longer one is charged as it is:
a cap is hard only where the recipe limits the replies."""


class Budget:
    """Caps on US dollars and tokens, cumulative over all runs of a build.

    The worst case of a request is reserved before it is sent, and settled when it is known what it cost.
    """

    def __init__(self, usd: float | None, tokens: int | None, notice: Callable[[str], None]) -> None:
        self.usd, self.tokens, self._notice = usd, tokens, notice
        self.spent_usd, self.spent_tokens = 0.0, 0
        self._held_usd, self._held_tokens, self._in_flight = 0.0, 0, 0
        self._settled = asyncio.Event()
        self._waited = self._sent = False

    @property
    def has_cap(self) -> bool:
        """Whether there is any cap."""
        return self.usd is not None or self.tokens is not None

    def charge(self, usd: float, tokens: int) -> None:
        """Count what a request costs, or what a batch may."""
        self._sent = True
        self.spent_usd += usd
        self.spent_tokens += tokens

    def fits(self, worst: Cost) -> bool:
        """Whether the caps leave room for the worst case of a request, besides what is reserved."""
        return self._fits_usd(worst) and self._fits_tokens(worst)

    def _fits_usd(self, worst: Cost) -> bool:
        return self.usd is None or self.spent_usd + self._held_usd + (worst.usd or 0.0) <= self.usd * (1 + 1e-9)

    def _fits_tokens(self, worst: Cost) -> bool:
        return self.tokens is None or self.spent_tokens + self._held_tokens + worst.tokens <= self.tokens

    async def reserve(self, worst: Cost, step: str) -> None:
        """Set the worst case of a request of `step` aside, if need be once others have settled.

        BudgetReached if it does not fit though nothing is in flight.
        """
        while not self.fits(worst):
            if not self._in_flight:
                raise self._raise_reached(worst, step)
            if not self._waited:
                self._waited = True
                self._notice("the budget leaves room only once requests in flight have been settled: fewer at a time")
            self._settled.clear()
            await self._settled.wait()
        self._sent = True
        self._in_flight += 1
        self._held_usd += worst.usd or 0.0
        self._held_tokens += worst.tokens

    def settle(self, worst: Cost, cost: Cost | None) -> None:
        """Give back what was reserved and charge what it cost; ``None`` if it was not billed."""
        self._in_flight -= 1
        self._held_usd = self._held_usd - (worst.usd or 0.0) if self._in_flight else 0.0
        self._held_tokens -= worst.tokens
        if cost is not None:
            self.charge(cost.usd or 0.0, cost.tokens)
        self._settled.set()

    def _raise_reached(self, worst: Cost, step: str) -> BudgetReached:
        spent: list[str] = []
        asks: list[str] = []
        caps: list[str] = []
        if self.usd is not None and not self._fits_usd(worst):
            spent.append(f"{self.spent_usd:.4f} of {self.usd:g} USD")
            asks.append(f"{worst.usd or 0.0:.4f} USD")
            caps.append("budget.usd")
        if self.tokens is not None and not self._fits_tokens(worst):
            spent.append(f"{self.spent_tokens:,} of {self.tokens:,} tokens")
            asks.append(f"{worst.tokens:,} tokens")
            caps.append("budget.tokens")
        before = "" if self._sent else ", before the first request of this run (preview and compare count too)"
        return BudgetReached(
            f"the budget is reached at step {step!r}{before}",
            where=f"spent {' and '.join(spent)}",
            why=f"the next request may cost up to {' and '.join(asks)}",
            next=f"every answer so far is kept: raise {' and '.join(caps)} and give the same command again (benchbuild "
            "plan, or evaluate --quote, quotes the rest)",
        )
