"""The word test: whether the mere presence of a word tells the label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchbuilder.evaluation.audit.features import Integers, Reals, ViewFeatures
from benchbuilder.evaluation.audit.findings import AuditSettings, Target, WordFinding

_EXACT = 200
"""Up to so many families the tail is exact, above it is normal."""


def audit_words(
    target: Target,
    scope: str,
    features: ViewFeatures,
    labels: Sequence[bool],
    families: Sequence[str],
    settings: AuditSettings,
) -> list[WordFinding]:
    """All words of at least `settings.least` families, those first that tell most; their names are those of `features`.

    A family counts once for each word, with the share of yes among its items that have the word. The share is compared
    with that of the scope, p0 (families count once there too): z = (p - p0) / sqrt(p0 (1 - p0) / n). p is the two-sided
    binomial tail by Holm over all words tested. Words with equal occurrences are one test, named after the longest.
    A word leaks if p is at most the level, and z and its share of the items reach their bars.

    LMI is that of the word with its more frequent label: p(w, y) log(p(w, y) / (p(w) p(y))), natural logarithm.
    For pairs, give the right answers as yes and the wrong ones as no, in the family of their pair.
    """
    yes = np.asarray(labels, np.float64)
    if not len(yes) or yes.min() == yes.max():
        return []
    codes = np.unique(np.asarray(families, np.str_), return_inverse=True)[1].astype(np.int64)
    table = _OccurrenceTable(features, yes, codes)
    words = np.flatnonzero(table.families >= settings.least)
    words = words[table.longest_of_equal(words)]
    n, prior = table.families[words], table.prior
    shares = table.yes[words] / np.maximum(n, 1)
    scores = (shares - prior) / np.sqrt(prior * (1 - prior) / np.maximum(n, 1))
    p = holm(_tails(table.yes[words], n, prior))
    findings = [
        WordFinding(
            target=target,
            scope=scope,
            name=features.names[int(word)],
            n=int(n[place]),
            yes=float(shares[place]),
            prior=prior,
            z=float(scores[place]),
            p=float(p[place]),
            lmi=_lmi(float(n[place]), float(shares[place]), prior, int(codes.max()) + 1),
            share=float(table.items[word] / len(yes)),
            accuracy=table.accuracy(word),
            leaks=False,
        )
        for place, word in enumerate(words.tolist())
    ]
    ordered = sorted(findings, key=lambda found: (-abs(found.z), -found.n, found.name))
    return [replace(found, leaks=_leaks(found, settings)) for found in ordered]


def _leaks(found: WordFinding, settings: AuditSettings) -> bool:
    return found.p <= settings.level and abs(found.z) >= settings.z and found.share >= settings.share


def holm(p: Reals) -> Reals:
    """p values by Holm's method, in the order given."""
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)) if len(p) else p
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1)
    return adjusted


class _OccurrenceTable:
    """How often each word occurs: in items, in families, and with which label."""

    def __init__(self, features: ViewFeatures, yes: Reals, codes: Integers) -> None:
        owner, width = features.row_of_entry, features.width
        self._all_yes, self._all = float(yes.sum()), len(yes)
        sizes = np.bincount(codes)
        self.prior = float(np.mean(np.bincount(codes, yes) / sizes))
        self.items = np.bincount(features.indices, minlength=width)
        self.item_yes = np.bincount(features.indices, yes[owner], minlength=width)
        pairs, inverse = np.unique(features.indices * len(sizes) + codes[owner], return_inverse=True)
        share = np.bincount(inverse, yes[owner], minlength=len(pairs)) / np.maximum(np.bincount(inverse), 1)
        word = pairs // len(sizes)
        self.families = np.bincount(word, minlength=width)
        self.yes: Reals = np.asarray(np.bincount(word, share, minlength=width), np.float64)
        marks = np.random.default_rng(0).integers(0, 2**63, size=(2, len(yes)), dtype=np.uint64)
        self._occurrences = [_sums(features.indices, mark[owner], width) for mark in marks]
        self._names = features.names

    def longest_of_equal(self, words: Integers) -> NDArray[np.int64]:
        """Places of the words of which no longer one has the same occurrences, of equally long ones the first."""
        names = [self._names[word] for word in words.tolist()]
        best: dict[tuple[int, int], int] = {}
        for _, _, place in sorted((-len(name), name, place) for place, name in enumerate(names)):
            first, second = (int(marks[words[place]]) for marks in self._occurrences)
            best.setdefault((first, second), place)
        return np.array(sorted(best.values()), np.int64)

    def accuracy(self, word: int) -> float:
        """Of answering with the majority of the word, and with that of the scope where it is absent."""
        with_yes, items = float(self.item_yes[word]), float(self.items[word])
        rest_yes, rest = self._all_yes - with_yes, self._all - items
        right = rest_yes if 2 * self._all_yes >= self._all else rest - rest_yes
        return (max(with_yes, items - with_yes) + right) / self._all


def _sums(places: Integers, values: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """The sum of the values of each place; overflow wraps around."""
    order = np.argsort(places, kind="stable")
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values[order], dtype=np.uint64)])
    ends = np.cumsum(np.bincount(places, minlength=size))
    return running[ends] - running[np.concatenate([[0], ends[:-1]])]


def _tails(yes: Reals, n: Integers, prior: float) -> Reals:
    """Two-sided tails: twice the smaller one. Shares of families are rounded towards the middle."""
    p = np.ones(len(n))
    middle = n * prior
    for size in np.unique(n[n <= _EXACT]):
        chosen = n == size
        below = np.cumsum(_binomial(int(size), prior))
        above = np.cumsum(_binomial(int(size), prior)[::-1])[::-1]
        many = yes[chosen]
        low = below[np.clip(np.ceil(many - 1e-9), 0, size).astype(np.int64)]
        high = above[np.clip(np.floor(many + 1e-9), 0, size).astype(np.int64)]
        p[chosen] = 2 * np.where(many < middle[chosen], low, high)
    large = n > _EXACT
    z = (yes[large] - middle[large]) / np.sqrt(middle[large] * (1 - prior))
    p[large] = [math.erfc(abs(score) / math.sqrt(2)) for score in z]
    return np.minimum(p, 1)


def _binomial(n: int, p: float) -> Reals:
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    k = np.arange(n + 1)
    return np.exp(np.array(logs) + k * math.log(p) + (n - k) * math.log(1 - p))


def _lmi(n: float, share: float, prior: float, families: int) -> float:
    kept, base = (share, prior) if share >= prior else (1 - share, 1 - prior)
    together = n * kept / families
    return together * math.log(kept / base) if together else 0.0
