"""The flow of a build: its steps, what each took in, kept and lost, and from which steps it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from benchbuilder.pipeline import Manifest, ports_of_step

LOST = ("dropped", "failed")
"""The outcomes of rows that are lost."""


@dataclass(frozen=True)
class LossCount:
    """How many branches of a step ended with this outcome and reason; `meaning` is the sentence of the reason."""

    outcome: str
    reason: str
    meaning: str
    count: int


@dataclass(frozen=True)
class FlowStep:
    """A step (or source) with its counts: `branches` came in, `kept` went on, `losses` say what became of the rest.

    `ports` maps each port to the steps that it reads from. `kept_by_source` counts what went on by the source that it
    descends from. `state` is ``incomplete`` while rows have failed.
    """

    name: str
    kind: str
    row: str
    rows: int
    branches: int
    kept: int
    losses: tuple[LossCount, ...]
    ports: Mapping[str, tuple[str, ...]]
    kept_by_source: Mapping[str, int]
    state: str

    @property
    def lost(self) -> int:
        """How many branches were dropped or failed; those to which the step does not apply are not lost."""
        return sum(loss.count for loss in self.losses if loss.outcome in LOST)

    @property
    def lost_share(self) -> float:
        """The share of its branches that were lost."""
        return self.lost / self.branches if self.branches else 0.0

    @property
    def is_source(self) -> bool:
        """Whether it reads files."""
        return not self.ports

    @property
    def inputs(self) -> tuple[str, ...]:
        """Every step that it reads from, once."""
        return tuple(dict.fromkeys(name for names in self.ports.values() for name in names))


def read_flow(manifests: Mapping[str, Manifest]) -> list[FlowStep]:
    """The steps in the order of the flow."""
    return [flow_step(manifest, manifests) for manifest in manifests.values()]


def flow_step(manifest: Manifest, manifests: Mapping[str, Manifest]) -> FlowStep:
    """The counts of one step."""
    kept, branches = Counter[str](), 0
    losses: Counter[tuple[str, str]] = Counter()
    for source, outcome, reason, count in manifest.counts:
        branches += count
        if outcome == "kept":
            kept[source] += count
        else:
            losses[(outcome, reason)] += count
    ports = {
        port: tuple(name for name in names if name in manifests) for port, names in ports_of_step(manifest).items()
    }
    return FlowStep(
        manifest.step, manifest.kind, manifest.row, manifest.rows, branches, kept.total(),
        tuple(LossCount(outcome, reason, manifest.reasons.get(reason, ""), count)
              for (outcome, reason), count in losses.most_common()),
        {port: names for port, names in ports.items() if names}, kept, manifest.state,
    )  # fmt: skip


def losses_by_reason(flow: list[FlowStep]) -> list[tuple[FlowStep, LossCount]]:
    """All losses of a build with their steps, the largest first."""
    pairs = [(step, loss) for step in flow for loss in step.losses if loss.outcome in LOST]
    return sorted(pairs, key=lambda pair: -pair[1].count)
