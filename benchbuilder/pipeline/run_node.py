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

from benchbuilder.config.search_path import shown
from benchbuilder.config.spec.base import KindSpec
from benchbuilder.config.spec.recipe import Recipe, RunSpec
from benchbuilder.core.errors import DataError, Problem, RecipeError
from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.arrow.unique_ids import Unique
from benchbuilder.core.records.outcomes import EndOfFile, Fate
from benchbuilder.core.registry import create, row_class
from benchbuilder.models.asker import Asker
from benchbuilder.models.conversation import Conversation
from benchbuilder.pipeline.accounting.shard import FATES, Shard, failed_rows, settle_gather, too_many
from benchbuilder.pipeline.accounting.totals import Books, Files, Shards
from benchbuilder.pipeline.cache_key import spec_parts
from benchbuilder.pipeline.executors.base import Executor
from benchbuilder.pipeline.plan import Node, workers_of
from benchbuilder.pipeline.progress import Watcher
from benchbuilder.pipeline.read_source import take_in
from benchbuilder.pipeline.shards.work import Cut, ShardWork
from benchbuilder.pipeline.shards.work import cut as cut_rows
from benchbuilder.pipeline.shards.worker import Job, TableFiles, Talk, Worker
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Draft, Store
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.sources.base import Source
from benchbuilder.steps.base import Gather, Stage

_TALK_ROWS = 1_000
"""Rows in a shard that is talked about with a model: each took a while, so they are committed in small shards."""


@dataclass(frozen=True)
class Limits:
    """How large shards are, in rows and in bytes before compression, and what share of tickets may fail."""

    shard_rows: int
    shard_bytes: int
    tolerated: float

    @classmethod
    def of(cls, recipe: Recipe) -> Limits:
        """Those of a recipe: the shards that are at work at the same time fit what memory it grants."""
        run = recipe.run
        return cls(
            run.shard_rows, run.memory_mb * 1_000_000 // (workers_of(run) * _GROWTH), recipe.tolerate.failed_rows
        )


_GROWTH = 16
"""How many times the bytes of its rows in a file a shard may take while it is at work, as Python objects."""


def executor_of(run: RunSpec) -> Executor:
    """Who makes the shards."""
    executor: Executor = create("executor", run.executor, workers_of(run))
    return executor


Chooser = Callable[[Worker | None, Iterable[pa.Table]], list[pa.Table]]
"""Takes some of the rows of the `each` port, which come piece by piece; a step that puts prompts has a worker."""


