"""How many rows each rule decides, and which rules decide none: never used, or hidden by an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.config import StepSpec
from benchbuilder.explorer.workbench.trial_bench import TriedRow

_ORDERED = ("frames",)
"""The fields of specs that hold rules by name of which the first that fits counts."""


@dataclass(frozen=True, slots=True)
class RuleYield:
    """A rule, or a cause for which rules refuse rows, with the rows that it decides now and did before.

    `state` says why a rule decides none: no row fits it, or an earlier rule takes those that do.
    """

    rule: str
    rows: int
    before: int
    makes: bool
    state: Literal["", "unused", "hidden"] = ""


def count_yields(before: Iterable[TriedRow], after: Iterable[TriedRow]) -> list[RuleYield]:
    """The rules that decide rows, most frequent first."""
    old, new = (Counter((row.rule, bool(row.made)) for row in rows) for rows in (before, after))
    rules = sorted({*old, *new}, key=lambda rule: (-new[rule], -old[rule], rule))
    return [RuleYield(rule, new[rule, makes], old[rule, makes], makes) for rule, makes in rules]


def idle_rules(
    spec: StepSpec, used: Mapping[str, int], run: Callable[[StepSpec], Iterable[TriedRow]]
) -> list[RuleYield]:
    """The frames and endings that decide no row.

    Args:
        spec: The rules.
        used: The rules that decide rows, with how many.
        run: Tries other rules on the same rows: idle frames stand alone, to see whether a row fits them at all.
    """
    idle: list[RuleYield] = []
    for field in _ORDERED:
        frames: Mapping[str, Any] | None = getattr(spec, field, None)
        names = [name for name, frame in (frames or {}).items() if frame is not None and name not in used]
        if frames and names:
            alone = {name: frames[name] for name in names}
            fits = Counter(row.rule for row in run(spec.model_copy(update={field: alone})))
            idle += [RuleYield(name, 0, 0, makes=True, state="hidden" if fits[name] else "unused") for name in names]
    seams: Sequence[Any] | None = getattr(spec, "seams", None)
    ends = [end for end in seams or () if isinstance(end, str) and f"seam: {end}" not in used]
    return idle + [RuleYield(f"seam: {end}", 0, 0, makes=True, state="unused") for end in ends]
