"""Making one node of the plan: read a source, run a step's shards, gather, and seal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.accounts import (
    FATES,
    Shard,
    check_unique,
    count_by,
    failed_rows,
    fate_line,
    matching,
    settle_gather,
    too_many,
)
from benchbuilder.errors import AccountsError, DataError, Problem, RecipeError
from benchbuilder.executors.local import LocalExecutor
from benchbuilder.identity import spec_parts
from benchbuilder.kinds import row_class
from benchbuilder.plan import Node
from benchbuilder.ports.asker import Asker
from benchbuilder.ports.source import Source
from benchbuilder.ports.stage import Conversation, Gather, Stage
from benchbuilder.progress import Watcher
from benchbuilder.records.envelope import Origin, Row
from benchbuilder.records.fates import EndOfFile, Fate, Kept, Unit
from benchbuilder.records.table import Table, schema_of
from benchbuilder.roots import shown
from benchbuilder.shards import Job, TableFiles, Talk, Worker
from benchbuilder.spec.base import KindSpec
from benchbuilder.store.checksums import Checksums
from benchbuilder.store.digest import digest_of
from benchbuilder.store.folder import Draft, Store
from benchbuilder.store.manifest import Manifest, counted

_UNITS = 10_000
_TALK_ROWS = 1_000
"""Rows in a shard that is talked about with a model: each took a while, so they are committed in small shards."""


Chooser = Callable[[Worker | None, pa.Table], pa.Table]
"""Takes some of the rows of the `each` port; there is a worker where a step puts prompts."""


@dataclass
class Workshop:
    """What making needs: the store, the executor, the limits, somebody who watches, and the manifests so far."""

    store: Store
    executor: LocalExecutor
    shard_rows: int
    tolerated: float
    watcher: Watcher
    asker: Asker | None = None
    """Who asks models; needed if a step puts prompts."""
    choose: Chooser | None = None
    """Which rows the maps and filters work on; all if ``None``."""
    manifests: dict[str, Manifest] = field(default_factory=dict[str, Manifest])

    def make(self, node: Node) -> Manifest:
        """Make `node` and seal it."""
        shape = {"inputs": self.digests(node), "rows": self._rows_a_shard(node)}
        draft = self.store.draft(node.name, node.key, shape)
        if isinstance(node.maker, Source):
            return self._seal(node, draft, *self._read(node.maker, draft))
        observed = dict(node.maker.observes())  # before it is read: what comes in later is told as late
        shards = [self._gather(node, node.maker, draft)] if isinstance(node.maker, Gather) else self._run(node, draft)
        return self._seal(node, draft, shards, observed=observed)

    def digests(self, node: Node) -> dict[str, str]:
        """The digest of each input."""
        return {name: self.manifests[name].digest for name in node.upstream()}

    def table(self, names: tuple[str, ...], row: type[Row]) -> Table[Any]:
        """The union of the rows of `names`, in that order."""
        return Table.concat((self.store.rows(self.manifests[name]) for name in names), row)

    def _port(self, node: Node, port: str) -> Table[Any]:
        names = node.inputs[port]
        table = self.table(names, row_class(self.manifests[names[0]].row))
        if len(names) > 1 and _stage(node).ports[port].mode in ("each", "whole"):
            _check_union(node, port, names, table)
        return table

    # --- sources

    def _read(self, source: Source, draft: Draft) -> tuple[list[Shard], list[EndOfFile]]:
        name = source.name
        self.watcher.begin(name, None, "units")
        reading = _Reading(source)
        ends: list[EndOfFile] = []
        shards: list[Shard] = []

        def commit() -> None:
            shards.append(reading.shard())
            draft.commit(len(shards) - 1, shards[-1])

        for unit in source.read():
            if isinstance(unit, EndOfFile):
                ends.append(unit)
                continue
            reading.take(unit)
            if reading.units % _UNITS == 0:
                self.watcher.advance(name, _UNITS)
            if reading.units % self.shard_rows == 0:
                commit()
        if not shards or reading.units % self.shard_rows:
            commit()
        _check_files(source, shards, ends)
        return shards, ends

    # --- steps

    def _rows_a_shard(self, node: Node) -> int:
        return self.shard_rows if node.asks is None else min(self.shard_rows, _TALK_ROWS)

    def _run(self, node: Node, draft: Draft) -> list[Shard]:
        each, rows = self._port(node, "each").arrow, self._rows_a_shard(node)
        if self.choose is not None:
            asking = None if node.asks is None else Worker(job_of(node, self.store, self.manifests))
            each = self.choose(asking, each)
        self.watcher.begin(node.name, each.num_rows, "rows")
        starts = range(0, each.num_rows, rows)
        done = [index for index in range(len(starts)) if draft.committed(index)]
        todo = [(index, each.slice(start, rows)) for index, start in enumerate(starts) if index not in done]
        for index in done:
            self.watcher.advance(node.name, min(rows, each.num_rows - starts[index]))
        self._shards(node, todo, draft.commit)
        return [draft.load(index, node.row) for index in range(len(starts))]

    def _shards(self, node: Node, todo: list[tuple[int, pa.Table]], commit: Callable[[int, Shard], None]) -> None:
        """Make shards and hand each to `commit` as it is done."""
        if not todo:
            return
        job, spec = job_of(node, self.store, self.manifests), node.asks
        if spec is not None:
            self._converse(job, spec, todo, commit)
            return
        for index, shard in self.executor.map(job, todo):
            commit(index, shard)
            self.watcher.advance(node.name, dict(todo)[index].num_rows)

    def _converse(
        self, job: Job, spec: KindSpec, todo: list[tuple[int, pa.Table]], commit: Callable[[int, Shard], None]
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
        tables = {port: self._port(node, port) for port in node.inputs}
        self.watcher.begin(node.name, len(tables["each"]), "rows")
        stage.open({port: table for port, table in tables.items() if stage.ports[port].mode == "lookup"})
        shard = settle_gather(stage, tables, stage.gather(tables), node.row)
        draft.commit(0, shard)
        return shard

    # --- failures

    def retry(self, node: Node, before: Manifest) -> Manifest:
        """Run the rows of a partial step that failed, and put the outcome in their places; a gather runs whole."""
        if isinstance(node.maker, Gather):
            return self.make(node)
        old_rows, old_fates = self.store.rows(before), self.store.fates(before)
        failed = failed_rows(old_fates)
        each = self._port(node, "each").arrow
        again = each.filter(pc.is_in(each.column("id"), pa.array(sorted(failed), pa.string())))
        self.watcher.begin(node.name, again.num_rows, "rows")
        tallies = Counter({(tally, partition, key): n for tally, partition, key, n in before.tallies})
        old = Shard(old_rows, old_fates, tallies, before.notes)
        fresh: dict[int, Shard] = {}
        self._shards(node, [(0, again)], fresh.__setitem__)
        merged = _merge([str(row) for row in each.column("id").to_pylist()], failed, old, fresh[0])
        draft = self.store.draft(node.name, node.key, {"retry of": before.digest})
        draft.commit(0, merged)
        return self._seal(node, draft, [merged], observed=before.observed)

    # --- sealing

    def _seal(
        self, node: Node, draft: Draft, shards: list[Shard], ends: list[EndOfFile] | None = None,
        observed: Mapping[str, str] | None = None,
    ) -> Manifest:  # fmt: skip
        self._unchanged(node)
        rows = Table.concat((shard.rows for shard in shards), node.row)
        check_unique(node.name, rows.arrow.column("id"))
        counts, tallies = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
        notes: dict[str, Any] = {}
        for shard in shards:
            counts += shard.counts()
            tallies.update(shard.tallies)  # keeps zeros, which `+=` would drop
            notes |= shard.notes
        failed = sum(n for (_, fate, _), n in counts.items() if fate == "failed")
        manifest = Manifest(
            step=node.name,
            kind=node.kind,
            row=node.row_name,
            key=node.key,
            asked=dict(node.asked),
            inputs=self.digests(node),
            digest=digest_of(rows.arrow),
            fates=digest_of(pa.concat_tables([FATES.empty_table(), *(shard.fates for shard in shards)])),
            rows=len(rows),
            shards=len(shards),
            counts=counted(counts),
            unused=counted(_counted_in(shards, ("port", "partition", "reason"), "unused")),
            units=counted(_counted_in(shards, ("file", "fate", "reason"))) if isinstance(node.maker, Source) else (),
            auxiliary=tuple(
                (end.file, "auxiliary", what, n)
                for end in ends or ()
                for what, n in sorted((end.auxiliary or {}).items())
            ),
            tallies=counted(tallies),
            notes=notes,
            observed=dict(observed or {}),
            reasons=dict(node.maker.reasons),
            state="partial" if failed else "sealed",
        )
        draft.seal(manifest)
        if failed > self.tolerated * sum(counts.values()):
            ledger = shown(self.store.folder / "ledger.tsv")
            raise too_many(node.name, [shard.fates for shard in shards], sum(counts.values()), self.tolerated, ledger)
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
        changed = [name for name, part in now.items() if node.asked.get(name) != part]
        if changed:
            raise DataError(
                f"{', '.join(changed)} of {node.name!r} changed while it was read",
                why="what was made of it would count as made of the file as it is now",
                next="give the same command again",
            )


def job_of(node: Node, store: Store, manifests: Mapping[str, Manifest]) -> Job:
    """The job of a map or filter whose inputs are sealed in `store`."""
    ports = {
        port: TableFiles(
            manifests[names[0]].row,
            tuple(
                store.place(name, manifests[name].key) / f"part-{index:05d}.parquet"
                for name in names
                for index in range(manifests[name].shards)
            ),
        )
        for port, names in node.inputs.items()
        if port != "each"
    }
    return Job(_stage(node), ports, manifests[node.inputs["each"][0]].row, node.row_name)


def _stage(node: Node) -> Stage:
    if isinstance(node.maker, Source):
        raise TypeError(f"{node.name} is a source")
    return node.maker


class _Reading:
    """Units of a source on their way into shards: Arrow early, for a source may have millions."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows: list[Row] = []
        self._lines: list[dict[str, Any]] = []
        self._done: list[tuple[pa.Table, pa.Table]] = []
        self.units = 0

    def take(self, unit: Unit) -> None:
        """Write down one unit."""
        fate = unit.fate
        if isinstance(fate, Kept):
            if (fate.row.origin.file, fate.row.origin.line) != (unit.file, unit.line):
                raise _refuse_source(self._source, f"makes a row of {fate.row.origin} from {unit.file}:{unit.line}",
                                     "a row names the unit that it was read from")  # fmt: skip
            self._rows.append(fate.row)
            self._lines.append(fate_line("file", fate.row, fate) | {"row": ""})
        else:
            if fate.reason not in self._source.reasons:
                raise _refuse_source(
                    self._source,
                    f"drops {unit.file}:{unit.line} for the undeclared reason {fate.reason!r}",
                    f"declared: {', '.join(self._source.reasons)}",
                )
            place = Origin(file=unit.file, line=unit.line)
            envelope = {"id": "", "partition": self._source.name, "origin": place.model_dump()}
            self._lines.append(fate_line("file", envelope, fate))
        self.units += 1
        if len(self._lines) >= _UNITS:
            self._pack()

    def _pack(self) -> None:
        rows = Table.of(self._rows, self._source.output).arrow
        self._done.append((rows, pa.Table.from_pylist(self._lines, schema=FATES)))
        self._rows, self._lines = [], []

    def shard(self) -> Shard:
        """What was taken since the last shard."""
        self._pack()
        rows, fates = (pa.concat_tables(tables) for tables in zip(*self._done, strict=True))
        self._done = []
        return Shard(Table(rows, self._source.output), fates)


