"""The rows that enter a node, as files and shards."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchbuilder.core import Problem, RecipeError, UniqueIds, name_file_in_errors, row_class, schema_of
from benchbuilder.pipeline.plan import Node
from benchbuilder.pipeline.shards.work import ShardRanges, plan_shards
from benchbuilder.pipeline.shards.worker import StepJob, TableFiles
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.sources import Source
from benchbuilder.steps import Step


def port_files(node: Node, port: str, store: Store, manifests: Mapping[str, Manifest]) -> TableFiles:
    """The union of the rows that enter a port, as files."""
    names = node.inputs[port]
    parts = [part for name in names for part in store.parts(manifests[name])]
    return TableFiles(manifests[names[0]].row, tuple(parts), store.cache.absolute())


def step_job_of(node: Node, store: Store, manifests: Mapping[str, Manifest]) -> StepJob:
    """The job of a map or filter whose inputs are committed in `store`."""
    ports = {port: port_files(node, port, store, manifests) for port in node.inputs if port != "each"}
    return StepJob(copy_step(node), ports, manifests[node.inputs["each"][0]].row, node.row_name)


def copy_step(node: Node) -> Step:
    """A copy of the node's step, to be opened: the plan's own step stays closed and small."""
    if isinstance(node.producer, Source):
        raise TypeError(f"{node.name} is a source")
    return copy.copy(node.producer)


def shards_of_tables(row: str, tables: Iterable[pa.Table], path: Path, rows: int) -> ShardRanges:
    """Rows that are in memory, written to a file at `path` and cut into shards of `rows` rows."""
    with name_file_in_errors(path):
        pq.write_table(pa.concat_tables([schema_of(row_class(row)).empty_table(), *tables]), path)
    return plan_shards(row, (path,), rows)


def rows_with_ids(shards: ShardRanges, ids: Iterable[str]) -> list[pa.Table]:
    """The rows whose id is one of `ids`, shard by shard."""
    wanted = pa.array(sorted(ids), pa.string())
    tables = (shards.table(index) for index in range(len(shards)))
    return [table.filter(pc.is_in(table.column("id"), wanted)) for table in tables]


def check_union(node: Node, port: str, shards: ShardRanges) -> None:
    """RecipeError if a row enters a port twice: it would have two outcomes."""
    names = node.inputs[port]
    if len(names) == 1:
        return
    unique = UniqueIds()
    for table in shards.columns("id"):
        unique.add(table.column("id"))
    if twice := unique.duplicates():
        raise RecipeError([Problem(
            f"the same row comes in twice, for instance {min(twice)}", key=f"steps.{node.name}.from.{port}",
            actual=", ".join(names),
            hint="two of these steps pass on the same rows: wire one of them, or branches that share no row",
        )])  # fmt: skip
