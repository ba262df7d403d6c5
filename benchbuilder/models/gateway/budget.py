"""Hard caps on the cost of everything in the journal, and the caps that several journals share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from benchbuilder.config import BudgetSpec
from benchbuilder.core import BudgetReached
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import Cost
from benchbuilder.models.gateway.usage import total_spent

ASSUMED_REPLY_TOKENS = 4096
"""The assumed maximum length of a reply if no `max_new_tokens` is sent. A longer reply is charged at its real length,
so a cap is hard only if the recipe limits replies."""


class Budget:
    """Caps on US dollars and tokens, cumulative over all runs of a build.

    The worst-case cost of a request is reserved before it is sent, and settled once the actual cost is known.
    """

    def __init__(self, usd: float | None, tokens: int | None, notice: Callable[[str], None]) -> None:
        self.usd, self.tokens, self._notice = usd, tokens, notice
        self.spent_usd, self.spent_tokens = 0.0, 0
        self._held_usd, self._held_tokens, self._in_flight = 0.0, 0, 0
        self._settled = asyncio.Event()
        self._waited = self._sent = False

    @property
    def has_cap(self) -> bool:
        """Whether any cap is set."""
        return self.usd is not None or self.tokens is not None

    def charge(self, usd: float, tokens: int) -> None:
        """Add the cost of a request, or the worst-case cost of a batch."""
        self._sent = True
        self.spent_usd += usd
        self.spent_tokens += tokens

    def fits(self, worst: Cost) -> bool:
        """Whether the worst case of a request fits under the caps, besides what is reserved."""
        return self._fits_usd(worst) and self._fits_tokens(worst)

    def _fits_usd(self, worst: Cost) -> bool:
        return self.usd is None or self.spent_usd + self._held_usd + (worst.usd or 0.0) <= self.usd * (1 + 1e-9)

    def _fits_tokens(self, worst: Cost) -> bool:
        return self.tokens is None or self.spent_tokens + self._held_tokens + worst.tokens <= self.tokens

    async def reserve(self, worst: Cost, step: str) -> None:
        """Reserve the worst-case cost of a request, waiting for others to settle if necessary.

        Raises:
            BudgetReached: It does not fit although nothing is in flight.
        """
        while not self.fits(worst):
            if not self._in_flight:
                raise self._reached_error(worst, step)
            if not self._waited:
                self._waited = True
                self._notice("the budget is nearly used up: fewer requests are sent at a time")
            self._settled.clear()
            await self._settled.wait()
        self._sent = True
        self._in_flight += 1
        self._held_usd += worst.usd or 0.0
        self._held_tokens += worst.tokens

    def settle(self, worst: Cost, cost: Cost | None) -> None:
        """Release a reservation and charge the actual cost; ``None`` if the request was not billed."""
        self._in_flight -= 1
        self._held_usd = self._held_usd - (worst.usd or 0.0) if self._in_flight else 0.0
        self._held_tokens -= worst.tokens
        if cost is not None:
            self.charge(cost.usd or 0.0, cost.tokens)
        self._settled.set()

    def _reached_error(self, worst: Cost, step: str) -> BudgetReached:
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
            next=f"every answer so far is kept: raise {' and '.join(caps)} and run the same command again (benchbuild "
            "plan, or evaluate --quote, quotes the rest)",
        )


_NOTHING = 1e-12


def remaining_budget(budget: BudgetSpec, journals: Iterable[Path]) -> BudgetSpec:
    """The rest of a `budget` after the spending in `journals`: almost zero if they have spent it all."""
    usd, tokens = 0.0, 0
    for file in journals:
        journal = Journal(file)
        try:
            spent_usd, spent_tokens = total_spent(journal)
        finally:
            journal.close()
        usd, tokens = usd + spent_usd, tokens + spent_tokens
    return budget.model_copy(update={
        "usd": None if budget.usd is None else max(budget.usd - usd, _NOTHING),
        "tokens": None if budget.tokens is None else max(budget.tokens - tokens, 1),
    })  # fmt: skip


def sibling_journals(task: Path, name: str) -> list[Path]:
    """The journals called `name` of the evaluations of all tasks except the one in the folder `task`."""
    files = task.parent.glob(f"*/evaluation*/{name}")
    return sorted(file for file in files if file.parents[1] != task)
