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
    read_json,
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
from benchbuilder.pipeline import (
    JournalDriver,
    Node,
    Plan,
    PromptSteps,
    ShardWorker,
    Store,
    Watcher,
    empty_lookup,
    replay_conversation,
    step_job_of,
)
from benchbuilder.steps import PromptedMap, Writer


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A candidate: its label, and the plan of the recipe with its settings."""

    label: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class WrittenText:
    """The text that a candidate wrote for a row; empty if it wrote none, and `explanation` says why.

    `failure` says why it could not be asked, `applicable` whether it had to write one.
    """

    text: str
    explanation: str
    applicable: bool = True
    failure: str = ""


@dataclass
class ComparisonResult:
    """The texts of a candidate in the order of the rows, and their cost.

    Attributes:
        calls: Distinct requests that were answered.
        kept_replies: Those whose replies were stored before.
        replies_without_usage: Replies whose tokens the service did not count.
        usd: The cost of all replies, whenever they came; ``None`` if a price is not known.
        seconds: The wall time of the runs in which `timed_replies` of the replies came.
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
        """The rows with a text that passed the checks."""
        return sum(bool(text.text) for text in self.texts)

    @property
    def applicable_count(self) -> int:
        """The rows that needed a text."""
        return sum(text.applicable for text in self.texts)

    @property
    def failed_count(self) -> int:
        """The rows without an answer."""
        return sum(bool(text.failure) for text in self.texts)

    def failures(self) -> dict[str, int]:
        """Why rows failed: the number of rows for each reason."""
        return dict(Counter(text.failure for text in self.texts if text.failure))


@dataclass(frozen=True)
class Comparison:
    """The results for the same rows, with the ids, source lines and inputs (as text) of these rows."""

    step: str
    ids: tuple[str, ...]
    origins: tuple[str, ...]
    inputs: tuple[str, ...]
    results: tuple[ComparisonResult, ...]

    def disagreements(self) -> list[int]:
        """The positions of the rows for which the candidates wrote different texts."""
        rows = zip(*(result.texts for result in self.results), strict=True)
        return [n for n, texts in enumerate(rows) if len({text.text for text in texts if not text.failure}) > 1]

    def unanswered_labels(self) -> list[str]:
        """The candidates without any answer."""
        return [one.label for one in self.results if one.failed_count and one.failed_count == one.applicable_count]


def run_comparison(
    plan: Plan, store: Store, step: str, candidates: Sequence[ComparedModel], count: int, watcher: Watcher,
    timing_file: Path,
) -> Comparison:  # fmt: skip
    """Run every candidate over the same rows of a step. Replies go through the journal of the build and are paid once.

    Args:
        plan: The plan of the recipe.
        store: The store of the build.
        step: The step.
        candidates: The candidates, each with a plan of its own.
        count: How many rows are drawn, by the seed of the recipe.
        watcher: Follows the progress.
        timing_file: Holds the seconds of earlier runs.

    Raises:
        RecipeError: The step puts no prompts, or a candidate has other inputs.
        DataError: The rows are not built, or there are none.
    """
    node = prompting_node(plan, step)
    budget = plan.recipe.budget
    only = plan.ancestors_of([step]) - {step}
    results: list[ComparisonResult] = []
    with (
        Gateway(store.journal, usd=budget.usd, tokens=budget.tokens, notice=watcher.note) as gateway,
        open_dry_run(plan, store, JournalDriver(gateway.lookup), watcher, only=only) as dry_run,
    ):
        prompt_steps = PromptSteps(plan, dry_run.store, dry_run.manifests)
        if not prompt_steps.is_ready(step):
            why = "; ".join(f"{name}: {reason}" for name, reason in dry_run.skipped.items() if name in only)
            raise DataError(f"the rows of step {step!r} are not available yet", why=why, next="build them first")
        table = prompt_steps.input_rows(step)
        chosen = table.arrow.take(pa.array(_sample_positions(table.ids(), plan.recipe.seed, count), pa.int64()))
        if not chosen.num_rows:
            raise DataError(f"step {step!r} has no rows", next="build first; `benchbuild plan` says what runs")
        for candidate in candidates:
            own_node = candidate.plan.nodes[step]
            _check_same_inputs(node, own_node, candidate)
            worker = ShardWorker(step_job_of(own_node, dry_run.store, dry_run.manifests))
            results.append(_ComparisonRun(gateway, worker, candidate.label, watcher).run(chosen))
            _record_time(timing_file, own_node.key, results[-1])
        rows = list(type(table)(chosen, table.row))
        inputs = tuple(_input_text(prompt_steps, step, row) for row in rows)
    origins = tuple(f"{row.origin.file}:{row.origin.line}" for row in rows)
    return Comparison(step, tuple(row.id for row in rows), origins, inputs, tuple(results))