@dataclass
class Workshop:
    """What making needs: the store, the executor, the limits, somebody who watches, and the manifests so far."""

    store: Store
    executor: Executor
    limits: Limits
    watcher: Watcher
    asker: Asker | None = None
    """Who asks models; needed if a step puts prompts."""
    choose: Chooser | None = None
    """Which rows the maps and filters work on; all if ``None``."""
    manifests: dict[str, Manifest] = field(default_factory=dict[str, Manifest])

    def make(self, node: Node) -> Manifest:
        """Make `node` and seal it."""
        if isinstance(node.maker, Source):
            return self._read(node, node.maker)
        observed = dict(node.maker.observes())  # before it is read: what comes in later is told as late
        if isinstance(stage := _stage(node), Gather):
            draft = self._draft(node, 0)
            return self._seal(node, draft, Shards.held(self._gather(node, stage, draft)), observed=observed)
        return self._seal(node, *self._run(node), observed=observed)

    def _draft(self, node: Node, rows: int) -> Draft:
        """Where the shards of a node, of so many rows each, are put until it is sealed."""
        return self.store.draft(node.name, node.key, {"inputs": self.digests(node), "rows": rows})

    def digests(self, node: Node) -> dict[str, str]:
        """The digest of each input."""
        return {name: self.manifests[name].digest for name in node.upstream()}

    def _files(self, node: Node, port: str) -> TableFiles:
        return port_files(node, port, self.store, self.manifests)

    # --- sources

    def _read(self, node: Node, source: Source) -> Manifest:
        name, limits, draft = source.name, self.limits, self._draft(node, 0)
        self.watcher.begin(name, None, "units")
        count, ends = take_in(
            source, limits.shard_rows, limits.shard_bytes, draft.commit, lambda units: self.watcher.advance(name, units)
        )
        return self._seal(node, draft, _drafted(draft, count, node), ends)

    # --- steps

    def _rows_a_shard(self, node: Node) -> int:
        return self.limits.shard_rows if node.asks is None else min(self.limits.shard_rows, _TALK_ROWS)

    def _cut(self, node: Node) -> Cut:
        """The rows of a map or filter, cut into shards."""
        names, files = node.inputs["each"], self._files(node, "each")
        cut = cut_rows(files.row, files.parts, self._rows_a_shard(node), self.limits.shard_bytes)
        if len(names) > 1:
            _check_union(node, "each", names, cut)
        return cut

    def _chosen(self, node: Node, cut: Cut, choose: Chooser, draft: Draft) -> Cut:
        """Some of the rows alone."""
        asking = None if node.asks is None else Worker(job_of(node, self.store, self.manifests))
        chosen = choose(asking, (cut.table(index) for index in range(len(cut))))
        table = pa.concat_tables([schema_of(row_class(cut.row)).empty_table(), *chosen])
        return _filed(table, draft.folder / "chosen.parquet", cut.row, self._rows_a_shard(node))

    def _run(self, node: Node) -> tuple[Draft, Shards]:
        cut = self._cut(node)
        draft = self._draft(node, cut.rows(0) if len(cut) else 0)
        if self.choose is not None:
            cut = self._chosen(node, cut, self.choose, draft)
        self.watcher.begin(node.name, cut.total(), "rows")
        todo: list[int] = []
        for index in range(len(cut)):
            if draft.committed(index):
                self.watcher.advance(node.name, cut.rows(index))
            else:
                todo.append(index)
        self._shards(node, cut, todo, draft)
        return draft, _drafted(draft, len(cut), node)

    def _shards(self, node: Node, cut: Cut, todo: list[int], draft: Draft) -> None:
        """Make shards, each committed to the draft as it is done."""
        if not todo:
            return
        job, spec = job_of(node, self.store, self.manifests), node.asks
        if spec is not None:
            self._converse(job, spec, ((index, cut.table(index)) for index in todo), draft.commit)
            return
        work = ShardWork(job, cut, job.stage.prepare(job.lookups()))
        for index in self.executor.map(work, todo, draft.folder):
            self.watcher.advance(node.name, cut.rows(index))

    def _converse(
        self, job: Job, spec: KindSpec, todo: Iterable[tuple[int, pa.Table]], commit: Callable[[int, Shard], None]
    ) -> None:
        """Talk about the rows with the step's model; shards may end in any order."""
        if self.asker is None:
            raise TypeError("a step that puts prompts needs somebody who asks a model")
        worker, step = Worker(job), job.stage.context.step
        talks: dict[int, Talk] = {}

        def starts() -> Iterator[tuple[tuple[int, int], Conversation]]:
            for index, table in todo:
                talks[index] = worker.talk(table)
                for place, conversation in talks[index].conversations():
                    yield (index, place), conversation

        def done(item: tuple[int, int], outcome: list[Fate] | str) -> None:
            index, place = item
            self.watcher.advance(step, 1)
            if talks[index].end(place, outcome):
                commit(index, talks.pop(index).settle())

        self.asker.converse(step, spec, starts(), done)

    def _gather(self, node: Node, stage: Gather, draft: Draft) -> Shard:
        tables = {port: self._table(node, stage, port) for port in node.inputs}
        self.watcher.begin(node.name, len(tables["each"]), "rows")
        lookups = {port: table for port, table in tables.items() if stage.ports[port].mode == "lookup"}
        stage.prepare(lookups)
        stage.open(lookups)
        shard = settle_gather(stage, tables, stage.gather(tables), node.row)
        draft.commit(0, shard)
        return shard

    def _table(self, node: Node, stage: Gather, port: str) -> Table[Any]:
        files, names = self._files(node, port), node.inputs[port]
        if stage.ports[port].mode == "lookup":
            return files.load()
        if len(names) > 1:
            _check_union(node, port, names, cut_rows(files.row, files.parts, self.limits.shard_rows))
        return replace(files, cache=None).load()

    # --- failures

    def retry(self, node: Node, before: Manifest) -> Manifest:
        """Run the rows of a partial step that failed, and put the outcome in their places; a gather runs whole."""
        if isinstance(node.maker, Gather):
            return self.make(node)
        old_rows, old_fates = self.store.rows(before), self.store.fates(before)
        failed = failed_rows(old_fates)
        files = self._files(node, "each")
        each = cut_rows(files.row, files.parts, self.limits.shard_rows, self.limits.shard_bytes)
        wanted, tables = pa.array(sorted(failed), pa.string()), (each.table(index) for index in range(len(each)))
        again = pa.concat_tables([table.filter(pc.is_in(table.column("id"), wanted)) for table in tables])
        self.watcher.begin(node.name, again.num_rows, "rows")
        tallies = Counter({(tally, partition, key): n for tally, partition, key, n in before.tallies})
        old = Shard(old_rows, old_fates, tallies, before.notes)
        draft = self.store.draft(node.name, node.key, {"retry of": before.digest})
        cut = _filed(again, draft.folder / "again.parquet", files.row, again.num_rows)
        self._shards(node, cut, list(range(len(cut))), draft)
        fresh = draft.load(0, node.row)
        merged = _merge([str(row) for table in each.columns("id") for row in table.column("id").to_pylist()],
                        failed, old, fresh)  # fmt: skip
        draft.commit(0, merged)
        return self._seal(node, draft, Shards.held(merged), observed=before.observed)

    # --- sealing

    def _seal(
        self, node: Node, draft: Draft, shards: Shards, ends: Sequence[EndOfFile] = (),
        observed: Mapping[str, str] | None = None,
    ) -> Manifest:  # fmt: skip
        self._unchanged(node)
        books = Books.of(node, shards, Files(node.maker, ends) if isinstance(node.maker, Source) else None)
        manifest = books.manifest(self.digests(node), shards.count, ends, observed or {})
        draft.seal(manifest)
        if books.failures() > self.limits.tolerated * books.tickets():
            ledger = shown(self.store.folder / "ledger.tsv")
            raise too_many(node.name, books.failed, books.tickets(), self.limits.tolerated, ledger)
        return manifest

    def _unchanged(self, node: Node) -> None:
        """The files that the node was to read are still those that its key was made of; DataError otherwise."""
        memory = Checksums(self.store.checksums)
        if isinstance(node.maker, Source):
            now = {f"file {ref.path}": memory.of(ref.file) for ref in node.maker.files()}
        else:
            now = {
                name: part for name, part in spec_parts(node.maker.spec, memory.of).items() if name.startswith("file ")
            }
        gone = [name for name, part in node.asked.items() if name.startswith("file ") and part and name not in now]
        changed = gone + [name for name, part in now.items() if node.asked.get(name) != part]
        if changed:
            raise DataError(
                f"{', '.join(changed)} of {node.name!r} changed while it was read",
                why="what was made of it would count as made of the file as it is now",
                next="give the same command again",
            )


