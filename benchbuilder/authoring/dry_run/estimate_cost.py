"""Quotes: what a build would ask of models and what that would cost, before any request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.authoring.dry_run.run import open_dry_run
from benchbuilder.config import KindSpec, PromptRef, ReasoningSpec
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
    mean_reply,
    model_price,
    read_prompt,
    request_key,
    why_unpriced,
)
from benchbuilder.pipeline import Node, Plan, SerialDriver, Store, Watcher, open_gateway


@dataclass(frozen=True)
class QuoteRange:
    """The expected amount, and `at_most`: with every repair and replies of full length, ``None`` without a limit.

    Tokens of prompts are estimates in both, and a service may ignore the limit of a reply: only a budget is a bound.
    """

    expected: float
    at_most: float | None

    def __add__(self, addend: QuoteRange) -> QuoteRange:
        at_most = None if self.at_most is None or addend.at_most is None else self.at_most + addend.at_most
        return QuoteRange(self.expected + addend.expected, at_most)


_NOTHING = QuoteRange(0, 0)


@dataclass(frozen=True)
class StepQuote:
    """What a step would ask. The upper figures assume every repair round and replies of the maximal length.

    Attributes:
        answered: Requests whose replies are stored: they are free and in no other number. Equal requests count once.
        refused: Rows whose assumed reply failed the checks of the step; later steps are quoted without them.
        counting_method: How tokens were counted.
        usd: The cost; ``None`` if no price is known.
        is_local: Whether the model runs in this process.
        batch_proportion: The proportion of the price that a batch costs, if requests are sent in batches.
        unpriced: Why no price is known, and what to do about it; empty if there is one.
        reserve_tokens: What a budget must have left for the largest request before it is sent.
        reserve_usd: The same in US dollars.
        thinking_unknown: Whether the model thinks, and no reply so far shows how much: the expected figures lack it.
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
    prices_as_of: str
    unpriced: str
    reserve_tokens: int
    reserve_usd: float
    thinking_unknown: bool = False


@dataclass(frozen=True)
class Quote:
    """The quotes of the steps that would run; `skipped` says why others have none, `spent` is the cost so far."""

    steps: tuple[StepQuote, ...]
    skipped: Mapping[str, str]
    spent: tuple[Receipt, ...]

    @property
    def calls(self) -> QuoteRange:
        """All calls."""
        return sum((step.calls for step in self.steps), _NOTHING)

    @property
    def prompt_tokens(self) -> QuoteRange:
        """The tokens of all prompts."""
        return sum((step.prompt_tokens for step in self.steps), _NOTHING)

    @property
    def completion_tokens(self) -> QuoteRange:
        """The tokens of all replies."""
        return sum((step.completion_tokens for step in self.steps), _NOTHING)

    @property
    def usd(self) -> QuoteRange | None:
        """The total cost; ``None`` if a price is not known."""
        prices = [step.usd for step in self.steps if step.usd is not None]
        return sum(prices, _NOTHING) if len(prices) == len(self.steps) else None


