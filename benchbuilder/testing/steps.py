"""The contract of steps."""

from __future__ import annotations

import dataclasses
import pickle
import tempfile
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core import AccountingError, Row, Table, row_name, schema_of
from benchbuilder.pipeline import (
    Shard,
    ShardWorker,
    StepJob,
    TableFiles,
    account_batch,
    account_gather,
    account_map,
    check_unique,
    table_digest,
)
from benchbuilder.steps import Gather, Map, Step
from benchbuilder.testing.contract import (
    ContractError,
    check_ids,
    check_reasons,
    check_table,
    in_worker_process,
    require,
)

PortTables = Mapping[str, Table[Any]]


def check_step(make_step: Callable[[], Step], tables: PortTables) -> Shard:
    """Run a step in every way that a build may use, and check that the results are the same and complete.

    - It can be pickled before it is opened, and makes no rows of no rows.
    - Its rows have the exact schema, and correct ids, lineage, origin, language and partition.
    - Each row that it reads is accounted for, and dropped rows have declared reasons.
    - The result is the same when it runs again, in another process, after `prepare`, and in batches of any size.
    - A map that works on columns gives the same result row by row.

    Args:
        make_step: Makes a new, unopened step.
        tables: Example rows for every port that is not optional.

    Returns:
        The rows, outcomes, counts and notes that the step makes of all rows.

    Raises:
        ContractError: The step breaks a promise.
    """
    step = make_step()
    who = f"the step {step.kind!r}"
    check_reasons(who, step.reasons)
    _check_ports(step, tables, who)
    output = step.output if step.output is not None else tables["each"].row
    whole = _run(make_step(), tables, output)
    check_table(who, whole.rows, output)
    passed = set(tables["each"].ids())
    check_ids(who, [row for row in whole.rows if row.id not in passed])
    own = {name for name, may in (("partition", step.divides), ("language", step.translates)) if may}
    _check_lineage(who, whole, tables, own)
    _check_same_shard(f"{who}, run again,", whole, _run(make_step(), tables, output))
    with tempfile.TemporaryDirectory() as folder:
        elsewhere = _run_elsewhere(make_step(), tables, output, Path(folder))
        _check_same_shard(f"{who}, in another process,", whole, elsewhere)
    _check_empty(make_step(), tables, output, who)
    if not isinstance(step, Gather):
        for size in (1, 7):
            batches = _run_in_batches(make_step(), tables, output, size)
            _check_same_shard(f"{who}, in batches of {size},", whole, batches)
        worker, each = _open_worker(make_step(), tables, output), tables["each"].arrow
        _check_same_shard(f"{who}, opened once and run twice,", worker.run(each), worker.run(each))
    _check_prepared(who, make_step(), tables, output, whole)
    if isinstance(mapping := make_step(), Map):
        _check_columns(who, mapping, tables, output)
    return whole


