"""Runs the checks of the audit: scores, permutations over all checks together, intervals, and the four words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import groupby
from math import erfc, sqrt
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchbuilder.evaluation.audit.estimator import HeldOutRidge, fold_numbers
from benchbuilder.evaluation.audit.features import Integers, Reals
from benchbuilder.evaluation.audit.findings import FEWEST_FAMILIES, AuditCheck, AuditFinding, AuditSettings, AuditWord
from benchbuilder.evaluation.audit.kept_measures import KeptMeasures, MeasuredCheck, digest_of

Z_SEEN = 1.6449 + 0.8416
"""Quantiles of .95 (the level) and of .80 (how often the leak would be seen)."""
_ROUNDING = 1e-9
_BYTES, _MOST_BYTES = 24, 500_000_000
"""Memory of a check for each item and permutation, and that of all checks that run at the same time."""


class _CheckedItems:
    """The items of a target in a scope, by id: what all views of them share."""

    def __init__(self, check: AuditCheck, draws: PermutationDraws, settings: AuditSettings) -> None:
        self._target, self._signed, self._draws, self._settings = check.target, check.features.signed, draws, settings
        self.order = np.argsort(np.asarray(check.ids, np.str_), kind="stable")
        names, codes = np.unique(np.asarray(check.families, np.str_), return_inverse=True)
        self.names = [str(name) for name in names]
        self.codes: Integers = codes[self.order].astype(np.int64)
        ones = np.ones(len(self.order), np.int8)
        self.labels = ones if self._signed else np.asarray(check.labels, np.int8)[self.order]
        drawn = (
            draws.digest,
            settings.seed,
            settings.permutations,
            settings.samples,
            settings.folds,
            settings.repetitions,
        )
        self.digest = digest_of(drawn, self._target, self._signed, self.names, self.codes, self.labels)

    @cached_property
    def folds(self) -> list[Integers]:
        """The fold of each item, for each repetition."""
        made = self._settings
        return [fold_numbers(self.codes, made.folds, made.seed, number) for number in range(made.repetitions)]

    @cached_property
    def permuted(self) -> Labels:
        """The labels in columns, one per permutation."""
        if self._signed:
            return self._draws.sides(self.codes, self.names)
        return self._draws.labels(self._target, self.labels, self.codes, self.names)


def run_checks(
    checks: Sequence[AuditCheck], settings: AuditSettings, workers: int = 1, kept: KeptMeasures | None = None
) -> list[AuditFinding]:
    """One finding per check, in their order, up to `workers` at a time.

    Neither the order of checks nor that of items changes a finding, nor do more workers. What `kept` knows by the rows,
    labels and families that a check sees is not measured again: the permutations depend on the names of all families,
    so they are part of that.
    """
    kept = kept or KeptMeasures()
    findings: dict[int, AuditFinding] = {}
    measured: dict[int, MeasuredCheck] = {}
    for place, check in enumerate(checks):
        why = why_not_measured(check)
        if why:
            findings[place] = _unmeasured(check, why)
    draws = PermutationDraws(
        [name for check in checks for name in check.families], settings.permutations, settings.seed
    )
    with _one_thread():
        for places in _by_scope(checks, [place for place in range(len(checks)) if place not in findings]):
            measured |= _measure_scope({place: checks[place] for place in places}, draws, settings, workers, kept)
    kept.save()
    order = sorted(measured)
    together = family_p_values(
        np.array([measured[place].observed for place in order]),
        np.array([measured[place].permuted for place in order]).reshape(len(order), settings.permutations),
    )
    for place, p_family in zip(order, together, strict=True):
        finding = replace(measured[place].finding, p_family=float(p_family))
        findings[place] = replace(finding, word=audit_word(finding, settings))
    return [findings[place] for place in range(len(checks))]


def why_not_measured(check: AuditCheck) -> str:
    """Why nothing can be measured; empty if something can."""
    if not check.ids:
        return "there are no questions"
    if len(set(check.families)) < 2:
        return "all questions are of one family, so none can be held out"
    if not check.features.signed and len(set(check.labels)) < 2:
        return "all questions have the same label"
    return ""


def audit_word(finding: AuditFinding, settings: AuditSettings) -> AuditWord:
    """Whether the view leaks; see `AuditFinding`."""
    if finding.score is None or finding.p_family is None or finding.upper is None:
        return "cannot tell"
    excess, bar = finding.score - 0.5, settings.limit + _ROUNDING
    if finding.p_family <= settings.level and excess > 0:
        return "leaks" if excess > bar else "hint"
    if finding.families >= FEWEST_FAMILIES and finding.upper <= 0.5 + bar:
        return "clean"
    return "cannot tell"


def _one_thread() -> AbstractContextManager[object]:
    """One thread for products of matrices: most are small, and more threads would mostly wait for each other."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    return threadpool_limits(1)


