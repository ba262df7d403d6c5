"""The contract of stages."""

from __future__ import annotations

import dataclasses
import pickle
import tempfile
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core.errors import AccountingError
from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.row import Row
from benchbuilder.core.registry import row_name
from benchbuilder.pipeline.accounting.shard import Shard, account_batch, account_gather, account_map, check_unique
from benchbuilder.pipeline.shards.worker import ShardWorker, StepJob, TableFiles
from benchbuilder.pipeline.store.digest import table_digest
from benchbuilder.steps.base import Gather, Map, Step
from benchbuilder.testing.contract import ContractError, check_ids, check_reasons, check_table, require
from benchbuilder.testing.processes import in_worker_process

PortTables = Mapping[str, Table[Any]]


def check_step(make_step: Callable[[], Step], tables: PortTables) -> Shard:
    """Run a stage in every way in which a build may run it; ContractError if anything differs or does not balance.

    `make_step` gives a new, unopened stage each time; `tables` holds example rows for every port. What is checked: it can
    be pickled before it is opened; no rows in, no rows out; the exact schema; branches that balance with declared
    reasons; ids, lineage, origin, language and partition of what it makes; the same result twice, in batches of one,
    of seven and of all, in another process, after `prepare` and, of a map that works by the column, row by row. Returns
    what it makes of all rows.
    """
    stage = make_step()
    who = f"the stage {stage.kind!r}"
    check_reasons(who, stage.reasons)
    _check_ports(stage, tables, who)
    output = stage.output if stage.output is not None else tables["each"].row
    whole = _run(make_step(), tables, output)
    check_table(who, whole.rows, output)
    passed = set(tables["each"].ids())
    check_ids(who, [row for row in whole.rows if row.id not in passed])
    own = {name for name, may in (("partition", stage.divides), ("language", stage.translates)) if may}
    _check_lineage(who, whole, tables, own)
    _check_same_shard(f"{who}, run again,", whole, _run(make_step(), tables, output))
    with tempfile.TemporaryDirectory() as folder:
        _check_same_shard(
            f"{who}, in another process,", whole, _run_elsewhere(make_step(), tables, output, Path(folder))
        )
    _check_empty(make_step(), tables, output, who)
    if not isinstance(stage, Gather):
        for size in (1, 7):
            _check_same_shard(
                f"{who}, in batches of {size},", whole, _run_in_batches(make_step(), tables, output, size)
            )
        opened = _OpenStep(make_step(), tables, output)
        _check_same_shard(
            f"{who}, opened once and run twice,", opened.run(tables["each"].arrow), opened.run(tables["each"].arrow)
        )
    _check_prepared(who, make_step(), tables, output, whole)
    if isinstance(mapping := make_step(), Map):
        _check_columns(who, mapping, tables, output)
    return whole


