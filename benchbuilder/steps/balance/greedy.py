"""The balanced choice without a solver: take, exchange while imbalance falls, drop what exceeds, add what fits.

Then a part of the choice is drawn again and again, and a better one replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.core import require_extra
from benchbuilder.steps.balance.problem import BalanceProblem, Floats, Ints, SparseColumns, add_up

_SWEEPS = 6
_ROUNDS = 4
_REDRAWS = 600
_PATIENCE = 60
"""After this number of redraws without a gain, the choice stays."""
_WORK = 1_000_000
"""How many variants all redraws together look at; large problems are drawn less often."""
_PART = 0.005
_FEWEST = 3
"""A redraw takes this proportion of the families out, or at least this number: small changes succeed most often."""
_GAIN = 1e-9


def choose_greedily(problem: BalanceProblem) -> Ints:
    """Variants that meet every constraint, in order; not always the most questions that can be had."""
    choice = GreedyChoice(problem)
    choice.take_free_families()
    for _ in range(_SWEEPS):
        if not choice.exchange():
            break
    for _ in range(_ROUNDS):
        choice.drop_excess()
        if not choice.add_fitting():
            break
    choice.redraw(min(_REDRAWS, _WORK // max(1, len(problem.worth))))
    return choice.variants()


def pack_families(problem: BalanceProblem) -> Ints:
    """Variants with no fact twice, whatever their balance."""
    choice = GreedyChoice(problem)
    choice.take_free_families()
    return choice.variants()


class GreedyChoice:
    """A choice under way: the variant of each family (-1: none), the owner of each fact, and the sums so far."""

    def __init__(self, problem: BalanceProblem) -> None:
        self._problem = problem
        families = int(problem.family.max()) + 1 if len(problem.family) else 0
        self._first = np.searchsorted(problem.family, np.arange(families + 1))
        self._chosen = np.full(families, -1, np.int64)
        self._owner = np.full(problem.facts.height, -1, np.int64)
        self._sums = np.zeros(problem.balance.height)
        self._weights = 1 / np.maximum(problem.allowed, 1) ** 2
        # families whose facts few others want come first: more families find room
        demand = np.bincount(problem.facts.rows, minlength=problem.facts.height)
        wanted = np.bincount(problem.family[problem.facts.columns()], demand[problem.facts.rows], minlength=families)
        self._order = np.argsort(wanted, kind="stable")

    def variants(self) -> Ints:
        """The chosen variants, in order."""
        return np.sort(self._chosen[self._chosen >= 0])

    def take_free_families(self) -> None:
        """Each family whose facts are free, in the variant that costs least."""
        for family in self._order:
            if self._chosen[family] < 0 and (found := self._cheapest(self._free_variants(family)))[0] >= 0:
                self._add(found[0])

    def exchange(self) -> bool:
        """Other variants of families, or other families, where the squared imbalance falls; whether anything did."""
        changed = False
        for family in self._order:
            current = int(self._chosen[family])
            rivals = [current] if current >= 0 else self._rivals(family)
            if len(rivals) != 1 or (len(self._variants(family)) == 1 and current >= 0):
                continue
            gain = self._remove(rivals[0])
            variant, cost = self._cheapest(self._free_variants(family))
            better = variant >= 0 and cost + gain < -_GAIN
            better &= self._problem.worth[variant] >= self._problem.worth[rivals[0]]
            self._add(variant if better else rivals[0])
            changed |= better
        return changed

    def drop_excess(self) -> None:
        """Remove families until no sum exceeds what is allowed; first those that exceed most."""
        while self._excess(self._sums).any():
            chosen = self.variants()
            gains = self._removal_gains(chosen)
            best = np.argsort(gains, kind="stable")
            for at in best[: max(1, int((gains < 0).sum()) // 20)]:
                variant = int(chosen[at])
                rows, values = self._problem.balance.column(variant)
                before, after = self._penalty(rows, self._sums[rows]), self._penalty(rows, self._sums[rows] - values)
                if after < before or at == best[0]:
                    self._remove(variant)

    def redraw(self, times: int) -> None:
        """Take a random part of the families out and add what fits in random order; undo it if that is worse."""
        draws, idle = np.random.default_rng(0), 0
        for _ in range(times):
            before = self.variants()
            if not len(before) or idle == _PATIENCE:
                return
            for variant in draws.choice(
                before, min(len(before), max(_FEWEST, int(_PART * len(before)))), replace=False
            ):
                self._remove(int(variant))
            self.add_fitting(draws.permutation(self._order))
            after = self.variants()
            idle = 0 if self._problem.value(after) > self._problem.value(before) else idle + 1
            if self._problem.value(after) < self._problem.value(before):
                for variant in np.setdiff1d(after, before):
                    self._remove(int(variant))
                for variant in np.setdiff1d(before, after):
                    self._add(int(variant))

    def add_fitting(self, order: Ints | None = None) -> bool:
        """Each further family that fits, in the variant that costs least; whether there was one."""
        added = False
        for family in self._order if order is None else order:
            if self._chosen[family] >= 0:
                continue
            variant, _ = self._cheapest([v for v in self._free_variants(family) if self._fits(v)])
            if variant >= 0:
                self._add(variant)
                added = True
        return added

    def _variants(self, family: int) -> range:
        return range(int(self._first[family]), int(self._first[family + 1]))

    def _free_variants(self, family: int) -> list[int]:
        return [v for v in self._variants(family) if (self._owner[self._problem.facts.column(v)[0]] < 0).all()]

    def _rivals(self, family: int) -> list[int]:
        """The chosen variants that have facts of a family."""
        facts = np.concatenate([self._problem.facts.column(variant)[0] for variant in self._variants(family)])
        return sorted({int(owner) for owner in self._owner[facts] if owner >= 0})

    def _cheapest(self, variants: Sequence[int]) -> tuple[int, float]:
        """The variant that adds least to the squared imbalance, and how much; -1 if there is none."""
        best, lowest = -1, np.inf
        for variant in variants:
            rows, values = self._problem.balance.column(variant)
            cost = float((self._weights[rows] * values * (2 * self._sums[rows] + values)).sum())
            if cost < lowest - _GAIN:
                best, lowest = variant, cost
        return best, lowest

    def _fits(self, variant: int) -> bool:
        rows, values = self._problem.balance.column(variant)
        return bool((np.abs(self._sums[rows] + values) <= self._problem.allowed[rows]).all())

    def _add(self, variant: int) -> None:
        rows, values = self._problem.balance.column(variant)
        self._sums[rows] += values
        self._chosen[self._problem.family[variant]] = variant
        self._owner[self._problem.facts.column(variant)[0]] = variant

    def _remove(self, variant: int) -> float:
        """Take a variant out; by how much the squared imbalance changes."""
        rows, values = self._problem.balance.column(variant)
        change = float((self._weights[rows] * values * (values - 2 * self._sums[rows])).sum())
        self._sums[rows] -= values
        self._chosen[self._problem.family[variant]] = -1
        self._owner[self._problem.facts.column(variant)[0]] = -1
        return change

    def _excess(self, sums: Floats) -> Floats:
        return np.maximum(np.abs(sums) - self._problem.allowed, 0)

    def _penalty(self, rows: Ints, sums: Floats) -> float:
        return float((np.maximum(np.abs(sums) - self._problem.allowed[rows], 0) ** 2).sum())

    def _removal_gains(self, chosen: Ints) -> Floats:
        """How the squared excess changes if each of the `chosen` variants is removed."""
        matrix, marked = self._problem.balance, np.zeros(len(self._problem.worth), bool)
        marked[chosen] = True
        columns = matrix.columns()
        used = marked[columns]
        rows, values, columns = matrix.rows[used], matrix.values[used], columns[used]
        now = self._sums[rows]
        allowed = self._problem.allowed[rows]
        after = np.maximum(np.abs(now - values) - allowed, 0) ** 2 - np.maximum(np.abs(now) - allowed, 0) ** 2
        return add_up(columns, after, len(marked))[chosen]


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
