"""Quotes: what a build would ask of models and what that would cost, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchbuilder.authoring.dry_run.run import open_dry_run
from benchbuilder.config import KindSpec, PromptRef
from benchbuilder.core import Dropped, Outcome, create_from_spec
from benchbuilder.models import (
    ASSUMED_REPLY_TOKENS,
    FREE,
    Conversation,
    Gateway,
    LocalModel,
    Model,
    Price,
    Receipt,
    Reply,
    Request,
    TokenCounter,
    calibrated_counter,
    model_price,
    read_prompt,
    request_key,
    why_unpriced,
)
from benchbuilder.pipeline import Node, Plan, Store, Watcher, open_gateway

T = TypeVar("T")


@dataclass(frozen=True)
class QuoteRange:
    """What is expected, and what it can be at most; ``None`` if nothing limits it."""

    expected: float
    at_most: float | None

    def __add__(self, addend: QuoteRange) -> QuoteRange:
        open_ended = self.at_most is None or addend.at_most is None
        return QuoteRange(
            self.expected + addend.expected, None if open_ended else (self.at_most or 0) + (addend.at_most or 0)
        )


@dataclass(frozen=True)
class StepQuote:
    """What a step would ask. At most: every repair round is used, and every reply is as long as it may be.

    `answered` are requests whose replies are kept from before: they are free and stand in no other number. Equal
    requests count once. `counting_method` says how tokens were counted. `usd` is ``None`` where no price is known;
    `is_local` says that the model runs in this process. `refused` are rows that the stand-in for a reply did not
    bring through the step's checks: what would become of them in later steps is not in the quote.
    """

    step: str
    model: str
    calls: QuoteRange
    prompt_tokens: QuoteRange
    completion_tokens: QuoteRange
    usd: QuoteRange | None
    answered: int
    refused: int
    counting_method: str
    is_local: bool
    batch_proportion: float | None
    """The share of the price at which the batch is charged, if requests are handed in by the batch."""
    prices_as_of: str
    unpriced: str
    """Why no price is known, and what to do about it; "" if there is one."""
    reserve_tokens: int
    """What a budget must have left for the largest request before it is sent; `reserve_usd` is that in dollars."""
    reserve_usd: float


@dataclass(frozen=True)
class Quote:
    """The quotes of the steps that would run, in the order of the flow.

    `skipped` says of each other step that puts prompts and would run why it could not be quoted. `spent` is what the
    build has asked for so far.
    """

    steps: tuple[StepQuote, ...]
    skipped: Mapping[str, str]
    spent: tuple[Receipt, ...]

    @property
    def calls(self) -> QuoteRange:
        """All calls."""
        return _total(step.calls for step in self.steps)

    @property
    def prompt_tokens(self) -> QuoteRange:
        """The tokens of all prompts."""
        return _total(step.prompt_tokens for step in self.steps)

    @property
    def completion_tokens(self) -> QuoteRange:
        """The tokens of all replies."""
        return _total(step.completion_tokens for step in self.steps)

    @property
    def usd(self) -> QuoteRange | None:
        """What all costs; ``None`` if a price is not known."""
        known = [step.usd for step in self.steps if step.usd is not None]
        return _total(known) if len(known) == len(self.steps) else None


def _total(ranges: Iterable[QuoteRange]) -> QuoteRange:
    return sum(ranges, QuoteRange(0, 0))


def quote_plan(plan: Plan, store: Store, watcher: Watcher, refresh: frozenset[str] = frozenset()) -> Quote | None:
    """The quote of `plan`, made from the real prompts: the free steps that lead to them are built for that.

    No model is asked. ``None`` if no step that puts prompts would run.
    """
    statuses = plan.statuses(store, refresh)
    asking = [
        name for name, node in plan.nodes.items() if node.model_spec is not None and statuses[name].state != "reused"
    ]
    if not asking:
        return None
    with open_gateway(plan, store, watcher.note) as gateway:
        if gateway is None:
            return None
        teller = _QuoteConversations(gateway, store.journal, {name: plan.nodes[name] for name in asking})
        with open_dry_run(plan, store, teller, watcher, only=plan.ancestors_of(asking), refresh=refresh) as done:
            skipped = {name: done.skipped[name] for name in asking if name in done.skipped}
        steps = tuple(teller.step_counts[name].step_quote() for name in asking if name in teller.step_counts)
        return Quote(steps, skipped, gateway.receipts())


class _QuoteConversations:
    """Counts what it is asked, and answers from the journal or with what a good reply would look like."""

    def __init__(self, gateway: Gateway, journal: Path, nodes: Mapping[str, Node]) -> None:
        self._gateway, self._journal, self._nodes = gateway, journal, nodes
        self._assumed: set[str] = set()
        self._looked_up: set[str] = set()
        self.step_counts: dict[str, _StepCounts] = {}

    def converse(
        self,
        step: str,
        spec: KindSpec,
        conversations: Iterable[tuple[T, Conversation]],
        on_end: Callable[[T, list[Outcome] | str], None],
    ) -> None:
        """Drive each conversation to its end."""
        desk = self._counts_of(step, spec)
        for item, conversation in conversations:
            on_end(item, self._drive(desk, conversation))

    def _counts_of(self, step: str, spec: KindSpec) -> _StepCounts:
        if step not in self.step_counts:
            model: Model = create_from_spec("model", spec)
            counter = calibrated_counter(spec, self._journal, model.label)
            self.step_counts[step] = _StepCounts(step, spec, model, counter, *_repair_rounds(self._nodes.get(step)))
        return self.step_counts[step]

    def _drive(self, counts: _StepCounts, conversation: Conversation) -> list[Outcome]:
        assumed = False
        try:
            request = next(conversation)
            while True:
                reply = self._reply(counts, request)
                assumed = assumed or reply.assumed
                request = conversation.send(reply)
        except StopIteration as end:
            outcomes: list[Outcome] = end.value
        counts.refused += assumed and any(isinstance(outcome, Dropped) for outcome in outcomes)
        return outcomes

    def _reply(self, counts: _StepCounts, request: Request) -> Reply:
        key = request_key(counts.model, request)
        if key not in self._assumed:
            kept = self._gateway.lookup(counts.spec, request)
            if kept is not None:
                counts.answered += key not in self._looked_up
                self._looked_up.add(key)
                return kept
            self._assumed.add(key)
            counts.count_request(request)
        return Reply(request.expected, "complete", assumed=True)


def _repair_rounds(node: Node | None) -> tuple[int, str]:
    """How many repair rounds a step has, and the text that tells the model of a fault."""
    spec = None if node is None else node.producer.spec
    repair: PromptRef | None = getattr(spec, "repair", None)
    return getattr(spec, "repair_rounds", 0), "" if repair is None else read_prompt(repair.path, repair.file).source


@dataclass
class _StepCounts:
    """What one step asks."""

    step: str
    spec: KindSpec
    model: Model
    counter: TokenCounter
    rounds: int
    repair: str
    answered: int = 0
    refused: int = 0
    calls: QuoteRange = QuoteRange(0, 0)
    prompts: QuoteRange = QuoteRange(0, 0)
    completions: QuoteRange = QuoteRange(0, 0)
    reserve: tuple[int, int] = (0, 0)

    def count_request(self, request: Request) -> None:
        """Count a request that would be paid for, and the repair rounds that may follow it."""
        limit: int | None = self.model.sent_settings(request.sampling).get("max_new_tokens")
        prompt, expected = self.counter.prompt(request), self.counter.count(request.expected)
        more = max(0, self.rounds - request.sample)
        told: int | None = 0
        if more and self.repair:
            # the request, then the reply, then what was wrong with it, which may quote the reply once more
            told = None if limit is None else self.counter.count(self.repair) + 2 * limit
        self.calls += QuoteRange(1, 1 + more)
        self.prompts += QuoteRange(prompt, None if told is None else prompt + more * (prompt + told))
        self.completions += QuoteRange(
            expected if limit is None else min(expected, limit), None if limit is None else limit * (1 + more)
        )
        self.reserve = max(
            self.reserve, (self.counter.upper_bound(request), ASSUMED_REPLY_TOKENS if limit is None else limit), key=sum
        )

    def step_quote(self) -> StepQuote:
        """The quote of what was counted."""
        here = isinstance(self.model, LocalModel)
        prices, price = model_price(self.model)
        batched = price is not None and getattr(self.spec, "batch", None) is not None
        return StepQuote(
            step=self.step,
            model=self.model.label,
            calls=self.calls,
            prompt_tokens=self.prompts,
            completion_tokens=self.completions,
            usd=None if price is None else self._usd(price, batched=batched),
            answered=self.answered,
            refused=self.refused,
            counting_method=self.counter.how,
            is_local=here,
            batch_proportion=price.batch if batched and price is not None else None,
            prices_as_of="" if prices is None or price is None else prices.as_of,
            unpriced="" if price is not None else "; ".join(why_unpriced(self.model, prices)),
            reserve_tokens=sum(self.reserve),
            reserve_usd=0.0 if price is None else price.worst(*self.reserve),
        )

    def _usd(self, price: Price, *, batched: bool) -> QuoteRange:
        def cost(prompt: float, completion: float) -> float:
            return price.usd(round(prompt), round(completion), batched=batched)

        expected = cost(self.prompts.expected, self.completions.expected)
        if self.prompts.at_most is None or self.completions.at_most is None:
            return QuoteRange(expected, expected if price == FREE else None)
        return QuoteRange(expected, cost(self.prompts.at_most, self.completions.at_most))
