"""The balanced choice by a solver of integer programmes, HiGHS of scipy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.core import require_extra
from benchbuilder.steps.balance.problem import BalanceProblem, Ints, SparseColumns

_ROUNDING = 1e-6


@dataclass(frozen=True)
class ExactChoice:
    """The chosen variants, in order; `gap` is how far, at most, the best choice is above them (1: twice as many)."""

    variants: Ints
    gap: float
    finished: bool


def require_scipy() -> None:
    """InstallationError if scipy is missing."""
    require_extra("audit", "choose_forms with `method: exact`", ["scipy"], instead="set method: greedy")


def choose_exactly(problem: BalanceProblem, start: Ints, gap: float, seconds: float) -> ExactChoice:
    """The choice with the most questions, within `gap` of the best, or the best that was found in `seconds`.

    `start` is a choice that meets every constraint. It counts if the solver finds none that is better, or if it is
    good enough already.
    """
    require_scipy()
    best, bound = start, _most_questions(problem)
    if problem.value(best) * (1 + gap) < bound:
        chosen, limit = _solve(problem, gap, seconds)
        bound = min(bound, limit)
        if problem.value(chosen) > problem.value(best) and _is_valid(problem, chosen):
            best = chosen
    value = problem.value(best)
    rest = bound / value - 1 if value else float(bound > 0)
    return ExactChoice(best, max(0.0, rest), finished=rest <= gap + _ROUNDING)


def _most_questions(problem: BalanceProblem) -> float:
    """A bound: every fact has as many questions as in the variant that asks most about each of its facts."""
    facts = problem.facts
    each = (problem.worth / np.maximum(1, np.diff(facts.starts)))[facts.columns()]
    most = np.zeros(facts.height)
    np.maximum.at(most, facts.rows, each)
    return float(most.sum())


def _solve(problem: BalanceProblem, gap: float, seconds: float) -> tuple[Ints, float]:
    """The solver's choice, and its bound for the number of questions."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    width = len(problem.worth)
    constraints: list[Any] = [LinearConstraint(_matrix(_distinct_rows(problem.facts)), -np.inf, 1)]
    if problem.balance.height:
        limits: Any = problem.allowed
        constraints.append(LinearConstraint(_matrix(problem.balance), -limits, limits))
    found: Any = milp(
        -problem.worth.astype(float), integrality=np.ones(width), bounds=Bounds(0, 1), constraints=constraints,
        options={"mip_rel_gap": gap, "time_limit": seconds, "presolve": False},  # probing outlasts the time limit
    )  # fmt: skip
    chosen = np.flatnonzero(np.round(found.x) > 0) if found.x is not None else np.zeros(0, np.int64)
    return chosen, float("inf") if found.mip_dual_bound is None else -float(found.mip_dual_bound)


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
