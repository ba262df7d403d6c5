"""The balanced choice as numbers: which variants exclude each other, and which sums must stay near zero."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def add_up(places: Ints, values: Floats, size: int) -> Floats:
    """The sum of the `values` at each of `size` places."""
    return np.bincount(places, values, minlength=size).astype(float)


@dataclass(frozen=True)
class SparseColumns:
    """A sparse matrix by column: column `c` has ``values[i]`` in ``rows[i]``, i from ``starts[c]`` on."""

    starts: Ints
    rows: Ints
    values: Floats
    height: int

    @classmethod
    def of(cls, entries: tuple[Ints, Ints, Floats], width: int, height: int) -> SparseColumns:
        """The matrix of `entries` (columns, rows, values)."""
        columns, rows, values = entries
        order = np.lexsort((rows, columns))
        starts = np.searchsorted(columns[order], np.arange(width + 1))
        return cls(starts.astype(np.int64), rows[order], values[order].astype(float), height)

    def column(self, at: int) -> tuple[Ints, Floats]:
        """The rows and values of a column."""
        part = slice(int(self.starts[at]), int(self.starts[at + 1]))
        return self.rows[part], self.values[part]

    def columns(self) -> Ints:
        """The column of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def sums(self, chosen: Ints) -> Floats:
        """The sum of the `chosen` columns, by row."""
        marked = np.zeros(len(self.starts) - 1)
        marked[chosen] = 1
        return add_up(self.rows, self.values * marked[self.columns()], self.height)


@dataclass(frozen=True)
class BalanceProblem:
    """Choose variants with the most questions: no fact twice, and every balance row within ``±allowed``.

    `worth` is the number of questions of a variant, `family` the number of its family, `facts` and `balance` have a
    column for each variant.
    """

    worth: Ints
    family: Ints
    facts: SparseColumns
    balance: SparseColumns
    allowed: Floats

    def excess(self, chosen: Ints) -> Floats:
        """By how much each balance row exceeds what is allowed."""
        return np.maximum(np.abs(self.balance.sums(chosen)) - self.allowed, 0)

    def value(self, chosen: Ints) -> int:
        """The number of questions of the `chosen` variants."""
        return int(self.worth[chosen].sum())


@dataclass(frozen=True)
class Slack:
    """A sum may reach `least`, or `share` of the questions that it counts, whichever is more."""

    least: float
    share: float


@dataclass(frozen=True)
class FeaturePairs:
    """Question ``questions[i]`` (rising) has feature ``features[i]``; features are numbers below `size`.

    Only features of at least `least` questions must be balanced.
    """

    questions: NDArray[np.integer[Any]]
    features: NDArray[np.integer[Any]]
    size: int
    least: int


def state_problem(
    variants: Sequence[Variant],
    scopes: Ints,
    views: Iterable[FeaturePairs],
    groups: Sequence[str] | None,
    slack: Slack,
    packing: Callable[[BalanceProblem], Ints],
) -> BalanceProblem:
    """The problem for `variants`.

    Args:
        variants: The variants, those of a family side by side.
        scopes: The number of the scope of each question; every scope is balanced by itself.
        views: The features of questions.
        groups: The group of each variant in which both forms must be equally frequent; ``None``: forms are free.
        slack: What sums may reach.
        packing: Chooses variants of a problem without balance; gives the number of questions to expect.
    """
    names = {name: at for at, name in enumerate(dict.fromkeys(variant.family for variant in variants))}
    family = np.array([names[variant.family] for variant in variants], np.int64)
    worth = np.array([len(variant.questions) for variant in variants], np.int64)
    width = len(variants)
    facts, free = _fact_columns(variants), SparseColumns.of((_NONE, _NONE, _NONE.astype(float)), width, 0)
    bare = BalanceProblem(worth, family, facts, free, np.zeros(0))
    share = bare.value(packing(bare)) / max(1, int(worth.sum()))
    parts = [_balance_rows(variants, scopes, view, slack, share) for view in views]
    if groups is not None:
        parts.append(_form_rows(variants, groups))
    entries, allowed = _stack(parts)
    entries, allowed = _reduce_rows(entries, allowed, family)
    return BalanceProblem(worth, family, facts, SparseColumns.of(entries, width, len(allowed)), allowed)


_NONE: Any = np.zeros(0, np.int64)
_Rows = tuple[tuple[Ints, Ints, Floats], Floats]
"""Entries (variants, rows, values), and what each row is allowed."""


