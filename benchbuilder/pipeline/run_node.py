"""Making one node of the plan: read a source, run a step's shards, gather, and seal."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchbuilder.config import KindSpec, Recipe, RunSpec, display_path
from benchbuilder.core import (
    DataError,
    EndOfFile,
    Outcome,
    Problem,
    RecipeError,
    Table,
    UniqueIds,
    create_from_spec,
    row_class,
    schema_of,
)
from benchbuilder.models import Conversation, ConversationDriver
from benchbuilder.pipeline.accounting.shard import (
    OUTCOME_SCHEMA,
    Shard,
    account_gather,
    failed_row_ids,
    too_many_failures,
)
from benchbuilder.pipeline.cache_key import spec_key_inputs
from benchbuilder.pipeline.executors.base import Executor
from benchbuilder.pipeline.plan import Node, workers_of
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.read_source import read_source_shards
from benchbuilder.pipeline.shards.work import ShardRanges, ShardTask
from benchbuilder.pipeline.shards.work import plan_shards as cut_rows
from benchbuilder.pipeline.shards.worker import ShardConversations, ShardWorker, StepJob, TableFiles
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import StepDraft, Store
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.pipeline.totals import SourceFileCounts, StepShards, StepTotals
from benchbuilder.sources import Source
from benchbuilder.steps import Gather, Step

_CONVERSATION_ROWS = 1_000
"""Rows in a shard that is talked about with a model: each took a while, so they are committed in small shards."""


@dataclass(frozen=True)
class ShardLimits:
    """How large shards are, in rows and in bytes before compression, and what share of branches may fail."""

    shard_rows: int
    shard_bytes: int
    tolerated_failures: float

    @classmethod
    def of_recipe(cls, recipe: Recipe) -> ShardLimits:
        """Those of a recipe: the shards that are at work at the same time fit what memory it grants."""
        run = recipe.run
        return cls(
            run.shard_rows, run.memory_mb * 1_000_000 // (workers_of(run) * _GROWTH), recipe.tolerate.failed_rows
        )


_GROWTH = 16
"""How many times the bytes of its rows in a file a shard may take while it is at work, as Python objects."""


def create_executor(run: RunSpec) -> Executor:
    """Who makes the shards."""
    executor: Executor = create_from_spec("executor", run.executor, workers_of(run))
    return executor


RowChooser = Callable[[ShardWorker | None, Iterable[pa.Table]], list[pa.Table]]
"""Takes some of the rows of the `each` port, which come piece by piece; a step that puts prompts has a worker."""


@dataclass
class NodeRunner:
    """What making needs: the store, the executor, the limits, somebody who watches, and the manifests so far."""

    store: Store
    executor: Executor
    limits: ShardLimits
    watcher: Watcher
    asker: ConversationDriver | None = None
    """Who asks models; needed if a step puts prompts."""
    choose_rows: RowChooser | None = None
    """Which rows the maps and filters work on; all if ``None``."""
    manifests: dict[str, Manifest] = field(default_factory=dict[str, Manifest])

    def run(self, node: Node) -> Manifest:
        """Make `node` and seal it."""
        if isinstance(node.producer, Source):
            return self._read(node, node.producer)
        observed = dict(node.producer.external_inputs())  # before it is read: what comes in later is told as late
        if isinstance(stage := _copy_step(node), Gather):
            draft = self._draft(node, 0)
            return self._commit(node, draft, StepShards.of_one(self._gather(node, stage, draft)), observed=observed)
        return self._commit(node, *self._run_shards(node), observed=observed)

    def _draft(self, node: Node, rows: int) -> StepDraft:
        """Where the shards of a node, of so many rows each, are put until it is sealed."""
        return self.store.draft(node.name, node.key, {"inputs": self.input_digests(node), "rows": rows})

    def input_digests(self, node: Node) -> dict[str, str]:
        """The digest of each input."""
        return {name: self.manifests[name].digest for name in node.upstream()}

    def _files(self, node: Node, port: str) -> TableFiles:
        return port_files(node, port, self.store, self.manifests)

    # --- sources

    def _read(self, node: Node, source: Source) -> Manifest:
        name, limits, draft = source.name, self.limits, self._draft(node, 0)
        self.watcher.begin(name, None, "units")
        count, ends = read_source_shards(
            source,
            limits.shard_rows,
            limits.shard_bytes,
            draft.commit_shard,
            lambda units: self.watcher.advance(name, units),
        )
        return self._commit(node, draft, _draft_shards(draft, count, node), ends)

    # --- steps

    def _rows_a_shard(self, node: Node) -> int:
        return self.limits.shard_rows if node.model_spec is None else min(self.limits.shard_rows, _CONVERSATION_ROWS)

    def _plan_shards(self, node: Node) -> ShardRanges:
        """The rows of a map or filter, cut into shards."""
        names, files = node.inputs["each"], self._files(node, "each")
        cut = cut_rows(files.row, files.parts, self._rows_a_shard(node), self.limits.shard_bytes)
        if len(names) > 1:
            _check_union(node, "each", names, cut)
        return cut

    def _choose_rows(self, node: Node, cut: ShardRanges, choose: RowChooser, draft: StepDraft) -> ShardRanges:
        """Some of the rows alone."""
        asking = None if node.model_spec is None else ShardWorker(step_job_of(node, self.store, self.manifests))
        chosen = choose(asking, (cut.table(index) for index in range(len(cut))))
        table = pa.concat_tables([schema_of(row_class(cut.row)).empty_table(), *chosen])
        return _write_and_cut(table, draft.folder / "chosen.parquet", cut.row, self._rows_a_shard(node))

    def _run_shards(self, node: Node) -> tuple[StepDraft, StepShards]:
        cut = self._plan_shards(node)
        draft = self._draft(node, cut.rows(0) if len(cut) else 0)
        if self.choose_rows is not None:
            cut = self._choose_rows(node, cut, self.choose_rows, draft)
        self.watcher.begin(node.name, cut.total(), "rows")
        todo: list[int] = []
        for index in range(len(cut)):
            if draft.has_shard(index):
                self.watcher.advance(node.name, cut.rows(index))
            else:
                todo.append(index)
        self._shards(node, cut, todo, draft)
        return draft, _draft_shards(draft, len(cut), node)

    def _shards(self, node: Node, cut: ShardRanges, todo: list[int], draft: StepDraft) -> None:
        """Make shards, each committed to the draft as it is done."""
        if not todo:
            return
        job, spec = step_job_of(node, self.store, self.manifests), node.model_spec
        if spec is not None:
            self._converse(job, spec, ((index, cut.table(index)) for index in todo), draft.commit_shard)
            return
        work = ShardTask(job, cut, job.stage.prepare(job.lookups()))
        for index in self.executor.map(work, todo, draft.folder):
            self.watcher.advance(node.name, cut.rows(index))

    def _converse(
        self, job: StepJob, spec: KindSpec, todo: Iterable[tuple[int, pa.Table]], commit: Callable[[int, Shard], None]
    ) -> None:
        """Talk about the rows with the step's model; shards may end in any order."""
        if self.asker is None:
            raise TypeError("a step that puts prompts needs somebody who asks a model")
        worker, step = ShardWorker(job), job.stage.context.step
        talks: dict[int, ShardConversations] = {}

        def starts() -> Iterator[tuple[tuple[int, int], Conversation]]:
            for index, table in todo:
                talks[index] = worker.conversations(table)
                for place, conversation in talks[index].conversations():
                    yield (index, place), conversation

        def done(item: tuple[int, int], outcome: list[Outcome] | str) -> None:
            index, place = item
            self.watcher.advance(step, 1)
            if talks[index].record_outcome(place, outcome):
                commit(index, talks.pop(index).build_shard())

        self.asker.converse(step, spec, starts(), done)

    def _gather(self, node: Node, stage: Gather, draft: StepDraft) -> Shard:
        tables = {port: self._table(node, stage, port) for port in node.inputs}
        self.watcher.begin(node.name, len(tables["each"]), "rows")
        lookups = {port: table for port, table in tables.items() if stage.ports[port].mode == "lookup"}
        stage.prepare(lookups)
        stage.open(lookups)
        shard = account_gather(stage, tables, stage.gather(tables), node.row)
        draft.commit_shard(0, shard)
        return shard

    def _table(self, node: Node, stage: Gather, port: str) -> Table[Any]:
        files, names = self._files(node, port), node.inputs[port]
        if stage.ports[port].mode == "lookup":
            return files.load()
        if len(names) > 1:
            _check_union(node, port, names, cut_rows(files.row, files.parts, self.limits.shard_rows))
        return replace(files, cache=None).load()

    # --- failures

    def retry_failed(self, node: Node, previous: Manifest) -> Manifest:
        """Run the rows of a partial step that failed, and put the outcome in their places; a gather runs whole."""
        if isinstance(node.producer, Gather):
            return self.run(node)
        old_rows, previous_outcomes = self.store.rows(previous), self.store.outcomes(previous)
        failed = failed_row_ids(previous_outcomes)
        files = self._files(node, "each")
        each = cut_rows(files.row, files.parts, self.limits.shard_rows, self.limits.shard_bytes)
        wanted, tables = pa.array(sorted(failed), pa.string()), (each.table(index) for index in range(len(each)))
        again = pa.concat_tables([table.filter(pc.is_in(table.column("id"), wanted)) for table in tables])
        self.watcher.begin(node.name, again.num_rows, "rows")
        tallies = Counter({(tally, partition, key): n for tally, partition, key, n in previous.tallies})
        old = Shard(old_rows, previous_outcomes, tallies, previous.notes)
        draft = self.store.draft(node.name, node.key, {"retry of": previous.digest})
        cut = _write_and_cut(again, draft.folder / "again.parquet", files.row, again.num_rows)
        self._shards(node, cut, list(range(len(cut))), draft)
        fresh = draft.load_shard(0, node.row)
        merged = _merge([str(row) for table in each.columns("id") for row in table.column("id").to_pylist()],
                        failed, old, fresh)  # fmt: skip
        draft.commit_shard(0, merged)
        return self._commit(node, draft, StepShards.of_one(merged), observed=previous.external_inputs)

    # --- sealing

    def _commit(
        self, node: Node, draft: StepDraft, shards: StepShards, ends: Sequence[EndOfFile] = (),
        observed: Mapping[str, str] | None = None,
    ) -> Manifest:  # fmt: skip
        self._check_unchanged(node)
        books = StepTotals.add_up(
            node, shards, SourceFileCounts(node.producer, ends) if isinstance(node.producer, Source) else None
        )
        manifest = books.manifest(self.input_digests(node), shards.count, ends, observed or {})
        draft.commit_step(manifest)
        if books.failure_count() > self.limits.tolerated_failures * books.branch_count():
            ledger = display_path(self.store.folder / "ledger.tsv")
            raise too_many_failures(
                node.name, books.failed, books.branch_count(), self.limits.tolerated_failures, ledger
            )
        return manifest

    def _check_unchanged(self, node: Node) -> None:
        """The files that the node was to read are still those that its key was made of; DataError otherwise."""
        memory = Checksums(self.store.checksums)
        if isinstance(node.producer, Source):
            now = {f"file {ref.path}": memory.sha256_of(ref.file) for ref in node.producer.files()}
        else:
            now = {
                name: part
                for name, part in spec_key_inputs(node.producer.spec, memory.sha256_of).items()
                if name.startswith("file ")
            }
        gone = [name for name, part in node.key_inputs.items() if name.startswith("file ") and part and name not in now]
        changed = gone + [name for name, part in now.items() if node.key_inputs.get(name) != part]
        if changed:
            raise DataError(
                f"{', '.join(changed)} of {node.name!r} changed while it was read",
                why="what was made of it would count as made of the file as it is now",
                next="give the same command again",
            )


