"""Brings one node of a plan up to date: reuses it, or reads or runs it, counts its rows and commits it."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from benchbuilder.config import Recipe, RunSpec, display_path
from benchbuilder.core import (
    DamagedError,
    EndOfFile,
    Outcome,
    StoreError,
    Table,
    Waiting,
    count_phrase,
    create_from_spec,
)
from benchbuilder.models import Conversation, ConversationDriver
from benchbuilder.pipeline.accounting.failures import failed_row_ids, merge_retried, too_many_failures
from benchbuilder.pipeline.accounting.gathers import gather_shards
from benchbuilder.pipeline.accounting.shard import Shard
from benchbuilder.pipeline.cache_key import describe_key_changes
from benchbuilder.pipeline.executors.base import Executor
from benchbuilder.pipeline.memory import peak_memory_mb, release_free_memory, reset_peak_memory
from benchbuilder.pipeline.node_inputs import (
    check_union,
    copy_step,
    port_files,
    rows_with_ids,
    shards_of_tables,
    step_job_of,
)
from benchbuilder.pipeline.plan import Node, check_files_unchanged, workers_of
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.read_source import read_source_shards
from benchbuilder.pipeline.shards.work import ShardRanges, ShardTask, plan_shards
from benchbuilder.pipeline.shards.worker import ShardConversations, ShardWorker
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import StepDraft, Store, mark_latest
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.pipeline.totals import StepTotals
from benchbuilder.sources import Source
from benchbuilder.steps import Gather, Step

_CONVERSATION_ROWS = 1_000
"""Rows in a shard whose rows are put to a model: each takes a while, so shards are small and committed often."""
_GROWTH = 16
"""How many times the bytes of its rows in a file a shard may take while it is at work, as Python objects."""
_WINDOWS = 32
"""Into so many windows the memory of a gather is divided: several tables and what is made of them are at work."""
_NAMED_REASONS = 3
"""A step that loses rows says why: so many reasons, the most frequent first."""
_REPORTED_SECONDS = 5.0
"""A step that takes at least so long reports its time and memory."""


@dataclass(frozen=True)
class ShardLimits:
    """How large shards are, in rows and in bytes before compression, and what proportion of branches may fail.

    `window_bytes` is the size of the windows of gathers.
    """

    shard_rows: int
    shard_bytes: int
    window_bytes: int
    tolerated_failures: float

    @classmethod
    def of_recipe(cls, recipe: Recipe) -> ShardLimits:
        """The limits of a recipe: the shards at work at the same time fit into the memory that it grants."""
        run = recipe.run
        shard_bytes = run.memory_mb * 1_000_000 // (workers_of(run) * _GROWTH)
        window_bytes = run.memory_mb * 1_000_000 // _WINDOWS
        return cls(run.shard_rows, shard_bytes, window_bytes, recipe.tolerate.failed_rows)


def create_executor(run: RunSpec) -> Executor:
    """The executor that makes the shards."""
    executor: Executor = create_from_spec("executor", run.executor, workers_of(run))
    return executor


RowChooser = Callable[[ShardWorker | None, Iterable[pa.Table]], list[pa.Table]]
"""Takes some of the rows of the `each` port, which come piece by piece; a step that puts prompts has a worker."""


@dataclass(frozen=True)
class NodeResult:
    """What `NodeRunner.bring_up_to_date` did: a waiting node has no manifest but says what it waits for."""

    state: Literal["reused", "built", "waiting"]
    manifest: Manifest | None = None
    waiting: Waiting | None = None


@dataclass
class NodeRunner:
    """Brings nodes up to date in `store`, one after the other in the order of the plan.

    `manifests` holds the manifests of the nodes that are up to date, `times` the seconds and the memory of those that
    ran. `asker` puts prompts to models; steps with prompts need one. `choose_rows` limits the rows that maps and
    filters work on; ``None`` takes all.
    """

    store: Store
    executor: Executor
    limits: ShardLimits
    watcher: Watcher
    asker: ConversationDriver | None = None
    choose_rows: RowChooser | None = None
    manifests: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    times: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])

    def bring_up_to_date(self, node: Node, *, refresh: bool = False) -> NodeResult:
        """Reuse what the store has of a node, retry its failed rows, or run it; the nodes before it are up to date.

        A node that is damaged in the store is run again, with a note; the damaged files stay until it is committed.

        Args:
            node: The node of the plan.
            refresh: Run it even if the store has it.

        Raises:
            DataError: A file that the node reads is damaged or changed meanwhile.
            TooManyFailures: More branches failed than the recipe tolerates; the step is committed all the same.
            StoreError: The node is damaged and cannot be made as it was, because people's votes changed.
            ServiceError: A model or a worker cannot be reached; complete shards stay.
        """
        previous = None if refresh else self._whole_manifest(node)
        if previous is not None and previous.state == "complete":
            self.manifests[node.name] = previous
            mark_latest(self.store.step_folder(node.name, node.key))
            self.watcher.end(node.name, f"reused   {_summary(previous)}")
            return NodeResult("reused", previous)
        try:
            with self._timed(node.name):
                manifest = self.run(node) if previous is None else self.retry_failed(node, previous)
        except Waiting as waiting:
            self.watcher.end(node.name, f"waits: {waiting.what}")
            return NodeResult("waiting", waiting=waiting)
        self.manifests[node.name] = manifest
        seconds, megabytes = self.times[node.name].values()
        cost = f" ({seconds:.0f} s, {megabytes:.0f} MB)" if seconds >= _REPORTED_SECONDS else ""
        self.watcher.end(node.name, f"built    {_summary(manifest)}{cost}")
        return NodeResult("built", manifest)

    def current_manifest(self, node: Node) -> Manifest | None:
        """What the store has of a node, if it was made of the inputs as they are now."""
        manifest = self.store.manifest(node.name, node.key)
        return manifest if manifest is not None and manifest.inputs == self._input_digests(node) else None

    def _whole_manifest(self, node: Node) -> Manifest | None:
        """The current manifest of a node if its files are whole; a note says what is damaged otherwise."""
        manifest = None
        try:
            manifest = self.current_manifest(node)
            if manifest is not None:
                self.store.check(manifest)
        except DamagedError as error:
            if manifest is not None:
                _check_votes_unchanged(node, manifest, error)
            counted = "" if manifest is not None or isinstance(node.producer, Source) else _counted_now(node.producer)
            self.watcher.note(f"{error.what} ({error.why}): it is made again{counted}")
            return None
        return manifest

    def run(self, node: Node) -> Manifest:
        """Run a node whole and commit it."""
        producer = node.producer
        if isinstance(producer, Source):
            return self._commit(node, *self._read(node, producer))
        external = dict(producer.external_inputs())  # before they are read: what comes in later is reported as late
        shards = self._gather(node) if isinstance(producer, Gather) else self._run_shards(node)
        return self._commit(node, *shards, external_inputs=external)

    def retry_failed(self, node: Node, previous: Manifest) -> Manifest:
        """Run the failed rows of an incomplete step again and put them in their places; a gather runs whole."""
        if isinstance(node.producer, Gather):
            return self.run(node)
        old_rows, old_outcomes = self.store.rows(previous), self.store.outcomes(previous)
        tallies = Counter({(tally, partition, key): n for tally, partition, key, n in previous.tallies})
        failed = failed_row_ids(old_outcomes)
        files = port_files(node, "each", self.store, self.manifests)
        each = plan_shards(files.row, files.parts, self.limits.shard_rows, self.limits.shard_bytes)
        draft = self.store.draft(node.name, node.key, {"retry of": previous.digest})
        again = shards_of_tables(files.row, rows_with_ids(each, failed), draft.folder / "again.parquet", len(failed))
        self.watcher.begin(node.name, again.total(), "rows")
        self._make_shards(node, again, list(range(len(again))), draft)
        order = [str(row) for table in each.columns("id") for row in table.column("id").to_pylist()]
        old = Shard(old_rows, old_outcomes, tallies, previous.notes)
        draft.commit_shard(0, merge_retried(order, failed, old, draft.load_shard(0, node.row)))
        return self._commit(node, draft, 1, external_inputs=previous.external_inputs)

    # --- the three ways to make shards: read a source, gather, or run a map or filter

    def _read(self, node: Node, source: Source) -> tuple[StepDraft, int, list[EndOfFile]]:
        name, draft = source.name, self._draft(node, 0)
        self.watcher.begin(name, None, "units")
        rows, most_bytes = self.limits.shard_rows, self.limits.shard_bytes
        return draft, *read_source_shards(
            source, rows, most_bytes, draft.commit_shard, lambda units: self.watcher.advance(name, units)
        )

    def _gather(self, node: Node) -> tuple[StepDraft, int]:
        step = copy_step(node)
        if not isinstance(step, Gather):
            raise TypeError(f"{node.name} is no gather")
        draft = self._draft(node, 0)
        tables = {port: self._table(node, step, port) for port in node.inputs}
        self.watcher.begin(node.name, len(tables["each"]), "rows")
        lookups = {port: table for port, table in tables.items() if step.ports[port].mode == "lookup"}
        step.prepare(lookups)
        step.open(lookups)
        count = 0
        for count, shard in enumerate(gather_shards(step, tables, step.gather(tables), node.row), 1):
            draft.commit_shard(count - 1, shard)
            for table in tables.values():
                table.release()
        return draft, count

    def _run_shards(self, node: Node) -> tuple[StepDraft, int]:
        files = port_files(node, "each", self.store, self.manifests)
        rows = self.limits.shard_rows if node.model_spec is None else min(self.limits.shard_rows, _CONVERSATION_ROWS)
        shards = plan_shards(files.row, files.parts, rows, self.limits.shard_bytes)
        check_union(node, "each", shards)
        draft = self._draft(node, shards.rows(0) if len(shards) else 0)
        if self.choose_rows is not None:
            worker = None if node.model_spec is None else ShardWorker(step_job_of(node, self.store, self.manifests))
            chosen = self.choose_rows(worker, (shards.table(index) for index in range(len(shards))))
            shards = shards_of_tables(files.row, chosen, draft.folder / "chosen.parquet", rows)
        self.watcher.begin(node.name, shards.total(), "rows")
        todo: list[int] = []
        for index in range(len(shards)):
            if draft.has_shard(index):
                self.watcher.advance(node.name, shards.rows(index))
            else:
                todo.append(index)
        self._make_shards(node, shards, todo, draft)
        return draft, len(shards)

    def _make_shards(self, node: Node, shards: ShardRanges, todo: Sequence[int], draft: StepDraft) -> None:
        """Make the shards `todo` and commit each to the draft as soon as it is complete."""
        if not todo:
            return
        job = step_job_of(node, self.store, self.manifests)
        if node.model_spec is not None:
            self._converse(node, ShardWorker(job), ((index, shards.table(index)) for index in todo), draft)
            return
        work = ShardTask(job, shards, job.step.prepare(job.lookups()))
        for index in self.executor.map(work, todo, draft.folder):
            self.watcher.advance(node.name, shards.rows(index))

    def _converse(
        self, node: Node, worker: ShardWorker, todo: Iterable[tuple[int, pa.Table]], draft: StepDraft
    ) -> None:
        """Put the rows to the step's model; shards may be complete in any order."""
        if self.asker is None or node.model_spec is None:
            raise TypeError("a step that puts prompts needs somebody who asks a model")
        open_shards: dict[int, ShardConversations] = {}

        def conversations() -> Iterator[tuple[tuple[int, int], Conversation]]:
            for index, table in todo:
                open_shards[index] = worker.conversations(table)
                for position, conversation in open_shards[index].conversations():
                    yield (index, position), conversation

        def record(place: tuple[int, int], outcome: list[Outcome] | str) -> None:
            index, position = place
            self.watcher.advance(node.name, 1)
            if open_shards[index].record_outcome(position, outcome):
                draft.commit_shard(index, open_shards.pop(index).build_shard())

        self.asker.converse(node.name, node.model_spec, conversations(), record)

    # --- count and commit

    def _commit(
        self,
        node: Node,
        draft: StepDraft,
        count: int,
        ends: Sequence[EndOfFile] = (),
        external_inputs: Mapping[str, str] | None = None,
    ) -> Manifest:
        """Add up the shards of a draft, commit it as the step, and check how many branches failed."""
        check_files_unchanged(node, Checksums(self.store.checksums).sha256_of)
        totals = StepTotals.add_up(node, draft, count, ends)
        manifest = totals.manifest(self._input_digests(node), external_inputs or {})
        manifest = draft.commit_step(manifest)
        tolerated, branches = self.limits.tolerated_failures, totals.branch_count()
        if totals.failure_count() > tolerated * branches:
            ledger = display_path(self.store.folder / "ledger.tsv")
            raise too_many_failures(node.name, totals.failed, branches, tolerated, ledger)
        return manifest

    # --- what the others share

    def _draft(self, node: Node, rows: int) -> StepDraft:
        """The draft of a node whose shards have `rows` rows each."""
        return self.store.draft(node.name, node.key, {"inputs": self._input_digests(node), "rows": rows})

    def _input_digests(self, node: Node) -> dict[str, str]:
        return {name: self.manifests[name].digest for name in node.upstream()}

    def _table(self, node: Node, step: Step, port: str) -> Table[Any]:
        files = port_files(node, port, self.store, self.manifests)
        if step.ports[port].mode != "lookup":
            check_union(node, port, plan_shards(files.row, files.parts, self.limits.shard_rows))
        table = files.load()
        table.window_bytes = self.limits.window_bytes
        return table

    @contextlib.contextmanager
    def _timed(self, name: str) -> Generator[None]:
        begin = time.perf_counter()
        reset_peak_memory(self.executor.processes())
        try:
            yield
        finally:
            seconds, megabytes = time.perf_counter() - begin, peak_memory_mb(self.executor.processes())
            self.times[name] = {"seconds": round(seconds, 4), "peak_memory_mb": megabytes}
            release_free_memory()