def _check_columns(who: str, step: Map, tables: PortTables, output: type[Row]) -> None:
    """Check that a map makes the same of columns as row by row, for any slice of the table."""
    if any(step.ports[port].mode == "parent" for port in tables):
        return
    step.open({port: table for port, table in tables.items() if step.ports[port].mode == "lookup"})
    count = len(tables["each"])
    for start, stop in dict.fromkeys([(0, count), (1, count), (0, 1), (count // 2, count)]):
        part = Table(tables["each"].arrow.slice(start, stop - start), tables["each"].row)
        if (branches := step.map_columns(part)) is None:
            return
        rows = list(part)
        plain = account_map(step, rows, [list(step.map(row, {})) for row in rows], output)
        _check_same_shard(f"{who}, working on columns,", plain, account_batch(step, part, branches, output))


def _check_prepared(who: str, step: Step, tables: PortTables, output: type[Row], whole: Shard) -> None:
    """Check that `prepare` names the files that it wrote to the cache, and that they suffice for a pickled step."""
    lookups = {port: table for port, table in tables.items() if step.ports[port].mode == "lookup"}
    with tempfile.TemporaryDirectory() as folder:
        step.context = dataclasses.replace(step.context, cache=Path(folder))
        for path in step.prepare(lookups):
            require(path.exists(), f"{who} says that it prepared {path.name}, which does not exist")
            require(path.is_relative_to(folder), f"{who} prepared {path}, which is not in its cache")
        travelled: Step = pickle.loads(pickle.dumps(step))
        _check_same_shard(f"{who}, prepared in advance,", whole, _run(travelled, tables, output))


def _open_worker(step: Step, tables: PortTables, output: type[Row]) -> ShardWorker:
    """A map or filter in the worker that builds use; the tables of its other ports are read from files."""
    with tempfile.TemporaryDirectory() as folder:
        return ShardWorker(_job(step, tables, output, Path(folder)))


def _job(step: Step, tables: PortTables, output: type[Row], folder: Path) -> StepJob:
    ports: dict[str, TableFiles] = {}
    for port, table in tables.items():
        if port != "each":
            path = folder / f"{port}.parquet"
            pq.write_table(table.arrow, path)
            ports[port] = TableFiles(row_name(table.row), (path,))
    return StepJob(step, ports, row_name(tables["each"].row), row_name(output))


def _run(step: Step, tables: PortTables, output: type[Row]) -> Shard:
    try:
        if isinstance(step, Gather):
            step.open({port: table for port, table in tables.items() if step.ports[port].mode == "lookup"})
            shard = account_gather(step, tables, step.gather(tables), output)
        else:
            shard = _open_worker(step, tables, output).run(tables["each"].arrow)
        check_unique(step.context.step, shard.rows.arrow.column("id"))
    except AccountingError as error:
        raise ContractError(str(error)) from error
    return shard


def _run_in_batches(step: Step, tables: PortTables, output: type[Row], size: int) -> Shard:
    opened, each = _open_worker(step, tables, output), tables["each"].arrow
    shards = [opened.run(each.slice(start, size)) for start in range(0, len(each), size)]
    rows = Table.concat((shard.rows for shard in shards), output)
    both = Shard(rows, pa.concat_tables(shard.outcomes for shard in shards))
    for shard in shards:
        both.tallies += shard.tallies
    return both


def _run_elsewhere(step: Step, tables: PortTables, output: type[Row], folder: Path) -> Shard:
    job = _job(step, tables, output, folder)
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ContractError(f"the step {step.kind!r} cannot be pickled before it is opened: {error}") from error
    return in_worker_process(_run_job, job, row_name(tables["each"].row), tables["each"].arrow)


def _run_job(job: StepJob, row: str, each: pa.Table) -> Shard:
    if not isinstance(job.step, Gather):
        return ShardWorker(job).run(each)
    classes = TableFiles(row, ()).load().row, TableFiles(job.output, ()).load().row
    tables = {"each": Table(each, classes[0])} | {port: files.load() for port, files in job.ports.items()}
    return _run(job.step, tables, classes[1])


def _check_ports(step: Step, tables: PortTables, who: str) -> None:
    require(step.ports["each"].mode == "each", f"{who} has no port 'each'")
    for port, wants in step.ports.items():
        require(port in tables or wants.optional, f"example rows for port {port!r} of {who} are missing")
        if port in tables:
            row = tables[port].row
            fits = issubclass(row, wants.row)
            require(fits, f"port {port!r} of {who} takes {wants.row.__name__}, not {row.__name__}")
    require(len(tables["each"]) > 0, f"example rows for port 'each' of {who} are missing")


def _check_empty(step: Step, tables: PortTables, output: type[Row], who: str) -> None:
    empty = {
        port: Table(schema_of(table.row).empty_table(), table.row)
        if step.ports[port].mode in ("each", "whole")
        else table
        for port, table in tables.items()
    }
    shard = _run(step, empty, output)
    require(len(shard.rows) == 0 and len(shard.outcomes) == 0, f"{who} makes rows or outcomes of no rows")
    check_table(who, shard.rows, output)


def _check_lineage(who: str, shard: Shard, tables: PortTables, own_fields: Set[str]) -> None:
    """Check the lineage of rows, and that they have the fields of their parents, except for `own_fields`."""
    each = {row.id: row for row in tables["each"]}
    for row in shard.rows:
        if row.id in each:
            require(row == each[row.id], f"{who} passes {row.id} on, but changes it")
            continue
        parent = each.get(row.of)
        if parent is None:
            of = row.of or "nothing"
            raise ContractError(f"{who} makes {row.id} of {of}, which is not a row of its port 'each'")
        missing = {parent.id, *parent.parents} - set(row.parents)
        require(not missing, f"{who} leaves {', '.join(sorted(missing))} out of the parents of {row.id}")
        require(row.parents[0] == parent.id, f"{who} does not name {parent.id} first among the parents of {row.id}")
        require(bool(row.partition), f"{who} gives {row.id} no partition")
        for name in sorted({"origin", "language", "partition"} - own_fields):
            same = getattr(row, name) == getattr(parent, name)
            require(same, f"{who} gives {row.id} another {name} than that of its parent")
        require(bool(row.produced_by.rule), f"{who} does not say which rule produced {row.id}")


def _check_same_shard(who: str, first: Shard, second: Shard) -> None:
    require(table_digest(first.rows.arrow) == table_digest(second.rows.arrow), f"{who} makes other rows")
    require(table_digest(first.outcomes) == table_digest(second.outcomes), f"{who} gives other outcomes")
    require(first.tallies == second.tallies, f"{who} gives other counts")
    require(first.notes == second.notes, f"{who} gives other notes")