def _fact_columns(variants: Sequence[Variant]) -> SparseColumns:
    """A row for each fact, and for each family whose variants share no fact: at most one variant may be chosen."""
    numbers: dict[str, int] = {}
    pairs = [
        (at, numbers.setdefault(fact, len(numbers)))
        for at, variant in enumerate(variants)
        for fact in sorted({question.fact for question in variant.questions})
    ]
    columns, rows = np.array(pairs, np.int64).reshape(-1, 2).T
    return SparseColumns.of((columns, rows, np.ones(len(rows))), len(variants), len(numbers))


def _balance_rows(variants: Sequence[Variant], scopes: Ints, view: FeaturePairs, slack: Slack, share: float) -> _Rows:
    """For each feature in each scope and variant: questions with the verdict yes minus those with no."""
    owner, sign = np.full(len(scopes), -1, np.int64), np.zeros(len(scopes))
    for at, variant in enumerate(variants):
        for question in variant.questions:
            owner[question.row], sign[question.row] = at, 1 if question.yes else -1
    counts = np.zeros((int(scopes.max(initial=0)) + 1) * view.size, np.int64)
    for questions, features in _pairs_by_owner(view, owner):
        np.add.at(counts, scopes[questions] * view.size + features, 1)
    numbers, height = np.cumsum(counts > 0) - 1, int((counts > 0).sum())
    parts: list[tuple[Ints, Ints, Floats]] = [(_NONE, _NONE, _NONE.astype(float))]
    for questions, features in _pairs_by_owner(view, owner):
        keys = scopes[questions] * view.size + features
        pairs, first, inverse = np.unique(
            owner[questions] * max(1, height) + numbers[keys], return_index=True, return_inverse=True
        )
        sums = add_up(inverse, sign[questions], len(pairs))
        columns, rows = np.divmod(pairs, max(1, height))
        counted = (sums != 0) & (counts[keys[first]] >= view.least)
        parts.append((columns[counted], rows[counted], sums[counted]))
    columns, rows, sums = (np.concatenate(column) for column in zip(*parts, strict=True))
    return (columns, rows, sums), np.maximum(slack.least, np.floor(slack.share * share * counts[counts > 0]))


_PAIRS = 1 << 18
"""About so many pairs of question and feature are looked at together."""


