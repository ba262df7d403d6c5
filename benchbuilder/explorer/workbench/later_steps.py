"""What the steps after a step make of its new rows, up to the first that needs all rows at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.config import StepSpec
from benchbuilder.core import AccountingError, Dropped, Failed, Kept, NotApplicable, Outcome, Row
from benchbuilder.explorer.workbench.trial_bench import TrialBench, rule_outcomes
from benchbuilder.steps import Map, Step


@dataclass(frozen=True, slots=True)
class LaterStep:
    """What a later step made of new rows.

    `lost` holds the reasons of the branches that it did not keep, with what they mean and how many they are.
    """

    step: str
    rows: int
    kept: int
    lost: tuple[tuple[str, str, int], ...] = ()
    has_rules: bool = False


def run_later_steps(
    bench: TrialBench, specs: Mapping[str, StepSpec], new_rows: Sequence[Row], with_rules: Mapping[str, Any]
) -> list[LaterStep]:
    """The later steps that work row by row, in the order of the plan, on what came of `new_rows`.

    Args:
        bench: The step whose rules made the rows.
        specs: The specs that a draft changed.
        new_rows: The rows.
        with_rules: The steps that have rules, which an author can change too.
    """
    fresh: dict[str, list[Row]] = {bench.step: list(new_rows)}
    later: list[LaterStep] = []
    for name, node in bench.plan.nodes.items():
        rows = [row for up in node.inputs.get("each", ()) for row in fresh.get(up, ())]
        producer = node.producer
        built = all(up in bench.manifests for up in node.upstream())
        if not rows or not built or not isinstance(producer, Map) or type(producer).prepare is not Step.prepare:
            continue
        try:
            parents = bench.ancestors(name, rows)
        except AccountingError:  # an ancestor that the build does not have: only a build knows
            continue
        step = bench.open_later(name, specs.get(name, bench.loaded.recipe.steps[name]), fresh)
        outcomes = [
            outcome
            for row, above in zip(rows, parents, strict=True)
            for outcome in rule_outcomes(step, row, above, bench.reply_to).outcomes
        ]
        fresh[name] = [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
        later.append(LaterStep(name, len(rows), len(fresh[name]), _reasons(step, outcomes), name in with_rules))
    return later


def _reasons(step: Map, outcomes: Sequence[Outcome]) -> tuple[tuple[str, str, int], ...]:
    counts = Counter(
        outcome.error if isinstance(outcome, Failed) else outcome.reason
        for outcome in outcomes
        if isinstance(outcome, Dropped | NotApplicable | Failed)
    )
    return tuple((reason, step.reasons.get(reason, ""), count) for reason, count in counts.most_common())