def prompting_node(plan: Plan, step: str) -> Node:
    """The node of a step that may put prompts; RecipeError for other steps."""
    known = [name for name, node in plan.nodes.items() if isinstance(node.producer, PromptedMap)]
    if step in known:
        return plan.nodes[step]
    message = "this step puts no prompts" if step in plan.nodes else "there is no such step"
    raise RecipeError([Problem(message, where=f"command line: {step}", allowed=", ".join(known) or "none here",
                               hint=did_you_mean(step, known))])  # fmt: skip


def _check_same_inputs(node: Node, own_node: Node, candidate: ComparedModel) -> None:
    if dict(node.inputs) != dict(own_node.inputs):
        raise RecipeError([Problem("a candidate works on the rows of another step", where=f"--with {candidate.label}",
                                   hint="give overrides that all candidates share outside --with")])  # fmt: skip


def _sample_positions(ids: Sequence[str], seed: int, count: int) -> list[int]:
    """The positions of `count` drawn ids, in order; a larger count adds to them."""
    drawn = sorted(range(len(ids)), key=lambda position: hashlib.sha256(f"{seed}:{ids[position]}".encode()).digest())
    return sorted(drawn[:count])


def _input_text(prompt_steps: PromptSteps, step: str, row: Any) -> str:
    """The values that a row gives to the prompt, or its own text if it gets no prompt."""
    opened = prompt_steps.open_step(step)
    parents = prompt_steps.parent_rows(step, row)
    if isinstance(opened, Writer) and opened.exclusion(row, parents) is None:
        return text_fields_block(opened.prompt_values(row, parents))
    return row_text(row)


class _ComparisonRun:
    """One candidate over the rows."""

    def __init__(self, gateway: Gateway, worker: ShardWorker, label: str, watcher: Watcher) -> None:
        opened = worker.job.step
        if not isinstance(opened, PromptedMap):
            raise TypeError(f"{opened.kind} puts no prompts")
        self.gateway, self.worker, self.watcher = gateway, worker, watcher
        self.step = opened.context.step
        self.spec = None if opened.model_spec is None else without_batching(opened.model_spec)
        self.model: Model | None = None if self.spec is None else create_from_spec("model", self.spec)
        self.result = ComparisonResult(label, "" if self.model is None else self.model.label)
        self.replies: dict[str, Reply] = {}

    def run(self, table: pa.Table) -> ComparisonResult:
        """The result over the rows of `table`."""
        result, label = self.result, f"{self.step} {self.result.label}"
        before = self._known_keys(table)
        outcomes: dict[int, list[Outcome] | str] = {}

        def record(position: int, outcome: list[Outcome] | str) -> None:
            outcomes[position] = outcome
            self.watcher.advance(label, 1)

        driver = JournalDriver(empty_lookup) if self.spec is None else self.gateway
        self.watcher.begin(label, table.num_rows, "rows")
        start = time.perf_counter()
        try:
            driver.converse(self.step, self.spec or KindSpec(kind="none"), self._conversations(table), record)
        except BudgetReached:
            raise
        except ServiceError as error:  # of this candidate alone; the others are compared all the same
            outcomes = dict.fromkeys(range(table.num_rows), error.what) | outcomes
        result.seconds = time.perf_counter() - start
        self.watcher.end(label, count_phrase(table.num_rows, "row"))
        result.texts = [_written_text(outcomes[position]) for position in range(table.num_rows)]
        result.calls, result.kept_replies = len(self.replies), len(before & self.replies.keys())
        result.timed_replies = result.calls - result.kept_replies
        self._count_replies()
        return result

    def _known_keys(self, table: pa.Table) -> set[str]:
        """The keys of the requests that the journal can answer."""
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
        for position, conversation in self.worker.conversations(table).conversations():
            yield position, self._recorded(conversation)

    def _recorded(self, conversation: Conversation) -> Conversation:
        """The conversation, with every reply recorded."""
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
        """Add up tokens and prices of the replies."""
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
    texts = [row_text(branch.row) for branch in outcome if isinstance(branch, Kept)]
    others = [branch for branch in outcome if not isinstance(branch, Kept)]
    applicable = not all(isinstance(branch, NotApplicable) for branch in outcome)
    return WrittenText("\n".join(texts), "\n".join(map(outcome_text, others)), applicable)


def _record_time(file: Path, key: str, result: ComparisonResult) -> None:
    """Add up the seconds of runs in which replies came; runs with stored replies alone do not count."""
    if not result.calls:
        return
    known: dict[str, Any] = read_json(file) if file.exists() else {}
    seconds, timed = known.get(key, (0.0, 0))
    if result.timed_replies:
        seconds, timed = seconds + result.seconds, timed + result.timed_replies
        write_atomically(file, json.dumps({**known, key: [round(seconds, 3), timed]}, sort_keys=True))
    result.seconds, result.timed_replies = seconds, min(timed, result.calls)
