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

from benchbuilder.authoring.dry_run.run import open_dry_run
from benchbuilder.authoring.dry_run.transcripts import JournalDriver, PromptSteps, empty_lookup, replay_conversation
from benchbuilder.config import KindSpec, did_you_mean, without_batching
from benchbuilder.core import (
    BudgetReached,
    DataError,
    Kept,
    NotApplicable,
    Outcome,
    Problem,
    RecipeError,
    ServiceError,
    count_phrase,
    create_from_spec,
    outcome_text,
    row_text,
    text_fields_block,
    write_atomically,
)
from benchbuilder.models import (
    Conversation,
    Gateway,
    LocalModel,
    Model,
    Price,
    Reply,
    Request,
    model_price,
    request_key,
)
from benchbuilder.pipeline import Node, Plan, ShardWorker, Store, Watcher, step_job_of
from benchbuilder.steps import PromptedMap, Writer


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """Who is compared: a label, and the plan of the recipe with its settings."""

    label: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class WrittenText:
    """What a candidate made of a row: `text` is empty where it made none, and `explanation` says why.

    `failed` is why it could not be asked, empty if it could.
    """

    text: str
    explanation: str
    applicable: bool = True
    failure: str = ""


@dataclass
class ComparisonResult:
    """What a candidate made of the rows, in their order, and what that took.

    `calls` are distinct requests that were answered, `kept_replies` those of them whose replies were kept from before.
    `seconds` is the wall time of the runs in which `timed_replies` of the replies came. `replies_without_usage`
    replies have no tokens. `usd` is what all the replies cost, whenever they came; ``None`` if a price is not known.
    """

    label: str
    model: str
    texts: list[WrittenText] = field(default_factory=list[WrittenText])
    calls: int = 0
    kept_replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    replies_without_usage: int = 0
    usd: float | None = 0.0
    prices_as_of: str = ""
    seconds: float = 0.0
    timed_replies: int = 0

    @property
    def passed_count(self) -> int:
        """Rows of which it made a text that passed the checks."""
        return sum(bool(one.text) for one in self.texts)

    @property
    def applicable_count(self) -> int:
        """Rows that it was to make a text of."""
        return sum(one.applicable for one in self.texts)

    @property
    def failed_count(self) -> int:
        """Rows about which no answer came, so that nothing is known of what it makes of them."""
        return sum(bool(one.failure) for one in self.texts)

    def failures(self) -> dict[str, int]:
        """Why rows failed, each reason with the number of its rows."""
        return dict(Counter(one.failure for one in self.texts if one.failure))


@dataclass(frozen=True)
class Comparison:
    """The rows (their ids, source lines and what the step works on, in words) and the results."""

    step: str
    ids: tuple[str, ...]
    origins: tuple[str, ...]
    inputs: tuple[str, ...]
    results: tuple[ComparisonResult, ...]

    def disagreements(self) -> list[int]:
        """The places of rows that the candidates make different texts of."""
        made = [[result.texts[place] for result in self.results] for place in range(len(self.ids))]
        return [place for place, ones in enumerate(made) if len({one.text for one in ones if not one.failure}) > 1]

    def unanswered_labels(self) -> list[str]:
        """The candidates that answered about no row at all."""
        return [
            result.label
            for result in self.results
            if result.failed_count and result.failed_count == result.applicable_count
        ]


