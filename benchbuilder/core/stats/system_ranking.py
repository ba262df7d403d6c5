"""Whether a judge puts models in the order in which people put them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchbuilder.core.stats.correlation import kendall, spearman
from benchbuilder.core.stats.weighted import OptionalValues, complete_pairs


@dataclass(frozen=True)
class System:
    """A model with the mean score by people and by the judge over its `n` answers that both scored."""

    name: str
    humans: float
    judge: float
    n: int


@dataclass(frozen=True)
class RankAgreement:
    """The models from the best to the worst by people; how the judge's order agrees; the pairs that it swaps.

    In `swapped` people find the first model better. `compared` counts the pairs that people tell apart; those that
    the judge does not tell apart are `tied` and not swapped. Correlations are ``None`` where undefined, with `why`.
    """

    systems: tuple[System, ...]
    spearman: float | None
    kendall: float | None
    swapped: tuple[tuple[str, str], ...]
    tied: tuple[tuple[str, str], ...]
    compared: int
    why: str = ""


def rank_agreement(models: Sequence[str], humans: OptionalValues, judge: OptionalValues) -> RankAgreement:
    """How far the means by model agree in order; one model, human value and judge's value for each answer.

    Answers that lack a value count for neither side.
    """
    one, other, present = complete_pairs(humans, judge)
    names = np.array(models, dtype=object)[present]
    systems: list[System] = []
    for name in sorted(set(names)):
        rows = names == name
        systems.append(System(str(name), float(one[rows].mean()), float(other[rows].mean()), int(rows.sum())))
    systems.sort(key=lambda system: (-system.humans, system.name))
    told = [(a, b) for a, b in combinations(systems, 2) if a.humans > b.humans]
    rho, tau, why = _correlations(systems)
    return RankAgreement(
        systems=tuple(systems),
        spearman=rho,
        kendall=tau,
        swapped=tuple((a.name, b.name) for a, b in told if a.judge < b.judge),
        tied=tuple((a.name, b.name) for a, b in told if a.judge == b.judge),
        compared=len(told),
        why=why,
    )


def _correlations(systems: Sequence[System]) -> tuple[float | None, float | None, str]:
    if len(systems) < 3:
        return None, None, f"an order of {len(systems)} models says nothing: at least three are needed"
    means = [system.humans for system in systems], [system.judge for system in systems]
    rho, tau = spearman(*means), kendall(*means)
    if np.isnan(rho):
        return None, None, "all models have the same mean, by people or by the judge"
    return rho, tau, ""
