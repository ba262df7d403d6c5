"""Whether a judge ranks models as people do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchbuilder.core.stats.correlation import kendall_statistic, spearman_statistic
from benchbuilder.core.stats.weighted import OptionalValues, complete_pairs


@dataclass(frozen=True)
class System:
    """A model with its mean scores by people and by the judge, over the `n` answers that both scored."""

    name: str
    humans: float
    judge: float
    n: int


@dataclass(frozen=True)
class RankAgreement:
    """The models from best to worst by people, how well the judge's order agrees, and the pairs that it swaps.

    In `swapped`, people rank the first model higher. `compared` counts the pairs with different means by people. Pairs
    with equal means by the judge are `tied`, not swapped. Correlations are ``None`` if undefined, with `why`.
    """

    systems: tuple[System, ...]
    spearman: float | None
    kendall: float | None
    swapped: tuple[tuple[str, str], ...]
    tied: tuple[tuple[str, str], ...]
    compared: int
    why: str = ""


def rank_agreement(models: Sequence[str], humans: OptionalValues, judge: OptionalValues) -> RankAgreement:
    """How well the orders of the means by model agree; each answer has a model, a human value and a judge's value.

    Answers without one of the values are left out.
    """
    by_people, by_judge, present = complete_pairs(humans, judge)
    names = np.array(models, dtype=object)[present]
    systems: list[System] = []
    for name in sorted(set(names)):
        rows = names == name
        systems.append(System(str(name), float(by_people[rows].mean()), float(by_judge[rows].mean()), int(rows.sum())))
    systems.sort(key=lambda system: (-system.humans, system.name))
    compared = [(a, b) for a, b in combinations(systems, 2) if a.humans > b.humans]
    rho, tau, why = _correlations(systems)
    return RankAgreement(
        systems=tuple(systems),
        spearman=rho,
        kendall=tau,
        swapped=tuple((a.name, b.name) for a, b in compared if a.judge < b.judge),
        tied=tuple((a.name, b.name) for a, b in compared if a.judge == b.judge),
        compared=len(compared),
        why=why,
    )


def _correlations(systems: Sequence[System]) -> tuple[float | None, float | None, str]:
    if len(systems) < 3:
        return None, None, f"an order of {len(systems)} models says nothing: at least three are needed"
    means = [system.humans for system in systems], [system.judge for system in systems]
    rho, tau = spearman_statistic(*means).value(), kendall_statistic(*means).value()
    if np.isnan(rho):
        return None, None, "all models have the same mean, by people or by the judge"
    return rho, tau, ""
