"""Quotes: what a build would ask of models and what that would cost, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchbuilder.authoring.dry_run.run import rehearse
from benchbuilder.config.spec.base import KindSpec, PromptRef
from benchbuilder.core.records.outcomes import Dropped, Fate
from benchbuilder.core.registry import create
from benchbuilder.models.base import LocalModel, Model, Receipt, Reply, Request, request_key
from benchbuilder.models.conversation import Conversation
from benchbuilder.models.gateway import Gateway
from benchbuilder.models.gateway.budget import ASSUMED_REPLY
from benchbuilder.models.gateway.prices import FREE, Price, priced, why_unpriced
from benchbuilder.models.gateway.token_count import Counter, calibrated
from benchbuilder.models.prompts import read
from benchbuilder.pipeline.build import open_gateway
from benchbuilder.pipeline.plan import Node, Plan
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.store.folder import Store

T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """What is expected, and what it can be at most; ``None`` if nothing limits it."""

    expected: float
    at_most: float | None

    def __add__(self, other: Range) -> Range:
        open_ended = self.at_most is None or other.at_most is None
        return Range(self.expected + other.expected, None if open_ended else (self.at_most or 0) + (other.at_most or 0))


@dataclass(frozen=True)
class StepQuote:
    """What a step would ask. At most: every repair round is used, and every reply is as long as it may be.

    `answered` are requests whose replies are kept from before: they are free and stand in no other number. Equal
    requests count once. `counted` says how tokens were counted. `usd` is ``None`` where no price is known; `here`
    says that the model runs in this process. `unlike` are rows that the stand-in for a reply did not bring through
    the step's checks: what would become of them in later steps is not in the quote.
    """

    step: str
    model: str
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range
    usd: Range | None
    answered: int
    unlike: int
    counted: str
    here: bool
    batch: float | None
    """The share of the price at which the batch is charged, if requests are handed in by the batch."""
    prices_as_of: str
    unpriced: str
    """Why no price is known, and what to do about it; "" if there is one."""
    aside_tokens: int
    """What a budget must have left for the largest request before it is sent; `aside_usd` is that in dollars."""
    aside_usd: float


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
    def calls(self) -> Range:
        """All calls."""
        return _total(step.calls for step in self.steps)

    @property
    def prompt_tokens(self) -> Range:
        """The tokens of all prompts."""
        return _total(step.prompt_tokens for step in self.steps)

    @property
    def completion_tokens(self) -> Range:
        """The tokens of all replies."""
        return _total(step.completion_tokens for step in self.steps)

    @property
    def usd(self) -> Range | None:
        """What all costs; ``None`` if a price is not known."""
        known = [step.usd for step in self.steps if step.usd is not None]
        return _total(known) if len(known) == len(self.steps) else None


def _total(ranges: Iterable[Range]) -> Range:
    return sum(ranges, Range(0, 0))


def quote(plan: Plan, store: Store, watcher: Watcher, refresh: frozenset[str] = frozenset()) -> Quote | None:
    """The quote of `plan`, made from the real prompts: the free steps that lead to them are built for that.

    No model is asked. ``None`` if no step that puts prompts would run.
    """
    statuses = plan.statuses(store, refresh)
    asking = [name for name, node in plan.nodes.items() if node.asks is not None and statuses[name].state != "reused"]
    if not asking:
        return None
    with open_gateway(plan, store, watcher.note) as gateway:
        if gateway is None:
            return None
        teller = _Teller(gateway, store.journal, {name: plan.nodes[name] for name in asking})
        with rehearse(plan, store, teller, watcher, only=plan.leading_to(asking), refresh=refresh) as done:
            skipped = {name: done.skipped[name] for name in asking if name in done.skipped}
        steps = tuple(teller.desks[name].quote() for name in asking if name in teller.desks)
        return Quote(steps, skipped, gateway.receipts())


class _Teller:
    """Counts what it is asked, and answers from the journal or with what a good reply would look like."""

    def __init__(self, gateway: Gateway, journal: Path, nodes: Mapping[str, Node]) -> None:
        self._gateway, self._journal, self._nodes = gateway, journal, nodes
        self._assumed: set[str] = set()
        self._looked_up: set[str] = set()
        self.desks: dict[str, _Desk] = {}

    def converse(
        self,
        step: str,
        spec: KindSpec,
        starts: Iterable[tuple[T, Conversation]],
        done: Callable[[T, list[Fate] | str], None],
    ) -> None:
        """Drive each conversation to its end."""
        desk = self._desk(step, spec)
        for item, conversation in starts:
            done(item, self._drive(desk, conversation))

    def _desk(self, step: str, spec: KindSpec) -> _Desk:
        if step not in self.desks:
            model: Model = create("model", spec)
            counter = calibrated(spec, self._journal, model.label)
            self.desks[step] = _Desk(step, spec, model, counter, *_rounds(self._nodes.get(step)))
        return self.desks[step]

    def _drive(self, desk: _Desk, conversation: Conversation) -> list[Fate]:
        assumed = False
        try:
            request = next(conversation)
            while True:
                reply = self._reply(desk, request)
                assumed = assumed or reply.assumed
                request = conversation.send(reply)
        except StopIteration as end:
            fates: list[Fate] = end.value
        desk.unlike += assumed and any(isinstance(fate, Dropped) for fate in fates)
        return fates

    def _reply(self, desk: _Desk, request: Request) -> Reply:
        key = request_key(desk.model, request)
        if key not in self._assumed:
            kept = self._gateway.lookup(desk.spec, request)
            if kept is not None:
                desk.answered += key not in self._looked_up
                self._looked_up.add(key)
                return kept
            self._assumed.add(key)
            desk.count(request)
        return Reply(request.expected, "complete", assumed=True)


def _rounds(node: Node | None) -> tuple[int, str]:
    """How many repair rounds a step has, and the text that tells the model of a fault."""
    spec = None if node is None else node.maker.spec
    repair: PromptRef | None = getattr(spec, "repair", None)
    return getattr(spec, "repair_rounds", 0), "" if repair is None else read(repair.path, repair.file).source


@dataclass
class _Desk:
    """What one step asks."""

    step: str
    spec: KindSpec
    model: Model
    counter: Counter
    rounds: int
    repair: str
    answered: int = 0
    unlike: int = 0
    calls: Range = Range(0, 0)
    prompts: Range = Range(0, 0)
    completions: Range = Range(0, 0)
    aside: tuple[int, int] = (0, 0)

    def count(self, request: Request) -> None:
        """Count a request that would be paid for, and the repair rounds that may follow it."""
        limit: int | None = self.model.sent(request.sampling).get("max_new_tokens")
        prompt, expected = self.counter.prompt(request), self.counter.count(request.expected)
        more = max(0, self.rounds - request.sample)
        told: int | None = 0
        if more and self.repair:
            # the request, then the reply, then what was wrong with it, which may quote the reply once more
            told = None if limit is None else self.counter.count(self.repair) + 2 * limit
        self.calls += Range(1, 1 + more)
        self.prompts += Range(prompt, None if told is None else prompt + more * (prompt + told))
        self.completions += Range(
            expected if limit is None else min(expected, limit), None if limit is None else limit * (1 + more)
        )
        self.aside = max(self.aside, (self.counter.most(request), ASSUMED_REPLY if limit is None else limit), key=sum)

    def quote(self) -> StepQuote:
        """The quote of what was counted."""
        here = isinstance(self.model, LocalModel)
        prices, price = priced(self.model)
        batched = price is not None and getattr(self.spec, "batch", None) is not None
        return StepQuote(
            step=self.step,
            model=self.model.label,
            calls=self.calls,
            prompt_tokens=self.prompts,
            completion_tokens=self.completions,
            usd=None if price is None else self._usd(price, batched=batched),
            answered=self.answered,
            unlike=self.unlike,
            counted=self.counter.how,
            here=here,
            batch=price.batch if batched and price is not None else None,
            prices_as_of="" if prices is None or price is None else prices.as_of,
            unpriced="" if price is not None else "; ".join(why_unpriced(self.model, prices)),
            aside_tokens=sum(self.aside),
            aside_usd=0.0 if price is None else price.worst(*self.aside),
        )

    def _usd(self, price: Price, *, batched: bool) -> Range:
        def cost(prompt: float, completion: float) -> float:
            return price.usd(round(prompt), round(completion), batched=batched)

        expected = cost(self.prompts.expected, self.completions.expected)
        if self.prompts.at_most is None or self.completions.at_most is None:
            return Range(expected, expected if price == FREE else None)
        return Range(expected, cost(self.prompts.at_most, self.completions.at_most))