def _pairs_by_owner(view: FeaturePairs, owner: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of all questions that a variant has, those of some variants after the other."""
    asked = np.argsort(owner, kind="stable")[int((owner < 0).sum()) :]
    starts = np.searchsorted(view.questions, np.arange(len(owner) + 1, dtype=view.questions.dtype))
    sizes = np.diff(starts)[asked]
    ends = np.concatenate([_NONE, np.cumsum(sizes)])
    last_of_owner = np.flatnonzero(np.append(owner[asked][1:] != owner[asked][:-1], True)) + 1 if len(asked) else _NONE
    first = 0
    while first < len(asked):
        done = int(ends[first - 1]) if first else 0
        wanted = int(np.searchsorted(ends, done + _PAIRS, side="right"))
        stop = int(last_of_owner[np.searchsorted(last_of_owner, max(wanted, first + 1))])
        some, count = asked[first:stop], sizes[first:stop]
        before = np.cumsum(count) - count
        places = np.repeat(starts[some] - before, count) + np.arange(int(count.sum()))
        yield np.repeat(some, count), view.features[places].astype(np.int64)
        first = stop


def _form_rows(variants: Sequence[Variant], groups: Sequence[str]) -> _Rows:
    """In each group that has both forms: affirmed families minus negated ones, which may differ by one."""
    forms: dict[str, set[bool]] = {}
    for variant, group in zip(variants, groups, strict=True):
        forms.setdefault(group, set()).add(variant.negated)
    numbers = {group: at for at, group in enumerate(name for name, found in forms.items() if len(found) > 1)}
    entries = [
        (at, numbers[group], -1 if variant.negated else 1)
        for at, (variant, group) in enumerate(zip(variants, groups, strict=True))
        if group in numbers
    ]
    columns, rows, values = np.array(entries, np.int64).reshape(-1, 3).T
    return (columns, rows, values.astype(float)), np.ones(len(numbers))


def _stack(parts: Sequence[_Rows]) -> _Rows:
    columns, rows, values, limits = [_NONE], [_NONE], [_NONE.astype(float)], [_NONE.astype(float)]
    height = 0
    for (column, row, value), allowed in parts:
        columns.append(column)
        rows.append(row + height)
        values.append(value)
        limits.append(allowed)
        height += len(allowed)
    return (np.concatenate(columns), np.concatenate(rows), np.concatenate(values)), np.concatenate(limits)


def _reduce_rows(entries: tuple[Ints, Ints, Floats], allowed: Floats, family: Ints) -> _Rows:
    """Without the rows that no choice can violate, and with equal rows once."""
    columns, rows, values = entries
    if not len(rows):
        return entries, np.zeros(0)
    keys, inverse = np.unique(rows * (int(family.max()) + 1) + family[columns], return_inverse=True)
    most = np.zeros(len(keys))
    np.maximum.at(most, inverse, np.abs(values))
    reach = np.bincount(keys // (int(family.max()) + 1), most, minlength=len(allowed))
    draws = np.random.default_rng(0).integers(1, 1 << 40, (2, int(columns.max()) + 1)).astype(float)
    prints = [np.bincount(rows, values * draw[columns], minlength=len(allowed)) for draw in draws]
    order = np.lexsort((allowed, *prints))
    first = np.ones(len(order), bool)
    first[1:] = (prints[0][order][1:] != prints[0][order][:-1]) | (prints[1][order][1:] != prints[1][order][:-1])
    needed = np.zeros(len(allowed), bool)
    needed[order[first]] = True
    needed &= reach > allowed
    kept = needed[rows]
    return (columns[kept], (np.cumsum(needed) - 1)[rows[kept]], values[kept]), allowed[needed]


AskRule = Literal["both", "one"]
"""``both``: each fact of a family is asked in its true and in its false version; ``one``: each fact is asked once."""


@dataclass(frozen=True, slots=True)
class TfQuestion:
    """What the choice needs to know of a question; `row` is its position in the table."""

    row: int
    fact: str
    family: str
    negated: bool
    yes: bool


@dataclass(frozen=True, slots=True)
class Variant:
    """Questions of one family and one form that can be asked together."""

    family: str
    negated: bool
    questions: tuple[TfQuestion, ...]


def list_variants(questions: Iterable[TfQuestion], ask: AskRule, seed: int) -> list[Variant]:
    """Every variant of every family, in an order that depends on ids and `seed` only.

    A family that has no variant is incomplete.
    """
    families: dict[str, list[TfQuestion]] = defaultdict(list)
    for question in questions:
        families[question.family].append(question)
    facts = {question.fact for rows in families.values() for question in rows}
    variants: list[Variant] = []
    for family in sorted(families, key=lambda name: (hashlib.blake2b(f"{seed}:{name}".encode()).digest(), name)):
        variants += _variants_of(family, families[family], 1 if family in facts else 2, ask)
    return variants


def _variants_of(family: str, rows: Sequence[TfQuestion], least: int, ask: AskRule) -> Iterator[Variant]:
    """The variants of one family, which must have at least `least` facts."""
    names = sorted({question.fact for question in rows})
    if len(names) < least:
        return
    for negated in (False, True):
        found: dict[tuple[str, bool], list[TfQuestion]] = defaultdict(list)
        for question in rows:
            if question.negated == negated:
                found[question.fact, question.yes].append(question)
        for chosen in _whole_choices(names, found) if ask == "both" else _single_choices(names, found):
            yield Variant(family, negated, tuple(chosen))


def _whole_choices(
    names: Sequence[str], found: Mapping[tuple[str, bool], Sequence[TfQuestion]]
) -> Iterator[list[TfQuestion]]:
    """All questions of a form, if every fact has as many with the verdict yes as with no, and at least one."""
    counts = [(len(found.get((name, True), ())), len(found.get((name, False), ()))) for name in names]
    if all(yes == no > 0 for yes, no in counts):
        yield [question for name in names for verdict in (True, False) for question in found[name, verdict]]


def _single_choices(
    names: Sequence[str], found: Mapping[tuple[str, bool], Sequence[TfQuestion]]
) -> Iterator[list[TfQuestion]]:
    """One question for each fact; the verdicts alternate. There are two ways."""
    for first in (True, False):
        wanted = [(name, first if place % 2 == 0 else not first) for place, name in enumerate(names)]
        if all(key in found for key in wanted):
            yield [found[key][0] for key in wanted]
