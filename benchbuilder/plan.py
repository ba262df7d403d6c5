"""The plan: every step and its key, known before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.identity import Sha, changes, key_of, kind_parts, spec_parts
from benchbuilder.kinds import create, row_name
from benchbuilder.ports.source import Source
from benchbuilder.ports.stage import Context, Stage
from benchbuilder.records.envelope import Row
from benchbuilder.spec.recipe import Recipe
from benchbuilder.store.folder import Store
from benchbuilder.wiring import expand, flow_order


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

    def statuses(self, store: Store, refresh: frozenset[str] = frozenset()) -> dict[str, Status]:
        """For every node, whether the store has it, and if not, why it runs."""
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


def make_plan(recipe: Recipe, store: Store, sha256_of: Sha) -> Plan:
    """The plan of `recipe`. Reads the files that the recipe refers to (for their checksums) and nothing else."""
    wired = expand(recipe)
    nodes: dict[str, Node] = {}
    for name in flow_order(recipe, wired):
        if name in recipe.sources:
            nodes[name] = _source(recipe, name, sha256_of)
        else:
            nodes[name] = _step(recipe, name, wired[name], nodes, store, sha256_of)
    return Plan(recipe, nodes)


def _source(recipe: Recipe, name: str, sha256_of: Sha) -> Node:
    spec = recipe.sources[name]
    source: Source = create("source", spec, name, recipe.language)
    asked = {"name": name, "language": source.language} | kind_parts("source", spec) | spec_parts(spec, sha256_of)
    return Node(name, source, asked, key_of(asked), {}, source.output)


def _step(
    recipe: Recipe, name: str, inputs: Mapping[str, tuple[str, ...]], nodes: Mapping[str, Node], store: Store,
    sha256_of: Sha,
) -> Node:  # fmt: skip
    spec: Any = recipe.steps[name]
    context = Context(
        seed=recipe.seed,
        language=recipe.language,
        step=name,
        cache=store.cache.absolute(),
        workplace=store.workplace.absolute(),
    )
    stage: Stage = create("stage", spec, context)
    asked = {"name": name, "seed": str(recipe.seed), "language": recipe.language}
    asked |= kind_parts("stage", spec) | spec_parts(spec, sha256_of)
    asked |= {f"version of {part}": version for part, version in stage.fingerprint().items()}
    for port, names in inputs.items():
        asked[f"input {port} (order)"] = " ".join(names)
        asked |= {f"input {upstream}": nodes[upstream].key for upstream in names}
    row = stage.output if stage.output is not None else nodes[inputs["each"][0]].row
    return Node(name, stage, asked, key_of(asked), inputs, row)