def step_job_of(node: Node, store: Store, manifests: Mapping[str, Manifest]) -> StepJob:
    """The job of a map or filter whose inputs are sealed in `store`."""
    ports = {port: port_files(node, port, store, manifests) for port in node.inputs if port != "each"}
    return StepJob(_copy_step(node), ports, manifests[node.inputs["each"][0]].row, node.row_name)


def port_files(node: Node, port: str, store: Store, manifests: Mapping[str, Manifest]) -> TableFiles:
    """The union of the rows that come into a port, as files."""
    names = node.inputs[port]
    parts = [part for name in names for part in store.parts(manifests[name])]
    return TableFiles(manifests[names[0]].row, tuple(parts), store.cache.absolute())


def _copy_step(node: Node) -> Step:
    """The stage of a step, to be opened: a copy, as the plan lives on and what a stage opens goes with it."""
    if isinstance(node.producer, Source):
        raise TypeError(f"{node.name} is a source")
    return copy.copy(node.producer)


def _draft_shards(draft: StepDraft, count: int, node: Node) -> StepShards:
    return StepShards(lambda index: draft.load_shard(index, node.row), count, *draft.row_counts(count))


def _write_and_cut(table: pa.Table, path: Path, row: str, rows: int) -> ShardRanges:
    """Rows that are in memory, in a file and cut."""
    pq.write_table(table, path)
    return cut_rows(row, (path,), rows)


