"""Plans a recipe: every source and step with its key, before anything runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.config import KindSpec, Recipe, RunSpec, did_you_mean
from benchbuilder.core import (
    DamagedError,
    DataError,
    Problem,
    RecipeError,
    Row,
    StepContext,
    column_names,
    create_from_spec,
    row_name,
)
from benchbuilder.pipeline.cache_key import (
    FileHasher,
    cache_key_of,
    describe_key_changes,
    kind_key_inputs,
    spec_key_inputs,
    without_kind,
)
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.pipeline.wiring import expand_wiring, flow_order, missing_source_problems
from benchbuilder.sources import Source
from benchbuilder.steps import PromptedMap, Step

_LISTED_CHANGES = 3
"""How many changes of a key the status of a node names."""
_COLUMNS = "columns of its rows"
"""The part of a key that changes with the columns of the rows."""


@dataclass(frozen=True)
class Node:
    """A source or step of the plan. `key_inputs` are the parts of `key`; `inputs` maps ports to node names in order."""

    name: str
    producer: Source | Step
    key_inputs: Mapping[str, str]
    key: str
    inputs: Mapping[str, tuple[str, ...]]
    row: type[Row]

    @property
    def kind(self) -> str:
        """The kind's name."""
        return self.producer.spec.kind

    @property
    def row_name(self) -> str:
        """The name of the class of its rows."""
        return row_name(self.row)

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that it puts prompts to, if any."""
        return self.producer.model_spec if isinstance(self.producer, PromptedMap) else None

    def upstream(self) -> tuple[str, ...]:
        """Every input node once, in port order."""
        return tuple(dict.fromkeys(name for names in self.inputs.values() for name in names))


@dataclass(frozen=True)
class NodeStatus:
    """What a build would do with a node: `why` explains it, `note` says what a user may want to do about it.

    `damage` says what is damaged of the node in the store; a build makes it again.
    """

    node: Node
    state: Literal["reused", "retry", "run"]
    why: str = ""
    note: str = ""
    damage: str = ""


@dataclass(frozen=True)
class Plan:
    """Nodes in an order in which they can run."""

    recipe: Recipe
    nodes: Mapping[str, Node]

    def ancestors_of(self, names: Iterable[str]) -> set[str]:
        """The nodes `names` and all nodes before them."""
        needed = set(names)
        for name, node in reversed(list(self.nodes.items())):
            if name in needed:
                needed.update(node.upstream())
        return needed

    def statuses(self, store: Store, refresh: frozenset[str] = frozenset()) -> dict[str, NodeStatus]:
        """For every node, whether the store has it, and if not, why it runs; RecipeError if `refresh` names no node."""
        if unknown := sorted(refresh - set(self.nodes)):
            raise RecipeError([
                Problem(f"there is no step {name!r}", where=f"command line: --refresh {name}",
                        allowed=", ".join(self.nodes), hint=did_you_mean(name, list(self.nodes)))
                for name in unknown
            ])  # fmt: skip
        statuses: dict[str, NodeStatus] = {}
        for name, node in self.nodes.items():
            statuses[name] = self._status(node, store, statuses, refresh)
        return statuses

    def _status(
        self, node: Node, store: Store, before: Mapping[str, NodeStatus], refresh: frozenset[str]
    ) -> NodeStatus:
        if node.name in refresh:
            return NodeStatus(node, "run", "asked for with --refresh")
        try:
            manifest = store.manifest(node.name, node.key)
            if manifest is not None:
                store.check(manifest)
        except DamagedError as error:
            return NodeStatus(node, "run", f"damaged in the store: {error.why}", damage=error.why)
        if manifest is None:
            return NodeStatus(node, "run", _why_not_built(node, store))
        if rerun := [name for name in node.upstream() if before[name].state != "reused"]:
            return NodeStatus(node, "run", f"{', '.join(rerun)} run{'s' if len(rerun) == 1 else ''} first")
        for name in node.upstream():
            upstream = store.manifest(name, self.nodes[name].key)
            if upstream is not None and manifest.inputs.get(name) != upstream.digest:
                return NodeStatus(node, "run", f"{name} came out differently")
        if manifest.state == "incomplete":
            failed = sum(n for _, outcome, _, n in manifest.counts if outcome == "failed")
            return NodeStatus(node, "retry", f"{failed} branches failed last time")
        note = ""
        if isinstance(node.producer, Step) and (
            changes := describe_key_changes(manifest.external_inputs, node.producer.external_inputs())
        ):
            note = f"{'; '.join(changes)} since {node.name} was committed: --refresh {node.name} counts it"
        return NodeStatus(node, "reused", note=note)


def _why_not_built(node: Node, store: Store) -> str:
    """Why the store does not have a node: what differs from its last build."""
    latest = None
    with contextlib.suppress(DamagedError):  # of another key, so nothing is made of it
        latest = store.latest(node.name)
    if latest is None:
        former = store.has_former_layout(node.name)
        return "built by another version of benchbuilder" if former else "never built here"
    changes = describe_key_changes(latest.key_inputs, node.key_inputs)
    more = [f"{len(changes) - _LISTED_CHANGES} more"] if len(changes) > _LISTED_CHANGES else []
    return "; ".join([*changes[:_LISTED_CHANGES], *more])


def workers_of(run: RunSpec) -> int:
    """How many shards are made at the same time: the number of cores, unless the recipe sets it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return run.workers or cores or 1