def run_comparison(
    plan: Plan,
    store: Store,
    step: str,
    candidates: Sequence[ComparedModel],
    count: int,
    watcher: Watcher,
    timing_file: Path,
) -> Comparison:
    """Run every candidate over `count` rows of `step`, chosen by the recipe's seed among those of `plan`.

    All replies go through the journal of the build, so that each is paid for once; `timing_file` is the file in which
    the seconds of earlier runs are kept. RecipeError if `step` puts no prompts; DataError if its rows cannot be had.
    """
    node = prompting_node(plan, step)
    budget = plan.recipe.budget
    only = plan.ancestors_of([step]) - {step}
    with Gateway(store.journal, usd=budget.usd, tokens=budget.tokens, notice=watcher.note) as gateway:
        archivist = JournalDriver(gateway.lookup)
        with open_dry_run(plan, store, archivist, watcher, only=only) as done:
            desk = PromptSteps(plan, done.store, done.manifests)
            if not desk.is_ready(step):
                told = "; ".join(f"{name}: {why}" for name, why in done.skipped.items() if name in only)
                raise DataError(f"the rows of step {step!r} cannot be had yet", why=told, next="build them first")
            table = desk.input_rows(step)
            chosen = table.arrow.take(pa.array(_sample_positions(table.ids(), plan.recipe.seed, count), pa.int64()))
            if not chosen.num_rows:
                raise DataError(f"step {step!r} has no rows", next="build first; `benchbuild plan` says what runs")
            rows = list(type(table)(chosen, table.row))
            results: list[ComparisonResult] = []
            for candidate in candidates:
                mine = candidate.plan.nodes[step]
                _check_same_inputs(node, mine, candidate)
                worker = ShardWorker(step_job_of(mine, done.store, done.manifests))
                results.append(_ComparisonRun(gateway, worker, candidate.label, watcher).run(chosen))
                _record_time(timing_file, mine.key, results[-1])
            asked = tuple(_input_text(desk, step, row) for row in rows)
    origins = tuple(f"{row.origin.file}:{row.origin.line}" for row in rows)
    return Comparison(step, tuple(row.id for row in rows), origins, asked, tuple(results))


def prompting_node(plan: Plan, step: str) -> Node:
    """The node of a step that may put prompts; RecipeError if `step` is none."""
    known = [name for name, node in plan.nodes.items() if isinstance(node.producer, PromptedMap)]
    if step in known:
        return plan.nodes[step]
    message = "this step puts no prompts" if step in plan.nodes else "there is no such step"
    raise RecipeError([Problem(message, where=f"command line: {step}", allowed=", ".join(known) or "none here",
                               hint=did_you_mean(step, known))])  # fmt: skip


def _check_same_inputs(node: Node, own_node: Node, candidate: ComparedModel) -> None:
    if dict(node.inputs) != dict(own_node.inputs):
        raise RecipeError(
            [Problem("a candidate works on the rows of another step", where=f"--with {candidate.label}",
                     hint="say what is to be the same for all outside --with")]
        )  # fmt: skip


def _sample_positions(ids: Sequence[str], seed: int, count: int) -> list[int]:
    """The places of `count` of `ids`, in order; of more, the same ones and others."""
    ranks = sorted(range(len(ids)), key=lambda place: hashlib.sha256(f"{seed}:{ids[place]}".encode()).digest())
    return sorted(ranks[:count])


def _input_text(prompt_steps: PromptSteps, step: str, row: Any) -> str:
    """What a row holds, as the prompt is filled with it where a prompt can be."""
    stage = prompt_steps.open_step(step)
    parents = prompt_steps.parent_rows(step, row)
    if isinstance(stage, Writer) and stage.exclusion(row, parents) is None:
        return text_fields_block(stage.prompt_values(row, parents))
    return row_text(row)


