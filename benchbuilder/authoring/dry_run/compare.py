"""Comparisons: several models, or rules, over the same rows of one step."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchbuilder.authoring.dry_run.run import rehearse
from benchbuilder.authoring.dry_run.transcripts import Archivist, Desk, redrive, unanswered
from benchbuilder.config.recipe_index import did_you_mean
from benchbuilder.config.spec.base import KindSpec
from benchbuilder.config.spec.model import live
from benchbuilder.core.display import counted, fate_text, fields_text, row_text
from benchbuilder.core.errors import BudgetReached, DataError, Problem, RecipeError, ServiceError
from benchbuilder.core.records.outcomes import Fate, Kept, NotApplicable
from benchbuilder.core.registry import create
from benchbuilder.models.base import LocalModel, Model, Reply, Request, request_key
from benchbuilder.models.conversation import Conversation
from benchbuilder.models.gateway import Gateway
from benchbuilder.models.gateway.prices import Price, priced
from benchbuilder.pipeline.plan import Node, Plan
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.run_node import job_of
from benchbuilder.pipeline.shards.worker import Worker
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.steps.base import Prompted
from benchbuilder.steps.writer import Writer


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who is compared: a label, and the plan of the recipe with its settings."""

    label: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class Written:
    """What a candidate made of a row: `text` is empty where it made none, and `told` says why.

    `failed` is why it could not be asked, empty if it could.
    """

    text: str
    told: str
    applicable: bool = True
    failed: str = ""


@dataclass
class Result:
    """What a candidate made of the rows, in their order, and what that took.

    `calls` are distinct requests that were answered, `before` those of them whose replies were kept from before.
    `seconds` is the wall time of the runs in which `timed` of the replies came. `uncounted` replies have no tokens.
    `usd` is what all the replies cost, whenever they came; ``None`` if a price is not known.
    """

    label: str
    model: str
    written: list[Written] = field(default_factory=list[Written])
    calls: int = 0
    before: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    usd: float | None = 0.0
    prices_as_of: str = ""
    seconds: float = 0.0
    timed: int = 0

    @property
    def kept(self) -> int:
        """Rows of which it made a text that passed the checks."""
        return sum(bool(one.text) for one in self.written)

    @property
    def applicable(self) -> int:
        """Rows that it was to make a text of."""
        return sum(one.applicable for one in self.written)

    @property
    def failed(self) -> int:
        """Rows about which no answer came, so that nothing is known of what it makes of them."""
        return sum(bool(one.failed) for one in self.written)

    def failures(self) -> dict[str, int]:
        """Why rows failed, each reason with the number of its rows."""
        return dict(Counter(one.failed for one in self.written if one.failed))


@dataclass(frozen=True)
class Comparison:
    """The rows (their ids, source lines and what the step works on, in words) and the results."""

    step: str
    ids: tuple[str, ...]
    origins: tuple[str, ...]
    asked: tuple[str, ...]
    results: tuple[Result, ...]

    def disagreements(self) -> list[int]:
        """The places of rows that the candidates make different texts of."""
        made = [[result.written[place] for result in self.results] for place in range(len(self.ids))]
        return [place for place, ones in enumerate(made) if len({one.text for one in ones if not one.failed}) > 1]

    def unheard(self) -> list[str]:
        """The candidates that answered about no row at all."""
        return [result.label for result in self.results if result.failed and result.failed == result.applicable]


def compare(
    plan: Plan, store: Store, step: str, candidates: Sequence[Candidate], count: int, watcher: Watcher, times: Path
) -> Comparison:
    """Run every candidate over `count` rows of `step`, chosen by the recipe's seed among those of `plan`.

    All replies go through the journal of the build, so that each is paid for once; `times` is the file in which the
    seconds of earlier runs are kept. RecipeError if `step` puts no prompts; DataError if its rows cannot be had.
    """
    node = prompted(plan, step)
    budget = plan.recipe.budget
    only = plan.leading_to([step]) - {step}
    with Gateway(store.journal, usd=budget.usd, tokens=budget.tokens, notice=watcher.note) as gateway:
        archivist = Archivist(gateway.lookup)
        with rehearse(plan, store, archivist, watcher, only=only) as done:
            desk = Desk(plan, done.store, done.manifests)
            if not desk.ready(step):
                told = "; ".join(f"{name}: {why}" for name, why in done.skipped.items() if name in only)
                raise DataError(f"the rows of step {step!r} cannot be had yet", why=told, next="build them first")
            table = desk.each(step)
            chosen = table.arrow.take(pa.array(_drawn(table.ids(), plan.recipe.seed, count), pa.int64()))
            if not chosen.num_rows:
                raise DataError(f"step {step!r} has no rows", next="build first; `benchbuild plan` says what runs")
            rows = list(type(table)(chosen, table.row))
            results: list[Result] = []
            for candidate in candidates:
                mine = candidate.plan.nodes[step]
                _same_inputs(node, mine, candidate)
                worker = Worker(job_of(mine, done.store, done.manifests))
                results.append(_Run(gateway, worker, candidate.label, watcher).over(chosen))
                _keep_time(times, mine.key, results[-1])
            asked = tuple(_asked(desk, step, row) for row in rows)
    origins = tuple(f"{row.origin.file}:{row.origin.line}" for row in rows)
    return Comparison(step, tuple(row.id for row in rows), origins, asked, tuple(results))


def prompted(plan: Plan, step: str) -> Node:
    """The node of a step that may put prompts; RecipeError if `step` is none."""
    known = [name for name, node in plan.nodes.items() if isinstance(node.maker, Prompted)]
    if step in known:
        return plan.nodes[step]
    message = "this step puts no prompts" if step in plan.nodes else "there is no such step"
    raise RecipeError([Problem(message, where=f"command line: {step}", allowed=", ".join(known) or "none here",
                               hint=did_you_mean(step, known))])  # fmt: skip