def plan_build(recipe: Recipe, store: Store) -> Plan:
    """Plan a recipe with the checksums that its store remembers, and save them; see `make_plan`."""
    checksums = Checksums(store.checksums)
    plan = make_plan(recipe, store, checksums.sha256_of)
    checksums.save()
    return plan


def make_plan(recipe: Recipe, store: Store, sha256_of: FileHasher) -> Plan:
    """Plan a recipe; files are read for their checksums only.

    A step that gets rows from none of the chosen sources is left out.

    Args:
        recipe: The recipe.
        store: The store of the build.
        sha256_of: Gives the checksum of a file or folder.

    Raises:
        RecipeError: No rows reach the items or a required port, or references are wrong.
        DataError: A file cannot be read.
    """
    wired = expand_wiring(recipe)
    if problems := missing_source_problems(recipe, wired):
        raise RecipeError(problems)
    nodes: dict[str, Node] = {}
    for name in flow_order(recipe, wired):
        if name in recipe.sources:
            nodes[name] = _source(recipe, name, sha256_of)
            continue
        inputs = {port: tuple(up for up in names if up in nodes) for port, names in wired[name].items()}
        if inputs.get("each"):
            nodes[name] = _step(name, inputs, nodes, recipe=recipe, store=store, sha256_of=sha256_of)
    return Plan(recipe, nodes)


def _source(recipe: Recipe, name: str, sha256_of: FileHasher) -> Node:
    spec = recipe.sources[name]
    source: Source = create_from_spec("source", spec, name, recipe.language)
    key_inputs = {"name": name, "language": source.language} | kind_key_inputs("source", spec)
    # a source may read a folder or a glob: its files are hashed as it lists them, its spec says only what it asks for
    key_inputs |= spec_key_inputs(spec, lambda _: "")
    key_inputs |= {f"file {ref.path}": sha256_of(ref.file) for ref in source.files()}
    key_inputs |= {f"version of {part}": version for part, version in source.fingerprint().items()}
    key_inputs[_COLUMNS] = " ".join(column_names(source.output))
    return Node(name, source, key_inputs, cache_key_of(key_inputs), {}, source.output)


