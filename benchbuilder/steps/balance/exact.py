"""The balanced choice by a solver of integer programmes, HiGHS of scipy."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchbuilder.core import InstallationError
from benchbuilder.steps.balance.problem import BalanceProblem, Ints, SparseColumns


@dataclass(frozen=True)
class ExactChoice:
    """The chosen variants, in order; `gap` is how far, at most, the best choice is above them (1: twice as many)."""

    variants: Ints
    gap: float
    finished: bool


def require_scipy() -> None:
    """InstallationError if scipy is missing."""
    if find_spec("scipy") is None:
        raise InstallationError(
            "choose_forms with 'method: exact' needs a library that is not installed",
            why="not installed: scipy", next="pip install 'benchbuilder[audit]', or set method: greedy",
        )  # fmt: skip


def choose_exactly(problem: BalanceProblem, start: Ints, gap: float, seconds: float) -> ExactChoice:
    """The choice with the most questions, within `gap` of the best, or the best that was found in `seconds`.

    `start` is a choice that meets every constraint; it counts if the solver finds none that is better.
    """
    require_scipy()
    from scipy.optimize import Bounds, LinearConstraint, milp

    width = len(problem.worth)
    if width == 0:
        return ExactChoice(start, 0.0, finished=True)
    constraints: list[Any] = [LinearConstraint(_matrix(_distinct_rows(problem.facts)), -np.inf, 1)]
    if problem.balance.height:
        constraints.append(LinearConstraint(_matrix(problem.balance), -problem.allowed, problem.allowed))
    found: Any = milp(
        -problem.worth.astype(float), integrality=np.ones(width), bounds=Bounds(0, 1), constraints=constraints,
        options={"mip_rel_gap": gap, "time_limit": seconds},
    )  # fmt: skip
    best = start
    if found.x is not None:
        variants = np.flatnonzero(np.round(found.x) > 0)
        if problem.value(variants) > problem.value(start) and _is_valid(problem, variants):
            best = variants
    bound = float("inf") if found.mip_dual_bound is None else -float(found.mip_dual_bound)
    value = problem.value(best)
    return ExactChoice(best, max(0.0, bound / value - 1) if value else 0.0, finished=found.status == 0)


def _is_valid(problem: BalanceProblem, variants: Ints) -> bool:
    """Whether rounding left every constraint in force."""
    return bool((problem.facts.sums(variants) <= 1).all() and not problem.excess(variants).any())


def _matrix(columns: SparseColumns) -> Any:
    from scipy.sparse import csc_array

    width = len(columns.starts) - 1
    return csc_array((columns.values, columns.rows, columns.starts), shape=(columns.height, width))


def _distinct_rows(facts: SparseColumns) -> SparseColumns:
    """The facts without those that belong to the same variants as another one."""
    columns = facts.columns()
    draws = np.random.default_rng(0).integers(1, 1 << 40, len(facts.starts) - 1).astype(float)
    prints = np.bincount(facts.rows, draws[columns], minlength=facts.height)
    _, first = np.unique(prints, return_index=True)
    needed = np.zeros(facts.height, bool)
    needed[first] = True
    kept = needed[facts.rows]
    entries = columns[kept], (np.cumsum(needed) - 1)[facts.rows[kept]], facts.values[kept]
    return SparseColumns.of(entries, len(facts.starts) - 1, int(needed.sum()))
