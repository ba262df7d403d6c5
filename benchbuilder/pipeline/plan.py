"""The plan: every step and its key, known before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.config.spec.recipe import Recipe, RunSpec
from benchbuilder.core.context import Context
from benchbuilder.core.errors import DataError, Problem, RecipeError
from benchbuilder.core.records.row import Row
from benchbuilder.core.registry import create, row_name
from benchbuilder.pipeline.cache_key import Sha, changes, key_of, kind_parts, spec_parts
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.wiring import expand, flow_order, without_source
from benchbuilder.sources.base import Source
from benchbuilder.steps.base import Prompted, Stage


@dataclass(frozen=True)
class Node:
    """A source or step of the plan. `asked` are the parts of `key`; `inputs` maps ports to node names in order."""

    name: str
    maker: Source | Stage
    asked: Mapping[str, str]
    key: str
    inputs: Mapping[str, tuple[str, ...]]
    row: type[Row]

    @property
    def kind(self) -> str:
        """The kind's name."""
        return self.maker.spec.kind

    @property
    def row_name(self) -> str:
        """The name of the class of its rows."""
        return row_name(self.row)

    @property
    def asks(self) -> KindSpec | None:
        """The model that it puts prompts to, if any."""
        return self.maker.asks if isinstance(self.maker, Prompted) else None

    def upstream(self) -> tuple[str, ...]:
        """Every input node once, in port order."""
        return tuple(dict.fromkeys(name for names in self.inputs.values() for name in names))


@dataclass(frozen=True)
class Status:
    """What a build would do with a node: `why` in words, `note` for what a user may want to do about it."""

    node: Node
    state: Literal["reused", "retry", "run"]
    why: str = ""
    note: str = ""


@dataclass(frozen=True)
class Plan:
    """Nodes in an order in which they can run."""

    recipe: Recipe
    nodes: Mapping[str, Node]

    def leading_to(self, names: Iterable[str]) -> set[str]:
        """The nodes `names` and all that they hang on."""
        needed = set(names)
        for name, node in reversed(list(self.nodes.items())):
            if name in needed:
                needed.update(node.upstream())
        return needed

    def statuses(self, store: Store, refresh: frozenset[str] = frozenset()) -> dict[str, Status]:
        """For every node, whether the store has it, and if not, why it runs; RecipeError if `refresh` names none."""
        if unknown := sorted(refresh - set(self.nodes)):
            raise RecipeError([_no_step(name, self.nodes) for name in unknown])
        found: dict[str, Status] = {}
        for name, node in self.nodes.items():
            found[name] = self._status(node, store, found, refresh)
        return found

    def _status(self, node: Node, store: Store, found: Mapping[str, Status], refresh: frozenset[str]) -> Status:
        if node.name in refresh:
            return Status(node, "run", "asked for with --refresh")
        manifest = store.manifest(node.name, node.key)
        if manifest is None:
            latest = store.latest(node.name)
            if latest is None:
                return Status(node, "run", "never built here")
            told = changes(latest.asked, node.asked)
            return Status(node, "run", "; ".join(told[:3]) + (f"; {len(told) - 3} more" if len(told) > 3 else ""))
        if again := [name for name in node.upstream() if found[name].state != "reused"]:
            return Status(node, "run", f"{', '.join(again)} run{'s' if len(again) == 1 else ''} first")
        for name in node.upstream():
            upstream = store.manifest(name, self.nodes[name].key)
            if upstream is not None and manifest.inputs.get(name) != upstream.digest:
                return Status(node, "run", f"{name} came out differently")
        if manifest.state == "partial":
            failed = sum(n for _, fate, _, n in manifest.counts if fate == "failed")
            return Status(node, "retry", f"{failed} tickets failed last time")
        note = ""
        if isinstance(node.maker, Stage) and (told := changes(manifest.observed, node.maker.observes())):
            note = f"{'; '.join(told)} since {node.name} was sealed: --refresh {node.name} counts it"
        return Status(node, "reused", note=note)


def _no_step(name: str, nodes: Mapping[str, Node]) -> Problem:
    close = get_close_matches(name, nodes, n=1)
    return Problem(
        f"there is no step {name!r}",
        where=f"command line: --refresh {name}",
        allowed=", ".join(nodes),
        hint=f"did you mean {close[0]!r}?" if close else "",
    )


def workers_of(run: RunSpec) -> int:
    """How many shards are made at the same time: as many as this process has cores, unless the recipe says."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return run.workers or cores or 1


def make_plan(recipe: Recipe, store: Store, sha256_of: Sha) -> Plan:
    """The plan of `recipe`. Reads the files that the recipe refers to (for their checksums) and nothing else.

    A step whose rows would come from no source at all (a recipe without triples has steps for triples) is left out.
    RecipeError if that leaves no items, or a port empty that is needed.
    """
    wired = expand(recipe)
    if problems := without_source(recipe, wired):
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


def _source(recipe: Recipe, name: str, sha256_of: Sha) -> Node:
    spec = recipe.sources[name]
    source: Source = create("source", spec, name, recipe.language)
    asked = {"name": name, "language": source.language} | kind_parts("source", spec)
    # a source may read a folder or a glob: its files are hashed as it lists them, its spec says only what it asks for
    asked |= spec_parts(spec, lambda _: "")
    asked |= {f"file {ref.path}": sha256_of(ref.file) for ref in source.files()}
    asked |= {f"version of {part}": version for part, version in source.fingerprint().items()}
    return Node(name, source, asked, key_of(asked), {}, source.output)


def unread(recipe: Recipe, store: Store, checksums: Checksums) -> tuple[str, ...]:
    """The sources that a build would read: those that `store` has not sealed as they are. Opens no file."""
    found: list[str] = []
    for name in recipe.sources:
        try:
            node = _source(recipe, name, checksums.remembered)
        except DataError:
            found.append(name)
        else:
            if store.manifest(name, node.key) is None:
                found.append(name)
    return tuple(found)


def _step(
    name: str, inputs: Mapping[str, tuple[str, ...]], nodes: Mapping[str, Node], *, recipe: Recipe, store: Store,
    sha256_of: Sha,
) -> Node:  # fmt: skip
    spec: Any = recipe.steps[name]
    context = Context(
        seed=recipe.seed,
        language=recipe.language,
        step=name,
        cache=store.cache.absolute(),
        workplace=store.workplace.absolute(),
        benchmark=recipe.benchmark,
        workers=workers_of(recipe.run),
    )
    stage: Stage = create("stage", spec, context)
    inputs = {port: names for port, names in inputs.items() if names}
    asked = {"name": name, "seed": str(recipe.seed), "language": recipe.language}
    asked |= kind_parts("stage", spec) | spec_parts(spec, sha256_of)
    asked |= {f"version of {part}": version for part, version in stage.fingerprint().items()}
    for port, names in inputs.items():
        asked[f"order of port {port}"] = " ".join(names)
        asked |= {f"input {upstream}": nodes[upstream].key for upstream in names}
    row = stage.output if stage.output is not None else nodes[inputs["each"][0]].row
    return Node(name, stage, asked, key_of(asked), inputs, row)
