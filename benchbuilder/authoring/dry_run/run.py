"""Dry runs: what a build would do from its first prompt on, in a temporary store."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path

import pyarrow as pa

from benchbuilder.core import Problem, RecipeError, Row, Waiting
from benchbuilder.models import ConversationDriver
from benchbuilder.pipeline import (
    JournalDriver,
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
    empty_lookup,
)
from benchbuilder.steps import Step


@dataclass
class DryRun:
    """A plan whose free steps are built; its other steps ran in `store`, a temporary store.

    `manifests` holds both, by node; `skipped` says why each other node was left out.
    """

    plan: Plan
    store: Store
    manifests: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    skipped: dict[str, str] = field(default_factory=dict[str, str])


def nodes_without_prompts(plan: Plan) -> set[str]:
    """The free nodes: neither they nor the nodes before them put prompts or need people."""
    free: set[str] = set()
    for name, node in plan.nodes.items():
        if node.model_spec is None and not _depends_on_people(node) and free.issuperset(node.upstream()):
            free.add(name)
    return free


@contextmanager
def open_dry_run(
    plan: Plan, store: Store, driver: ConversationDriver, watcher: Watcher, *, only: set[str] | None = None,
    rows: int | None = None, refresh: frozenset[str] = frozenset(),
) -> Generator[DryRun]:  # fmt: skip
    """Build the free steps of `plan` in `store`, where a build finds them, and the others in a temporary store.

    Steps that wait for people are left out.

    Args:
        plan: The plan.
        store: The store of the build. What a build would reuse is taken from it.
        driver: Answers the prompts.
        watcher: Follows the progress.
        only: The wanted nodes, with all nodes before them; ``None`` for all.
        rows: How many rows each step with prompts works on, first those that no rule can do; ``None`` for all. With
            a number, only free steps are taken from `store`.
        refresh: Steps that are not taken from `store`.
    """
    wanted = set(plan.nodes) if only is None else only
    free = nodes_without_prompts(plan)
    recipe = plan.recipe
    limits = ShardLimits.of_recipe(recipe)
    with store.lock(), store.open_scratch() as scratch, contextlib.closing(create_executor(recipe.run)) as executor:
        real = NodeRunner(store, executor, limits, watcher)
        tolerant = replace(limits, tolerated_failures=1.0)
        dry = NodeRunner(scratch, executor, tolerant, watcher, driver, choose_rows=_row_chooser(rows))
        dry.manifests = real.manifests
        dry_run = DryRun(plan, scratch, real.manifests)
        for name, node in plan.nodes.items():
            if name not in wanted:
                dry_run.skipped[name] = "not asked for"
            elif missing := [up for up in node.upstream() if up not in dry_run.manifests]:
                dry_run.skipped[name] = f"needs {', '.join(missing)}"
            elif name in free or (rows is None and name not in refresh and _completed_manifest(real, node) is not None):
                manifest = _completed_manifest(real, node)
                if manifest is None:
                    manifest = real.run(node)
                    watcher.end(name, f"built    {manifest.rows} rows")
                dry_run.manifests[name] = manifest
                _link_folder(store.step_folder(name, node.key), scratch.step_folder(name, node.key))
            elif _depends_on_people(node):
                dry_run.skipped[name] = "people decide"
            else:
                try:
                    dry_run.manifests[name] = manifest = dry.run(node)
                    watcher.end(name, f"dry run, {manifest.rows} rows")
                except Waiting as waiting:
                    dry_run.skipped[name] = str(waiting.what)
        yield dry_run


def _completed_manifest(runner: NodeRunner, node: Node) -> Manifest | None:
    """What the store has of a node, if a build would reuse it."""
    manifest = runner.current_manifest(node)
    return manifest if manifest is not None and manifest.state == "complete" else None


def _depends_on_people(node: Node) -> bool:
    """Whether contributions of people shape its rows."""
    return isinstance(node.producer, Step) and node.producer.needs_people()


def _row_chooser(rows: int | None) -> RowChooser | None:
    if rows is None:
        return None

    def choose(worker: ShardWorker | None, tables: Iterable[pa.Table]) -> list[pa.Table]:
        """The first rows that ask a model, supplemented by others if they are too few, in their order."""
        if worker is None:
            return _first_rows(tables, rows)
        asking: list[_ChosenRow] = []
        others: list[_ChosenRow] = []
        for number, table in enumerate(tables):
            for position, conversation in worker.conversations(table).conversations():
                group = others if next(conversation, None) is None else asking
                conversation.close()
                if len(group) < rows:
                    group.append(((number, position), table.slice(position, 1).combine_chunks()))
                if len(asking) == rows:
                    return [row for _, row in asking]
        return [row for _, row in sorted((asking + others)[:rows], key=itemgetter(0))]

    return choose


_ChosenRow = tuple[tuple[int, int], pa.Table]
"""The number of a table, a position in it, and its row."""


def _first_rows(tables: Iterable[pa.Table], rows: int) -> list[pa.Table]:
    """The first rows of all tables together."""
    chosen: list[pa.Table] = []
    for table in tables:
        chosen.append(table.slice(0, rows))
        rows -= chosen[-1].num_rows
        if not rows:
            break
    return chosen


def _link_folder(source: Path, target: Path) -> None:
    """Put the files of a committed step into another folder, by links where the file system has them."""
    shutil.copytree(source, target, copy_function=_link_file)


def _link_file(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def rows_before(plan: Plan, store: Store, step: str, watcher: Watcher) -> list[Row]:
    """The rows that a step gets; the steps before it are built. RecipeError if models or people decide before it."""
    inputs = plan.nodes[step].inputs["each"]
    wanted: set[str] = set()
    waiting = list(inputs)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += plan.nodes[name].upstream()
    if not wanted <= nodes_without_prompts(plan):
        hint = "leave the steps before it to rules"
        raise RecipeError([Problem("models or people decide before this step", key=f"steps.{step}.from", hint=hint)])
    with open_dry_run(plan, store, JournalDriver(empty_lookup), watcher, only=wanted) as dry_run:
        return [row for name in inputs for row in dry_run.store.rows(dry_run.manifests[name])]