def _check_union(node: Node, port: str, names: tuple[str, ...], cut: ShardRanges) -> None:
    """A row that comes in twice would have two outcomes: RecipeError."""
    unique = UniqueIds()
    for table in cut.columns("id"):
        unique.add(table.column("id"))
    if not (twice := unique.duplicates()):
        return
    raise RecipeError(
        [
            Problem(
                f"the same row comes in twice, for instance {min(twice)}",
                key=f"steps.{node.name}.from.{port}",
                actual=", ".join(names),
                hint="two of these steps pass on the same rows: wire one of them, or branches that share no row",
            )
        ]
    )


def _merge(order: list[str], failed: set[str], old: Shard, fresh: Shard) -> Shard:
    """Rows and outcomes of `fresh` in the places of the failed rows of `old`, in the order of the `each` rows."""
    outcomes = [f for f in old.outcomes.to_pylist() if f["row"] not in failed] + fresh.outcomes.to_pylist()
    position = {row_id: index for index, row_id in enumerate(order)}
    outcomes.sort(key=lambda outcome: position[outcome["row"]])
    rows = {row["id"]: row for table in (old.rows, fresh.rows) for row in table.arrow.to_pylist()}
    kept = [rows[outcome["out"]] for outcome in outcomes if outcome["out"]]
    table = pa.Table.from_pylist(kept, schema=schema_of(old.rows.row))
    books = old.tallies + fresh.tallies, old.notes | fresh.notes
    return Shard(Table(table, old.rows.row), pa.Table.from_pylist(outcomes, schema=OUTCOME_SCHEMA), *books)