def _refuse_source(source: Source, what: str, why: str) -> AccountsError:
    return AccountsError(
        f"source {source.name!r} {what}", why=why, next="this is a bug in the source's kind: report it"
    )


def _check_files(source: Source, shards: list[Shard], ends: list[EndOfFile]) -> None:
    """Every file reached its end, and its units are as many as the fates that were written down, each once."""
    places = pa.concat_tables(shard.fates.select(["file", "line"]) for shard in shards)
    seen = Counter(dict(_pairs(places.group_by("file").aggregate([([], "count_all")]))))
    distinct = Counter(dict(_pairs(places.group_by("file").aggregate([("line", "count_distinct")]))))
    ended = {end.file: end.units for end in ends if end.auxiliary is None}
    auxiliary = {end.file for end in ends if end.auxiliary is not None}
    for file in sorted({*seen, *ended, *(ref.path for ref in source.files())} - auxiliary):
        if seen[file] != ended.get(file, -1):
            raise _refuse_source(
                source, f"accounts for {seen[file]} units of {file}, which has {ended.get(file, 'no end')}",
                "a source must name a fate for every unit and reach the end of every file",
            )  # fmt: skip
        if distinct[file] != seen[file]:
            raise _refuse_source(source, f"names a unit of {file} twice", "a unit has one fate")


def _pairs(table: pa.Table) -> list[tuple[str, int]]:
    counted_column = next(name for name in table.column_names if name != "file")
    columns: Any = (table.column("file").to_pylist(), table.column(counted_column).to_pylist())
    return list(zip(*columns, strict=True))


def _check_union(node: Node, port: str, names: tuple[str, ...], table: Table[Any]) -> None:
    """A row that comes in twice would have two fates: RecipeError."""
    ids: Any = table.arrow.column("id")
    if pc.count_distinct(ids).as_py() == len(table):
        return
    twice = min(pair["values"] for pair in ids.value_counts().to_pylist() if pair["counts"] > 1)
    raise RecipeError(
        [
            Problem(
                f"the same row comes in twice, for instance {twice}",
                key=f"steps.{node.name}.from.{port}",
                found=", ".join(names),
                hint="two of these steps pass on the same rows: wire one of them, or branches that share no row",
            )
        ]
    )


def _counted_in(shards: list[Shard], names: tuple[str, str, str], fate: str = "") -> Counter[tuple[str, str, str]]:
    counts = Counter[tuple[str, str, str]]()
    for shard in shards:
        fates = shard.fates
        counts += count_by(matching(fates, fate=fate) if fate else fates, names)
    return counts


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