def _check_columns(who: str, stage: Map, tables: PortTables, output: type[Row]) -> None:
    """What a map makes by the column is what it makes row by row, of any slice of the table."""
    if any(stage.ports[port].mode == "parent" for port in tables):
        return
    stage.open({port: table for port, table in tables.items() if stage.ports[port].mode == "lookup"})
    count = len(tables["each"])
    for start, stop in dict.fromkeys([(0, count), (1, count), (0, 1), (count // 2, count)]):
        part = Table(tables["each"].arrow.slice(start, stop - start), tables["each"].row)
        if (branches := stage.map_columns(part)) is None:
            return
        rows = list(part)
        plain = account_map(stage, rows, [list(stage.map(row, {})) for row in rows], output)
        _check_same_shard(f"{who}, by the column,", plain, account_batch(stage, part, branches, output))


def _check_prepared(who: str, stage: Step, tables: PortTables, output: type[Row], whole: Shard) -> None:
    """What was prepared once is all that others need: the files that the stage names, in its cache."""
    lookups = {port: table for port, table in tables.items() if stage.ports[port].mode == "lookup"}
    with tempfile.TemporaryDirectory() as folder:
        stage.context = dataclasses.replace(stage.context, cache=Path(folder))
        for path in stage.prepare(lookups):
            require(path.exists(), f"{who} prepares {path.name}, which is not there")
            require(path.is_relative_to(folder), f"{who} prepares {path}, which is not in its cache")
        travelled: Step = pickle.loads(pickle.dumps(stage))
        _check_same_shard(f"{who}, prepared beforehand,", whole, _run(travelled, tables, output))


class _OpenStep:
    """A map or filter behind the worker of the engine, its other ports as files."""

    def __init__(self, stage: Step, tables: PortTables, output: type[Row]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self._worker = ShardWorker(_job(stage, tables, output, Path(folder)))

    def run(self, each: pa.Table) -> Shard:
        return self._worker.run(each)


def _job(stage: Step, tables: PortTables, output: type[Row], folder: Path) -> StepJob:
    ports: dict[str, TableFiles] = {}
    for port, table in tables.items():
        if port != "each":
            path = folder / f"{port}.parquet"
            pq.write_table(table.arrow, path)
            ports[port] = TableFiles(row_name(table.row), (path,))
    return StepJob(stage, ports, row_name(tables["each"].row), row_name(output))


def _run(stage: Step, tables: PortTables, output: type[Row]) -> Shard:
    try:
        if isinstance(stage, Gather):
            stage.open({port: table for port, table in tables.items() if stage.ports[port].mode == "lookup"})
            shard = account_gather(stage, tables, stage.gather(tables), output)
        else:
            shard = _OpenStep(stage, tables, output).run(tables["each"].arrow)
        check_unique(stage.context.step, shard.rows.arrow.column("id"))
    except AccountingError as error:
        raise ContractError(str(error)) from error
    return shard


def _run_in_batches(stage: Step, tables: PortTables, output: type[Row], size: int) -> Shard:
    opened, each = _OpenStep(stage, tables, output), tables["each"].arrow
    shards = [opened.run(each.slice(start, size)) for start in range(0, len(each), size)]
    rows = Table.concat((shard.rows for shard in shards), output)
    both = Shard(rows, pa.concat_tables(shard.outcomes for shard in shards))
    for shard in shards:
        both.tallies += shard.tallies
    return both


def _run_elsewhere(stage: Step, tables: PortTables, output: type[Row], folder: Path) -> Shard:
    job = _job(stage, tables, output, folder)
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ContractError(f"the stage {stage.kind!r} cannot be pickled before it is opened: {error}") from error
    return in_worker_process(_run_job, job, row_name(tables["each"].row), tables["each"].arrow)


def _run_job(job: StepJob, row: str, each: pa.Table) -> Shard:
    if not isinstance(job.stage, Gather):
        return ShardWorker(job).run(each)
    classes = TableFiles(row, ()).load().row, TableFiles(job.output, ()).load().row
    tables = {"each": Table(each, classes[0])} | {port: files.load() for port, files in job.ports.items()}
    return _run(job.stage, tables, classes[1])


def _check_ports(stage: Step, tables: PortTables, who: str) -> None:
    require(stage.ports["each"].mode == "each", f"{who} has no `each` port")
    for port, wants in stage.ports.items():
        require(port in tables or wants.optional, f"example rows for port {port!r} of {who} are missing")
        if port in tables:
            row = tables[port].row
            require(
                issubclass(row, wants.row), f"port {port!r} of {who} takes {wants.row.__name__}, not {row.__name__}"
            )
    require(len(tables["each"]) > 0, f"example rows for port 'each' of {who} are missing")


def _check_empty(stage: Step, tables: PortTables, output: type[Row], who: str) -> None:
    empty = {
        port: Table(schema_of(table.row).empty_table(), table.row)
        if stage.ports[port].mode in ("each", "whole") else table
        for port, table in tables.items()
    }  # fmt: skip
    shard = _run(stage, empty, output)
    require(len(shard.rows) == 0 and len(shard.outcomes) == 0, f"{who} makes something of nothing")
    check_table(who, shard.rows, output)


def _check_lineage(who: str, shard: Shard, tables: PortTables, own_fields: Set[str]) -> None:
    """`own_fields` are the fields that rows need not have from their parents."""
    each = {row.id: row for row in tables["each"]}
    for row in shard.rows:
        if row.id in each:
            require(row == each[row.id], f"{who} passes {row.id} on, but changed it")
            continue
        parent = each.get(row.of)
        require(parent is not None, f"{who} makes {row.id} of {row.of or 'nothing'}, which is not in its each port")
        assert parent is not None
        missing = {parent.id, *parent.parents} - set(row.parents)
        require(not missing, f"{who} leaves {', '.join(sorted(missing))} out of the parents of {row.id}")
        require(row.parents[0] == parent.id, f"{who} does not name {parent.id} first among the parents of {row.id}")
        require(bool(row.partition), f"{who} gives {row.id} no partition")
        for name in sorted({"origin", "language", "partition"} - own_fields):
            same = getattr(row, name) == getattr(parent, name)
            require(same, f"{who} gives {row.id} another {name} than its parent has")
        require(bool(row.produced_by.rule), f"{who} does not say what made {row.id}")


def _check_same_shard(who: str, first: Shard, second: Shard) -> None:
    require(table_digest(first.rows.arrow) == table_digest(second.rows.arrow), f"{who} makes other rows")
    require(table_digest(first.outcomes) == table_digest(second.outcomes), f"{who} comes to other outcomes")
    require(first.tallies == second.tallies, f"{who} counts otherwise")
    require(first.notes == second.notes, f"{who} notes otherwise")
