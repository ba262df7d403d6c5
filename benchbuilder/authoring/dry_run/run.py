"""Rehearsals: what a build would do from its first prompt on, in a store that is thrown away."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from benchbuilder.core import Waiting
from benchbuilder.models import ConversationDriver
from benchbuilder.pipeline import (
    Manifest,
    Node,
    NodeRunner,
    Plan,
    RowChooser,
    ShardLimits,
    ShardWorker,
    Store,
    Watcher,
    create_executor,
)
from benchbuilder.steps import Step


@dataclass
class DryRun:
    """A plan whose free steps are built, and whose other steps were rehearsed in `store`, a scratch store.

    `manifests` holds both, by node; `skipped` says of each other node why it was left out.
    """

    plan: Plan
    store: Store
    manifests: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    skipped: dict[str, str] = field(default_factory=dict[str, str])


def nodes_without_prompts(plan: Plan) -> set[str]:
    """The nodes that neither put prompts nor hang on one that does, nor on people."""
    free: set[str] = set()
    for name, node in plan.nodes.items():
        if node.model_spec is None and not _depends_on_people(node) and free.issuperset(node.upstream()):
            free.add(name)
    return free


def nodes_up_to_prompts(plan: Plan) -> set[str]:
    """The nodes that lead to a node that puts prompts, with these themselves."""
    needed: set[str] = set()
    for name, node in reversed(list(plan.nodes.items())):
        if name in needed or node.model_spec is not None:
            needed |= {name, *node.upstream()}
    return needed


@contextmanager
def open_dry_run(
    plan: Plan,
    store: Store,
    driver: ConversationDriver,
    watcher: Watcher,
    *,
    only: set[str] | None = None,
    rows: int | None = None,
    refresh: frozenset[str] = frozenset(),
) -> Generator[DryRun]:
    """Build the free steps of `plan` in `store`, where a build finds them, and the others in a scratch store.

    The others ask `driver`, but what a build would reuse is taken from `store` (unless `refresh` names it). `only`
    names the nodes that are wanted (with all that they hang on). With `rows`, each step that puts prompts works on
    that many rows, those first that no rule can do, and none is taken from `store`. Steps that wait for people are
    left out.
    """
    wanted = set(plan.nodes) if only is None else only
    free = nodes_without_prompts(plan)
    recipe = plan.recipe
    limits = ShardLimits.of_recipe(recipe)
    with store.lock(), store.open_scratch() as scratch, contextlib.closing(create_executor(recipe.run)) as executor:
        real = NodeRunner(store, executor, limits, watcher)
        mock = NodeRunner(
            scratch, executor, replace(limits, tolerated_failures=1.0), watcher, driver, choose_rows=_row_chooser(rows)
        )
        mock.manifests = real.manifests
        done = DryRun(plan, scratch, real.manifests)
        for name, node in plan.nodes.items():
            if name not in wanted:
                done.skipped[name] = "not asked for"
            elif lacking := [up for up in node.upstream() if up not in done.manifests]:
                done.skipped[name] = f"hangs on {', '.join(lacking)}"
            elif name in free or (rows is None and name not in refresh and _completed_manifest(real, node) is not None):
                manifest = _completed_manifest(real, node)
                if manifest is None:
                    manifest = real.run(node)
                    watcher.end(name, f"built    {manifest.rows} rows")
                done.manifests[name] = manifest
                _link_folder(store.step_folder(name, node.key), scratch.step_folder(name, node.key))
            elif _depends_on_people(node):
                done.skipped[name] = "people decide"
            else:
                try:
                    done.manifests[name] = manifest = mock.run(node)
                    watcher.end(name, f"rehearsed, {manifest.rows} rows")
                except Waiting as waiting:
                    done.skipped[name] = str(waiting.what)
        yield done


def _completed_manifest(runner: NodeRunner, node: Node) -> Manifest | None:
    """What the store has of a node, if a build would reuse it."""
    manifest = runner.current_manifest(node)
    return manifest if manifest is not None and manifest.state == "complete" else None


def _depends_on_people(node: Node) -> bool:
    """Whether what people contribute shapes what it makes."""
    return isinstance(node.producer, Step) and type(node.producer).external_inputs is not Step.external_inputs


def _row_chooser(rows: int | None) -> RowChooser | None:
    if rows is None:
        return None

    def choose(worker: ShardWorker | None, tables: Iterable[pa.Table]) -> list[pa.Table]:
        """The first rows that ask, and others where these are too few, in their order."""
        if worker is None:
            return _first_rows(tables, rows)
        asking: list[_Chosen] = []
        others: list[_Chosen] = []
        for number, table in enumerate(tables):
            for place, conversation in worker.conversations(table).conversations():
                asks = next(conversation, None) is not None
                conversation.close()
                held = asking if asks else others
                if len(held) < rows:
                    held.append(((number, place), table.slice(place, 1).combine_chunks()))
                if len(asking) == rows:
                    return [row for _, row in asking]
        return [row for _, row in sorted((asking + others)[:rows], key=lambda one: one[0])]

    return choose


_Chosen = tuple[tuple[int, int], pa.Table]
"""The number of a table, a place in it, and the row that stands there."""


def _first_rows(tables: Iterable[pa.Table], rows: int) -> list[pa.Table]:
    """The first rows of all."""
    found: list[pa.Table] = []
    for table in tables:
        found.append(table.slice(0, rows))
        rows -= found[-1].num_rows
        if not rows:
            break
    return found


def _link_folder(source: Path, target: Path) -> None:
    """The files of a sealed step under another folder, without copying them where the file system can."""
    shutil.copytree(source, target, copy_function=_link_file)


def _link_file(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target