def _same_inputs(node: Node, mine: Node, candidate: Candidate) -> None:
    if dict(node.inputs) != dict(mine.inputs):
        raise RecipeError(
            [Problem("a candidate works on the rows of another step", where=f"--with {candidate.label}",
                     hint="say what is to be the same for all outside --with")]
        )  # fmt: skip


def _drawn(ids: Sequence[str], seed: int, count: int) -> list[int]:
    """The places of `count` of `ids`, in order; of more, the same ones and others."""
    ranks = sorted(range(len(ids)), key=lambda place: hashlib.sha256(f"{seed}:{ids[place]}".encode()).digest())
    return sorted(ranks[:count])


def _asked(desk: Desk, step: str, row: Any) -> str:
    """What a row holds, as the prompt is filled with it where a prompt can be."""
    stage = desk.stage(step)
    parents = desk.parents(step, row)
    if isinstance(stage, Writer) and stage.applies(row, parents) is None:
        return fields_text(stage.values(row, parents))
    return row_text(row)


class _Run:
    """One candidate over the rows."""

    def __init__(self, gateway: Gateway, worker: Worker, label: str, watcher: Watcher) -> None:
        stage = worker.job.stage
        if not isinstance(stage, Prompted):
            raise TypeError(f"{stage.kind} puts no prompts")
        self.gateway, self.worker, self.watcher = gateway, worker, watcher
        self.step, self.spec = stage.context.step, None if stage.asks is None else live(stage.asks)
        self.model: Model | None = None if self.spec is None else create("model", self.spec)
        self.result = Result(label, "" if self.model is None else self.model.label)
        self.turns: dict[str, Reply] = {}

    def over(self, table: pa.Table) -> Result:
        """The result over the rows of `table`."""
        result = self.result
        before = self._known(table)
        outcomes: dict[int, list[Fate] | str] = {}
        self.watcher.begin(f"{self.step} {result.label}", table.num_rows, "rows")

        def done(place: int, outcome: list[Fate] | str) -> None:
            outcomes[place] = outcome
            self.watcher.advance(f"{self.step} {result.label}", 1)

        asker = Archivist(unanswered) if self.spec is None else self.gateway
        start = time.perf_counter()
        try:
            asker.converse(self.step, self.spec or KindSpec(kind="none"), self._starts(table), done)
        except BudgetReached:
            raise
        except ServiceError as error:  # of this candidate alone; the others are compared all the same
            outcomes |= {place: error.what for place in range(table.num_rows) if place not in outcomes}
        result.seconds = time.perf_counter() - start
        self.watcher.end(f"{self.step} {result.label}", counted(table.num_rows, "row"))
        result.written = [_written(outcomes[place]) for place in range(table.num_rows)]
        result.calls, result.before = len(self.turns), len(before & self.turns.keys())
        result.timed = result.calls - result.before
        self._count()
        return result

    def _known(self, table: pa.Table) -> set[str]:
        """The keys of the requests that the journal answers already."""
        if self.spec is None or self.model is None:
            return set()
        spec, model = self.spec, self.model
        known: set[str] = set()
        for _, conversation in self.worker.talk(table).conversations():
            for turn in redrive(conversation, lambda request: self.gateway.lookup(spec, request)).turns:
                if turn.reply is not None:
                    known.add(request_key(model, turn.request))
        return known

    def _starts(self, table: pa.Table) -> Iterator[tuple[int, Conversation]]:
        for place, conversation in self.worker.talk(table).conversations():
            yield place, self._overheard(conversation)

    def _overheard(self, conversation: Conversation) -> Conversation:
        """The conversation, with every reply written down."""
        try:
            request: Request = next(conversation)
            while True:
                reply = yield request
                if self.model is not None:
                    self.turns[request_key(self.model, request)] = reply
                request = conversation.send(reply)
        except StopIteration as end:
            return end.value

    def _count(self) -> None:
        """Tokens and price of the replies."""
        result, price = self.result, self._price()
        for reply in self.turns.values():
            if reply.usage is None:
                result.uncounted += 1
                continue
            result.prompt_tokens += reply.usage.prompt
            result.completion_tokens += reply.usage.completion
            if price is not None and result.usd is not None:
                result.usd += price.usd(reply.usage.prompt, reply.usage.completion, reply.usage.cached)
        if self.turns and not isinstance(self.model, LocalModel) and (price is None or result.uncounted):
            result.usd = None

    def _price(self) -> Price | None:
        if self.model is None:
            return None
        prices, price = priced(self.model)
        self.result.prices_as_of = "" if prices is None or price is None else prices.as_of
        return price


def _written(outcome: list[Fate] | str) -> Written:
    if isinstance(outcome, str):
        return Written("", f"failed: {outcome}", failed=outcome)
    texts = [row_text(fate.row) for fate in outcome if isinstance(fate, Kept)]
    told = "\n".join(fate_text(fate) for fate in outcome if not isinstance(fate, Kept))
    return Written("\n".join(texts), told, not all(isinstance(fate, NotApplicable) for fate in outcome))


def _keep_time(file: Path, key: str, result: Result) -> None:
    """Add up the seconds of runs in which replies came: a run over kept replies alone takes no time worth telling."""
    if not result.calls:
        return
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    seconds, timed = known.get(key, (0.0, 0))
    if result.timed:
        seconds, timed = seconds + result.seconds, timed + result.timed
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".tmp")
        draft.write_text(json.dumps({**known, key: [round(seconds, 3), timed]}, sort_keys=True), encoding="utf-8")
        draft.replace(file)
    result.seconds, result.timed = seconds, min(timed, result.calls)