def check_files_unchanged(node: Node, sha256_of: FileHasher) -> None:
    """DataError if a file that the node reads is not the one that its key was made of."""
    if isinstance(node.producer, Source):
        files = {f"file {ref.path}": sha256_of(ref.file) for ref in node.producer.files()}
    else:
        parts = spec_key_inputs(node.producer.spec, sha256_of)
        files = {name: checksum for name, checksum in parts.items() if name.startswith("file ")}
    gone = [name for name, old in node.key_inputs.items() if name.startswith("file ") and old and name not in files]
    changed = gone + [name for name, checksum in files.items() if node.key_inputs.get(name) != checksum]
    if changed:
        raise DataError(
            f"{', '.join(changed)} of {node.name!r} changed while it was read",
            why="its rows would count as made of the file as it is now",
            next="give the same command again",
        )


def recorded_changes(plan: Plan, name: str, store: Store, manifest: Manifest, *, any_model: bool = False) -> list[str]:
    """What differs between a node of a plan and the run that `manifest` records, the steps before it included.

    Args:
        plan: The plan of the recipe as it is now.
        name: The node.
        store: The store that holds the manifest and those of the steps before it.
        manifest: A manifest of the node under any key.
        any_model: Whether steps that inherit the recipe's model may have been run with another one.
    """
    changes: list[str] = []
    recorded, visited = {name: manifest}, set[str]()
    while queue := [step for step in recorded if step not in visited]:
        for step in queue:
            visited.add(step)
            node, key_inputs = plan.nodes[step], recorded[step].key_inputs
            upstream = {up: store.manifest(up, key_inputs.get(f"input {up}", "")) for up in node.upstream()}
            changes += [f"{up} changed" for up, former in upstream.items() if former is None]
            recorded |= {up: former for up, former in upstream.items() if former is not None}
            parts = [_without_inputs(key_inputs, upstream), _without_inputs(node.key_inputs, upstream)]
            if any_model and getattr(node.producer.spec, "model", None) == plan.recipe.model:
                parts = [without_kind(own, "model") for own in parts]
            changes += [f"{step}: {change}" for change in describe_key_changes(*parts)]
    return changes


def _without_inputs(key_inputs: Mapping[str, str], upstream: Iterable[str]) -> dict[str, str]:
    names = {f"input {name}" for name in upstream}
    return {name: part for name, part in key_inputs.items() if name not in names}


def unread_sources(recipe: Recipe, store: Store, checksums: Checksums) -> tuple[str, ...]:
    """The sources that a build would read, because the store does not have them as they are. Opens no file."""
    unread: list[str] = []
    for name in recipe.sources:
        manifest = None
        with contextlib.suppress(DataError, DamagedError):
            manifest = store.manifest(name, _source(recipe, name, checksums.remembered_sha256).key)
        if manifest is None:
            unread.append(name)
    return tuple(unread)


def _step(
    name: str, inputs: Mapping[str, tuple[str, ...]], nodes: Mapping[str, Node], *, recipe: Recipe, store: Store,
    sha256_of: FileHasher,
) -> Node:  # fmt: skip
    spec: Any = recipe.steps[name]
    context = StepContext(
        seed=recipe.seed,
        language=recipe.language,
        step=name,
        cache=store.cache.absolute(),
        workplace=store.workplace.absolute(),
        benchmark=recipe.benchmark_name,
        workers=workers_of(recipe.run),
    )
    producer: Step = create_from_spec("step", spec, context)
    inputs = {port: names for port, names in inputs.items() if names}
    key_inputs = {"name": name, "seed": str(recipe.seed), "language": recipe.language}
    key_inputs |= kind_key_inputs("step", spec) | spec_key_inputs(spec, sha256_of)
    key_inputs |= {f"version of {part}": version for part, version in producer.fingerprint().items()}
    for port, names in inputs.items():
        key_inputs[f"order of port {port}"] = " ".join(names)
        key_inputs |= {f"input {upstream}": nodes[upstream].key for upstream in names}
    row = producer.output if producer.output is not None else nodes[inputs["each"][0]].row
    key_inputs[_COLUMNS] = " ".join(column_names(row))
    return Node(name, producer, key_inputs, cache_key_of(key_inputs), inputs, row)