class _ComparisonRun:
    """One candidate over the rows."""

    def __init__(self, gateway: Gateway, worker: ShardWorker, label: str, watcher: Watcher) -> None:
        stage = worker.job.stage
        if not isinstance(stage, PromptedMap):
            raise TypeError(f"{stage.kind} puts no prompts")
        self.gateway, self.worker, self.watcher = gateway, worker, watcher
        self.step, self.spec = (
            stage.context.step,
            None if stage.model_spec is None else without_batching(stage.model_spec),
        )
        self.model: Model | None = None if self.spec is None else create_from_spec("model", self.spec)
        self.result = ComparisonResult(label, "" if self.model is None else self.model.label)
        self.replies: dict[str, Reply] = {}

    def run(self, table: pa.Table) -> ComparisonResult:
        """The result over the rows of `table`."""
        result = self.result
        before = self._known_keys(table)
        outcomes: dict[int, list[Outcome] | str] = {}
        self.watcher.begin(f"{self.step} {result.label}", table.num_rows, "rows")

        def done(place: int, outcome: list[Outcome] | str) -> None:
            outcomes[place] = outcome
            self.watcher.advance(f"{self.step} {result.label}", 1)

        asker = JournalDriver(empty_lookup) if self.spec is None else self.gateway
        start = time.perf_counter()
        try:
            asker.converse(self.step, self.spec or KindSpec(kind="none"), self._conversations(table), done)
        except BudgetReached:
            raise
        except ServiceError as error:  # of this candidate alone; the others are compared all the same
            outcomes |= {place: error.what for place in range(table.num_rows) if place not in outcomes}
        result.seconds = time.perf_counter() - start
        self.watcher.end(f"{self.step} {result.label}", count_phrase(table.num_rows, "row"))
        result.texts = [_written_text(outcomes[place]) for place in range(table.num_rows)]
        result.calls, result.kept_replies = len(self.replies), len(before & self.replies.keys())
        result.timed_replies = result.calls - result.kept_replies
        self._count_replies()
        return result

    def _known_keys(self, table: pa.Table) -> set[str]:
        """The keys of the requests that the journal answers already."""
        if self.spec is None or self.model is None:
            return set()
        spec, model = self.spec, self.model
        known: set[str] = set()
        for _, conversation in self.worker.conversations(table).conversations():
            for turn in replay_conversation(conversation, lambda request: self.gateway.lookup(spec, request)).turns:
                if turn.reply is not None:
                    known.add(request_key(model, turn.request))
        return known

    def _conversations(self, table: pa.Table) -> Iterator[tuple[int, Conversation]]:
        for place, conversation in self.worker.conversations(table).conversations():
            yield place, self._recorded(conversation)

    def _recorded(self, conversation: Conversation) -> Conversation:
        """The conversation, with every reply written down."""
        try:
            request: Request = next(conversation)
            while True:
                reply = yield request
                if self.model is not None:
                    self.replies[request_key(self.model, request)] = reply
                request = conversation.send(reply)
        except StopIteration as end:
            return end.value

    def _count_replies(self) -> None:
        """Tokens and price of the replies."""
        result, price = self.result, self._price()
        for reply in self.replies.values():
            if reply.usage is None:
                result.replies_without_usage += 1
                continue
            result.prompt_tokens += reply.usage.prompt
            result.completion_tokens += reply.usage.completion
            if price is not None and result.usd is not None:
                result.usd += price.usd(reply.usage.prompt, reply.usage.completion, reply.usage.cached)
        if self.replies and not isinstance(self.model, LocalModel) and (price is None or result.replies_without_usage):
            result.usd = None

    def _price(self) -> Price | None:
        if self.model is None:
            return None
        prices, price = model_price(self.model)
        self.result.prices_as_of = "" if prices is None or price is None else prices.as_of
        return price


def _written_text(outcome: list[Outcome] | str) -> WrittenText:
    if isinstance(outcome, str):
        return WrittenText("", f"failed: {outcome}", failure=outcome)
    texts = [row_text(row_outcome.row) for row_outcome in outcome if isinstance(row_outcome, Kept)]
    told = "\n".join(outcome_text(row_outcome) for row_outcome in outcome if not isinstance(row_outcome, Kept))
    return WrittenText(
        "\n".join(texts), told, not all(isinstance(row_outcome, NotApplicable) for row_outcome in outcome)
    )


def _record_time(file: Path, key: str, result: ComparisonResult) -> None:
    """Add up the seconds of runs in which replies came: a run over kept replies alone takes no time worth telling."""
    if not result.calls:
        return
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    seconds, timed = known.get(key, (0.0, 0))
    if result.timed_replies:
        seconds, timed = seconds + result.seconds, timed + result.timed_replies
        write_atomically(file, json.dumps({**known, key: [round(seconds, 3), timed]}, sort_keys=True))
    result.seconds, result.timed_replies = seconds, min(timed, result.calls)