def _counted_now(step: Step) -> str:
    """What a repair says if nobody knows any more which votes a step had counted."""
    return ", with all votes that there are now" if step.external_inputs() else ""


def _check_votes_unchanged(node: Node, manifest: Manifest, damage: DamagedError) -> None:
    """StoreError if people's votes changed since a step that is damaged counted them: it would come out differently."""
    external = {} if isinstance(node.producer, Source) else dict(node.producer.external_inputs())
    if changes := describe_key_changes(manifest.external_inputs, external):
        raise StoreError(
            damage.what,
            where=damage.where,
            why=f"{damage.why}; it cannot be made again as it was: {'; '.join(changes)}",
            next=f"--refresh {node.name} makes it of what there is now; or restore {damage.where} from a backup",
        ) from damage


def _summary(manifest: Manifest) -> str:
    """The rows of a step and what it lost, in a line; the most frequent reasons where it lost a good part of them."""
    outcomes, reasons = Counter[str](), Counter[str]()
    for _, outcome, reason, count in manifest.counts:
        outcomes[outcome] += count
        if outcome in ("dropped", "failed"):
            reasons[reason] += count
    lost = [name for name in ("not_applicable", "dropped", "failed") if outcomes[name]]
    parts = [f"{outcomes[name]} {name.replace('_', ' ')}" for name in lost]
    line = ", ".join([count_phrase(manifest.rows, "row"), *parts])
    if len(reasons) < 2:
        return f"{line}: {next(iter(reasons))}" if reasons else line
    most = reasons.most_common(_NAMED_REASONS)
    rest = reasons.total() - sum(count for _, count in most)
    return f"{line}: {', '.join(f'{count} {reason}' for reason, count in most)}{f', {rest} more' if rest else ''}"