def _by_scope(checks: Sequence[AuditCheck], places: Sequence[int]) -> Iterator[list[int]]:
    for _, group in groupby(
        sorted(places, key=lambda place: checks[place].scope), key=lambda place: checks[place].scope
    ):
        yield list(group)


def _measure_scope(
    checks: dict[int, AuditCheck], draws: PermutationDraws, settings: AuditSettings, workers: int, kept: KeptMeasures
) -> dict[int, MeasuredCheck]:
    """Checks of equal items share permutations; those of equal features and families share a solver too.

    Checks of equal items and features are one check under several names.
    """
    shared: dict[object, _CheckedItems] = {}
    same: dict[object, list[int]] = {}
    items: dict[int, _CheckedItems] = {}
    for place, check in checks.items():
        same.setdefault((check.features.key(), tuple(check.ids), tuple(check.families)), []).append(place)
        key = (check.target, tuple(check.ids), tuple(check.families), tuple(check.labels), check.features.signed)
        if key not in shared:
            shared[key] = _CheckedItems(check, draws, settings)
        items[place] = shared[key]

    def measure(places: list[int]) -> list[tuple[int, MeasuredCheck]]:
        shown, ridge = checks[places[0]].features.take(items[places[0]].order), None
        seen, found = shown.key(), list[tuple[int, MeasuredCheck]]()
        for place in places:
            key = digest_of(seen, shown.one_hot, items[place].digest)
            if (known := kept.find(key)) is None:
                ridge = ridge or HeldOutRidge(shown, items[place].codes)
                known = kept.keep(key, _measure(checks[place], items[place], ridge, settings))
            found.append((place, replace(known, finding=_of(checks[place], known.finding))))
        return found

    size = max(len(check.ids) for check in checks.values()) * settings.permutations * _BYTES
    at_once = max(1, min(workers, _MOST_BYTES // max(size, 1)))
    with ThreadPoolExecutor(at_once) as pool:
        return dict(found for group in pool.map(measure, same.values()) for found in group)


def _of(check: AuditCheck, finding: AuditFinding) -> AuditFinding:
    """The finding of a check that sees the same."""
    return replace(finding, target=check.target, view=check.view, scope=check.scope, gates=check.gates)


def _measure(check: AuditCheck, items: _CheckedItems, ridge: HeldOutRidge, settings: AuditSettings) -> MeasuredCheck:
    scores, first = ridge.guess(np.column_stack([items.labels, items.permuted]), items.folds[0])
    observed, permuted = float(scores[0]), scores[1:]
    hits = [first, *(ridge.guess(items.labels[:, None], folds)[1] for folds in items.folds[1:])]
    mean_hits: Reals = np.mean(hits, axis=0)
    score = _balanced(mean_hits, items.labels)
    drawn = family_draws(mean_hits, items.labels.astype(np.float64), items.codes, settings.samples, settings.seed)
    low, high, upper = (float(bound) for bound in np.quantile(drawn, [0.025, 0.975, 0.95]))
    finding = AuditFinding(
        target=check.target,
        view=check.view,
        scope=check.scope,
        n=len(items.order),
        families=len(items.names),
        score=score,
        low=low,
        high=high,
        upper=max(upper, 0.5 + upper - score),
        p=single_p(observed, permuted),
        p_family=None,
        smallest_visible=Z_SEEN * float(permuted.std()),
        word="cannot tell",
        gates=check.gates,
    )
    return MeasuredCheck(observed, permuted, finding)


def _balanced(hits: Reals, labels: Labels) -> float:
    """Balanced accuracy; with one label only, the accuracy."""
    return float(np.mean([hits[labels == label].mean() for label in np.unique(labels)]))


def _unmeasured(check: AuditCheck, why: str) -> AuditFinding:
    return AuditFinding(
        target=check.target,
        view=check.view,
        scope=check.scope,
        n=len(check.ids),
        families=len(set(check.families)),
        score=None,
        low=None,
        high=None,
        upper=None,
        p=None,
        p_family=None,
        smallest_visible=None,
        word="cannot tell",
        gates=check.gates,
        why=why,
    )


Labels = NDArray[np.int8]
_FLOOR = 0.005
"""The least sd by which an excess is divided; see `family_p_values`."""
_EQUAL = 1e-9


class PermutationDraws:
    """Random numbers for each family: permutation b of one check belongs to permutation b of all others.

    So the largest score over all checks has the distribution that their overlap gives it. A family that is turned round
    is turned round in every target and scope. Exchanges agree between scopes, but not between targets: verdict and
    truth of single questions differ by a form that is drawn. Drawn apart they count as independent, which can only
    make p larger.
    """

    def __init__(self, families: Sequence[str], permutations: int, seed: int) -> None:
        self._names = sorted(set(families))
        self.digest = digest_of(self._names)
        self._row = {name: row for row, name in enumerate(self._names)}
        self._seed = seed
        self.permutations = permutations
        self._exchanging: dict[str, NDArray[np.float32]] = {}

    def labels(self, target: str, labels: Labels, codes: Integers, names: Sequence[str]) -> Labels:
        """The 0/1 `labels` of items in columns, one per permutation; `codes` are the places of families in `names`."""
        if target not in self._exchanging:
            self._exchanging[target] = self._numbers(1 + crc32(target.encode()))
        rows = [self._row[name] for name in names]
        sizes = np.bincount(codes, minlength=len(names))
        yes = np.bincount(codes, labels, minlength=len(names)).astype(np.int64)
        drawn = np.repeat(labels[:, None], self.permutations, axis=1)
        balanced = 2 * yes == sizes
        drawn ^= ((self._turning[rows] < 0.5) & balanced[:, None])[codes]
        single = (yes == 0) | (yes == sizes)
        numbers = self._exchanging[target][rows]
        for size in np.unique(sizes[single]):
            chosen = np.flatnonzero(single & (sizes == size))
            swapped = _exchange((yes[chosen] > 0).astype(np.int8), numbers[chosen])
            place = np.searchsorted(chosen, codes)
            place[place == len(chosen)] = 0
            own = chosen[place] == codes
            drawn[own] = swapped[place[own]]
        for family in np.flatnonzero(~single & ~balanced):
            own = np.flatnonzero(codes == family)
            random = np.random.default_rng([self._seed, 2, crc32(target.encode()), self._row[names[int(family)]]])
            drawn[own] = _exchange(labels[own], random.random((len(own), self.permutations), np.float32))
        return drawn

    @cached_property
    def _turning(self) -> NDArray[np.float32]:
        return self._numbers(0)

    def _numbers(self, stream: int) -> NDArray[np.float32]:
        return np.random.default_rng([self._seed, 1, stream]).random((len(self._names), self.permutations), np.float32)

    def sides(self, codes: Integers, names: Sequence[str]) -> Labels:
        """Which side of each pair is right, per permutation: 1 as it is, 0 turned round."""
        return (self._turning[[self._row[name] for name in names]] >= 0.5).astype(np.int8)[codes]


def single_p(observed: float, permuted: Reals) -> float:
    """(1 + the number of permutations that score at least as much) / (1 + the number of permutations)."""
    return (1 + int((permuted >= observed - _EQUAL).sum())) / (1 + len(permuted))


def family_p_values(observed: Reals, permuted: Reals) -> Reals:
    """p of each check over all checks together, by Westfall and Young's largest standardised excess.

    `permuted` has one row per check. The mean and the sd of a check are over its permutations and the observed score,
    so that the observed one is exchangeable with them. An sd below 0.005 counts as 0.005: half a point is no leak, and
    a check that nearly always scores the same would otherwise dominate with a tiny jump.
    """
    if not len(observed):
        return np.zeros(0)
    everything = np.column_stack([observed, permuted])
    spread = np.maximum(everything.std(axis=1, keepdims=True), _FLOOR)
    excess = (everything - everything.mean(axis=1, keepdims=True)) / spread
    largest = excess[:, 1:].max(axis=0)
    reached = (largest[None, :] >= excess[:, :1] - _EQUAL).sum(axis=1)
    return (1 + reached) / (1 + permuted.shape[1])


def _exchange(labels: Labels, numbers: NDArray[np.float32]) -> Labels:
    """As many ones as in `labels`, in each column where `numbers` are smallest."""
    ones = int(labels.sum())
    drawn = np.zeros(numbers.shape, np.int8)
    if ones == len(labels):
        drawn[:] = 1
    elif ones:
        smallest = np.argpartition(numbers, ones - 1, axis=0)[:ones]
        np.put_along_axis(drawn, smallest, np.int8(1), axis=0)
    return drawn


def run_boosted_checks(checks: Sequence[AuditCheck], settings: AuditSettings) -> list[AuditFinding]:
    """One finding per check; p is that of the bootstrap of families, by Bonferroni over these checks."""
    return [_finding(check, settings, len(checks)) for check in checks if not why_not_measured(check)]


def _finding(check: AuditCheck, settings: AuditSettings, many: int) -> AuditFinding:
    order = np.argsort(np.asarray(check.ids, np.str_), kind="stable")
    names, codes = np.unique(np.asarray(check.families, np.str_)[order], return_inverse=True)
    labels = np.asarray(check.labels, np.float64)[order]
    table = check.features.take(order).values.reshape(len(order), -1)
    folds = fold_numbers(codes.astype(np.int64), settings.folds, settings.seed, 0)
    hits = _hits(table, labels, folds, settings.seed)
    score = float(np.mean([hits[labels == label].mean() for label in (0, 1)]))
    drawn = family_draws(hits, labels, codes.astype(np.int64), settings.samples, settings.seed)
    low, high, upper = (float(bound) for bound in np.quantile(drawn, [0.025, 0.975, 0.95]))
    spread = max(float(drawn.std()), 1e-9)
    p = 0.5 * erfc((score - 0.5) / spread / sqrt(2))
    finding = AuditFinding(
        target=check.target, view=check.view, scope=check.scope, n=len(order), families=len(names), score=score,
        low=low, high=high, upper=max(upper, 0.5 + upper - score), p=p, p_family=min(1.0, p * many),
        smallest_visible=Z_SEEN * spread, word="cannot tell", gates=check.gates,
    )  # fmt: skip
    return replace(finding, word=audit_word(finding, settings))


def _hits(table: Reals, labels: Reals, folds: Integers, seed: int) -> Reals:
    """For each row 1, 0 or a half: whether its label is guessed from the other folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # of the extra `audit`

    hits = np.full(len(labels), 0.5)
    for fold in np.unique(folds):
        held, rest = folds == fold, folds != fold
        yes = labels[rest].mean()
        if yes in (0, 1):
            continue
        weights = np.where(labels[rest] == 1, 0.5 / yes, 0.5 / (1 - yes))
        model: Any = HistGradientBoostingClassifier(max_iter=100, random_state=seed)
        model.set_params(early_stopping=False)
        model.fit(table[rest], labels[rest], sample_weight=weights)
        margin = np.sign(model.decision_function(table[held]))
        hits[held] = np.where(labels[held] == 1, 0.5 + margin / 2, 0.5 - margin / 2)
    return hits


_FEW_KINDS = 30


def family_draws(hits: Reals, labels: Reals, families: Integers, samples: int, seed: int) -> Reals:
    """The balanced accuracy in each draw of as many families as there are, without draws that miss a label.

    Families with equal sums are drawn as one kind, which has the same distribution and costs little.
    With one label only, the accuracy is that of this label.
    """
    many = int(families.max()) + 1
    sums = np.column_stack(
        [
            np.bincount(families, weights, minlength=many)
            for weights in (hits * labels, labels, hits * (1 - labels), 1 - labels)
        ]
    )
    kinds, counts = np.unique(np.round(sums, 9), axis=0, return_counts=True)
    draw = _drawn_counts if len(counts) <= _FEW_KINDS else _drawn_counts.__wrapped__
    drawn = draw(tuple(counts.tolist()), samples, seed) @ kinds
    parts = [column for column in (0, 2) if sums[:, column + 1].any()]
    drawn = drawn[np.all([drawn[:, column + 1] > 0 for column in parts], axis=0)]
    return np.mean([drawn[:, column] / drawn[:, column + 1] for column in parts], axis=0)


@lru_cache(maxsize=64)
def _drawn_counts(counts: tuple[int, ...], samples: int, seed: int) -> Integers:
    """How often each draw has each kind of family, of which there are `counts`; many checks have the same."""
    many = sum(counts)
    drawn = np.random.default_rng([seed, 4]).multinomial(many, np.asarray(counts) / many, size=samples)
    return drawn.astype(np.int64)
