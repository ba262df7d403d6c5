"""What an inspector must know of a flow: what each step reads, and how; by a plan, or by the steps of a build alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from benchbuilder.core import InstallationError, find_kind
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.steps import Step

_ORDER = "order of port "


class PortInput(NamedTuple):
    """A port of a step: how it takes rows (see `Port`), and the steps that it takes them from."""

    port: str
    mode: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class InspectedFlow:
    """The steps in the order of the flow with their ports (none for sources), and the steps with items."""

    steps: Mapping[str, tuple[PortInput, ...]]
    sources: tuple[str, ...]
    items: frozenset[str]

    @classmethod
    def of_plan(cls, plan: Plan) -> InspectedFlow:
        """The flow of a plan."""
        steps: dict[str, tuple[PortInput, ...]] = {}
        for name, node in plan.nodes.items():
            producer = node.producer
            steps[name] = tuple(
                PortInput(port, producer.ports[port].mode, names)
                for port, names in node.inputs.items()
                if isinstance(producer, Step)
            )
        items = frozenset(part.items for part in plan.recipe.by_task().values())
        return cls(steps, tuple(plan.recipe.sources), items)

    @classmethod
    def of_build(cls, manifests: Mapping[str, Manifest], items: Collection[str]) -> InspectedFlow:
        """The flow of committed steps; a step whose kind is not installed takes its rows one by one."""
        steps = {name: _ports(manifest, manifests) for name, manifest in manifests.items()}
        return cls(steps, tuple(name for name, ports in steps.items() if not ports), frozenset(items))


def ports_of_step(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """The names of the steps behind each port of a committed step, as its key has them."""
    return {
        name.removeprefix(_ORDER): tuple(names.split())
        for name, names in manifest.key_inputs.items()
        if name.startswith(_ORDER)
    }


def _ports(manifest: Manifest, manifests: Mapping[str, Manifest]) -> tuple[PortInput, ...]:
    ports: dict[str, tuple[str, ...]] = {}
    for port, names in ports_of_step(manifest).items():
        ports[port] = tuple(name for name in names if name in manifests)
    modes = _modes(manifest.kind) if ports else {}
    return tuple(PortInput(port, modes.get(port, port), names) for port, names in ports.items() if names)


def _modes(kind: str) -> dict[str, str]:
    try:
        step: type[Step] = find_kind("step", kind).load()
    except InstallationError:
        return {}
    return {port: declared.mode for port, declared in step.ports.items()}