def job_of(node: Node, store: Store, manifests: Mapping[str, Manifest]) -> Job:
    """The job of a map or filter whose inputs are sealed in `store`."""
    ports = {port: port_files(node, port, store, manifests) for port in node.inputs if port != "each"}
    return Job(_stage(node), ports, manifests[node.inputs["each"][0]].row, node.row_name)


def port_files(node: Node, port: str, store: Store, manifests: Mapping[str, Manifest]) -> TableFiles:
    """The union of the rows that come into a port, as files."""
    names = node.inputs[port]
    parts = [part for name in names for part in store.parts(manifests[name])]
    return TableFiles(manifests[names[0]].row, tuple(parts), store.cache.absolute())


def _stage(node: Node) -> Stage:
    """The stage of a step, to be opened: a copy, as the plan lives on and what a stage opens goes with it."""
    if isinstance(node.maker, Source):
        raise TypeError(f"{node.name} is a source")
    return copy.copy(node.maker)


def _drafted(draft: Draft, count: int, node: Node) -> Shards:
    return Shards(lambda index: draft.load(index, node.row), count, *draft.rows(count))


def _filed(table: pa.Table, path: Path, row: str, rows: int) -> Cut:
    """Rows that are in memory, in a file and cut."""
    pq.write_table(table, path)
    return cut_rows(row, (path,), rows)


def _check_union(node: Node, port: str, names: tuple[str, ...], cut: Cut) -> None:
    """A row that comes in twice would have two fates: RecipeError."""
    unique = Unique()
    for table in cut.columns("id"):
        unique.take(table.column("id"))
    if not (twice := unique.twice()):
        return
    raise RecipeError(
        [
            Problem(
                f"the same row comes in twice, for instance {min(twice)}",
                key=f"steps.{node.name}.from.{port}",
                found=", ".join(names),
                hint="two of these steps pass on the same rows: wire one of them, or branches that share no row",
            )
        ]
    )


def _merge(order: list[str], failed: set[str], old: Shard, fresh: Shard) -> Shard:
    """Rows and fates of `fresh` in the places of the failed rows of `old`, in the order of the `each` rows."""
    fates = [f for f in old.fates.to_pylist() if f["row"] not in failed] + fresh.fates.to_pylist()
    position = {row_id: index for index, row_id in enumerate(order)}
    fates.sort(key=lambda fate: position[fate["row"]])
    rows = {row["id"]: row for table in (old.rows, fresh.rows) for row in table.arrow.to_pylist()}
    kept = [rows[fate["out"]] for fate in fates if fate["out"]]
    table = pa.Table.from_pylist(kept, schema=schema_of(old.rows.row))
    books = old.tallies + fresh.tallies, old.notes | fresh.notes
    return Shard(Table(table, old.rows.row), pa.Table.from_pylist(fates, schema=FATES), *books)