def quote_plan(plan: Plan, store: Store, watcher: Watcher, refresh: frozenset[str] = frozenset()) -> Quote | None:
    """The quote of `plan` from the real prompts, for which earlier steps are built; no model is asked.

    ``None`` if no step with prompts would run.
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
        driver = _QuoteConversations(gateway, store.journal, {name: plan.nodes[name] for name in asking})
        with open_dry_run(plan, store, driver, watcher, only=plan.ancestors_of(asking), refresh=refresh) as dry_run:
            skipped = {name: dry_run.skipped[name] for name in asking if name in dry_run.skipped}
        steps = tuple(driver.step_counts[name].step_quote() for name in asking if name in driver.step_counts)
        return Quote(steps, skipped, gateway.receipts())


def quote_conversations(
    gateway: Gateway, journal: Path, work: Mapping[str, tuple[KindSpec, Iterable[Conversation]]]
) -> Quote:
    """The quote of conversations outside a build, by the step that would pay for them; no model is asked."""
    driver = _QuoteConversations(gateway, journal, {})
    for step, (spec, conversations) in work.items():
        for conversation in conversations:
            driver.drive(step, spec, conversation)
    return Quote(tuple(counts.step_quote() for counts in driver.step_counts.values()), {}, gateway.receipts())


class _QuoteConversations(SerialDriver):
    """Counts requests, and answers them from the journal or with the expected text of a good reply."""

    def __init__(self, gateway: Gateway, journal: Path, nodes: Mapping[str, Node]) -> None:
        self._gateway, self._journal, self._nodes = gateway, journal, nodes
        self._assumed: set[str] = set()
        self._looked_up: set[str] = set()
        self.step_counts: dict[str, _StepCounts] = {}

    def drive(self, step: str, spec: KindSpec, conversation: Conversation) -> list[Outcome]:
        """Drive a conversation to its end and count its requests."""
        counts, assumed = self._counts_of(step, spec), False
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

    def _counts_of(self, step: str, spec: KindSpec) -> _StepCounts:
        if step not in self.step_counts:
            model: Model = create_from_spec("model", spec)
            counter = calibrated_counter(spec, self._journal, model.label)
            usual = mean_reply(self._journal, model.label, step)
            repair = _repair_rounds(self._nodes.get(step))
            self.step_counts[step] = _StepCounts(step, spec, model, counter, *repair, usual)
        return self.step_counts[step]

    def _reply(self, counts: _StepCounts, request: Request) -> Reply:
        key = request_key(counts.model, request)
        if key not in self._assumed:
            stored = self._gateway.lookup(counts.spec, request)
            if stored is not None:
                counts.answered += key not in self._looked_up
                self._looked_up.add(key)
                return stored
            self._assumed.add(key)
            counts.count_request(request)
        return Reply(request.expected, "complete", assumed=True)


def _repair_rounds(node: Node | None) -> tuple[int, str]:
    """How many repair rounds a step has, and the text that reports a fault to the model."""
    spec = None if node is None else node.producer.spec
    repair: PromptRef | None = getattr(spec, "repair", None)
    return getattr(spec, "repair_rounds", 0), "" if repair is None else read_prompt(repair.path, repair.file).source


def _allowance(spec: KindSpec) -> int:
    """The tokens that a model may spend on thinking."""
    reasoning: ReasoningSpec | None = getattr(spec, "reasoning", None)
    return 0 if reasoning is None else reasoning.allowance


@dataclass
class _StepCounts:
    """The requests of one step so far."""

    step: str
    spec: KindSpec
    model: Model
    counter: TokenCounter
    rounds: int
    repair: str
    usual_reply: float | None = None
    """The mean tokens of the replies so far, if there are enough; else the expected text counts."""
    answered: int = 0
    refused: int = 0
    calls: QuoteRange = _NOTHING
    prompts: QuoteRange = _NOTHING
    completions: QuoteRange = _NOTHING
    reserve: tuple[int, int] = (0, 0)

    def count_request(self, request: Request) -> None:
        """Count a request that would be paid for, and the repair rounds that may follow it."""
        limit: int | None = self.model.sent_settings(request.sampling).get("max_new_tokens")
        prompt = self.counter.prompt(request)
        expected = self.counter.count(request.expected) if self.usual_reply is None else self.usual_reply
        more = max(0, self.rounds - request.sample)
        repair_tokens: int | None = 0
        if more and self.repair:
            # the request, then the reply, then what was wrong with it, which may quote the reply once more
            repair_tokens = None if limit is None else self.counter.count(self.repair) + 2 * limit
        most_prompts = None if repair_tokens is None else prompt + more * (prompt + repair_tokens)
        self.calls += QuoteRange(1, 1 + more)
        self.prompts += QuoteRange(prompt, most_prompts)
        if limit is None:
            self.completions += QuoteRange(expected, None)
        else:
            longest = limit if self.usual_reply is None else max(limit, self.usual_reply)
            expected = expected if self.usual_reply is not None else min(expected, limit)
            self.completions += QuoteRange(expected, longest * (1 + more))
        reserve = self.counter.upper_bound(request), ASSUMED_REPLY_TOKENS if limit is None else limit
        self.reserve = max(self.reserve, reserve, key=sum)

    def step_quote(self) -> StepQuote:
        """The quote of the counted requests."""
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
            is_local=isinstance(self.model, LocalModel),
            batch_proportion=price.batch if batched and price is not None else None,
            prices_as_of="" if prices is None or price is None else prices.as_of,
            unpriced="" if price is not None else "; ".join(why_unpriced(self.model, prices)),
            reserve_tokens=sum(self.reserve),
            reserve_usd=0.0 if price is None else price.worst(*self.reserve),
            thinking_unknown=self.usual_reply is None and bool(_allowance(self.spec)),
        )

    def _usd(self, price: Price, *, batched: bool) -> QuoteRange:
        def cost(prompt: float, completion: float) -> float:
            return price.usd(round(prompt), round(completion), batched=batched)

        expected = cost(self.prompts.expected, self.completions.expected)
        if self.prompts.at_most is None or self.completions.at_most is None:
            return QuoteRange(expected, expected if price == FREE else None)
        return QuoteRange(expected, cost(self.prompts.at_most, self.completions.at_most))
