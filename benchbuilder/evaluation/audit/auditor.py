"""Audits a benchmark: its items or candidates, seen through every view, with one word for each check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.config import AllowedLeak, AuditSpec, read_kind_spec
from benchbuilder.core import BUILT_IN_KINDS, Item, LengthUnit, create_from_spec
from benchbuilder.evaluation.audit.features import Integers, Reals, ViewFeatures
from benchbuilder.evaluation.audit.findings import AuditCheck, AuditFinding, AuditSettings, Target, WordFinding
from benchbuilder.evaluation.audit.kept_measures import KeptMeasures
from benchbuilder.evaluation.audit.run_checks import run_boosted_checks, run_checks
from benchbuilder.evaluation.audit.subjects import AuditedBenchmark, benchmark_of_build, benchmark_of_items
from benchbuilder.evaluation.audit.targets import (
    SkippedView,
    TargetChecks,
    TargetSubjects,
    audit_targets,
    rows_by_group,
    scope_name,
)
from benchbuilder.evaluation.audit.views.base import View, ViewContext
from benchbuilder.evaluation.audit.views.ngrams import guess_unit, ngram_rows
from benchbuilder.exporters import AuditedView, AuditedWord, AuditResult, FinishedBuild

SLOW_VIEW = "all_interactions"
"""The view that a recipe must name to have it."""


class BenchmarkAuditor:
    """Audits benchmarks as a recipe says, with up to `workers` checks at the same time.

    The same benchmark gives the same result, whatever the order of its items and the number of workers.
    """

    def __init__(self, spec: AuditSpec, seed: int, workers: int = 1) -> None:
        self.spec, self.seed, self.workers = spec, seed, workers

    def audit_build(self, finished: FinishedBuild, kept: KeptMeasures | None = None) -> AuditResult:
        """The result for a finished build; `kept` is what its last audit measured."""
        return self.audit_benchmark(
            benchmark_of_build(finished, self.spec.most_items, self.seed, group=self.spec.group), kept
        )

    def audit_items(self, items: Sequence[Item[Any]]) -> AuditResult:
        """The result for items of which nothing else is known."""
        return self.audit_benchmark(benchmark_of_items(items, self.spec.most_items, self.seed, group=self.spec.group))

    def audit_benchmark(self, benchmark: AuditedBenchmark, kept: KeptMeasures | None = None) -> AuditResult:
        """The result for subjects that are known already."""
        spec, views, context = self.spec, audit_views(self.spec), self._context(benchmark)
        shown = benchmark.paragraphs_shown if spec.paragraphs_shown is None else spec.paragraphs_shown
        guessed = audit_targets(benchmark)
        targets = [TargetChecks(target, spec.scopes) for target in guessed]
        settings = AuditSettings(
            self.seed, spec.limit, spec.level, spec.permutations, least=spec.words.least, z=spec.words.z,
            share=spec.words.share,
        )  # fmt: skip
        checks: list[AuditCheck] = []
        for target in targets:
            checks += target.checks(views, context, paragraphs_shown=shown)
        boosted = {name for name, view in views.items() if view.boosted}
        findings = run_checks([check for check in checks if check.view not in boosted], settings, self.workers, kept)
        findings += run_boosted_checks([check for check in checks if check.view in boosted], settings)
        made = [self._checked(finding) for finding in findings if finding.score is not None]
        words = [
            self._checked_word(word, texts, context.unit)
            for target in guessed
            for texts in [[subject.text.casefold() for subject in (*target.subjects, *target.wrong)]]
            for word in word_findings(target, context.unit, settings)
        ]
        result = AuditResult(
            kind=benchmark.kind, items=benchmark.items, families=benchmark.families, whole=benchmark.whole,
            limit=spec.limit, permutations=spec.permutations, checks=tuple(made), words=tuple(words),
            skipped=_skipped([view for target in targets for view in target.skipped], made),
        )  # fmt: skip
        return result.model_copy(update={"closed": self._closes(result)})

    def _context(self, benchmark: AuditedBenchmark) -> ViewContext:
        texts = [subject.text for subject in (*benchmark.questions, *(pair.right for pair in benchmark.pairs))]
        return ViewContext(
            self.spec.unit or guess_unit(texts), self.spec.negations, self.spec.harmless, self.spec.cue_words,
            benchmark.knowledge,
        )  # fmt: skip

    def _checked(self, finding: AuditFinding) -> AuditedView:
        """A finding as plain data; numbers are rounded, so that files do not hold noise of the last digit."""
        scope, _, group = finding.scope.partition("\t")
        rule = self._allowance(finding.target, finding.view, group) if finding.word == "leaks" else None
        covered = rule is not None and finding.score is not None and finding.score - 0.5 <= rule.until
        figures = {
            name: round(float(getattr(finding, name)), 6) for name in ("score", "low", "high", "upper", "p", "p_family")
        }
        return AuditedView(
            target=finding.target, view=finding.view, scope=scope, group=group, n=finding.n,
            families=finding.families, smallest=round(finding.smallest_visible or 0.0, 6), word=finding.word,
            gates=finding.gates, allowed=rule.why if rule and covered else "",
            until=rule.until if rule and covered else 0.0, **figures,
        )  # fmt: skip

    def _checked_word(self, word: WordFinding, texts: Sequence[str], unit: LengthUnit) -> AuditedWord:
        scope, _, group = word.scope.partition("\t")
        text = widened(word.name, texts) if unit == "characters" and word.leaks else word.name
        rule = self._allowance(word.target, f"word: {text}", group) if word.leaks else None
        return AuditedWord(
            target=word.target, scope=scope, group=group, n=word.n, leaks=word.leaks,
            text=text,
            allowed=rule.why if rule else "",
            **{name: round(float(getattr(word, name)), 6) for name in ("yes", "z", "p", "share")},
            score=round(word.accuracy, 6),
        )  # fmt: skip

    def _allowance(self, target: str, view: str, group: str) -> AllowedLeak | None:
        """The rule of the author that covers a finding, if there is one."""
        rules = (rule for rule in self.spec.allow if rule.view == view and rule.scope == group)
        return next((rule for rule in rules if rule.target in (None, target)), None)

    def _closes(self, result: AuditResult) -> bool:
        unknown = self.spec.unknown == "close" and any(c.word == "cannot tell" and c.gates for c in result.checks)
        leaks = result.leak_count() + result.leaking_word_count()
        return self.spec.gate != "none" and (unknown or leaks > 0)


def audit_views(spec: AuditSpec) -> dict[str, View]:
    """The views of a recipe by name; without any, those of the program."""
    specs: Mapping[str, Any] = spec.views or {
        name: read_kind_spec("view", {"kind": name}) for name in BUILT_IN_KINDS["view"] if name != SLOW_VIEW
    }
    return {name: create_from_spec("view", view) for name, view in specs.items()}


def _skipped(views: Sequence[SkippedView], made: Sequence[AuditedView]) -> tuple[tuple[str, str], ...]:
    """The views that apply to no target, each once."""
    applied = {check.view for check in made}
    return tuple(dict.fromkeys((view.view, view.why) for view in views if view.view not in applied))


_SHOWN = 10
"""So many words of a group are kept, and all that leak."""
_LONGEST = 12
"""Characters by which a word is shown longer, if all texts with it agree."""


def word_findings(target: TargetSubjects, unit: LengthUnit, settings: AuditSettings) -> Iterator[WordFinding]:
    """The words that tell most in each group; of a pair, the right answer counts as yes and the wrong one as no."""
    texts = [subject.text for subject in (*target.subjects, *target.wrong)]
    labels = [*target.labels, *(False for _ in target.wrong)]
    families = [subject.family for subject in (*target.subjects, *target.wrong)]
    features = ngram_rows(texts, unit)
    for scope in ("all", "source"):
        groups = rows_by_group(target.subjects, scope)
        if scope == "source" and len(groups) == 1:
            continue
        for group, rows in groups.items():
            chosen = [*rows, *(row + len(target.subjects) for row in rows if target.wrong)]
            found = audit_words(
                target.target, scope_name(scope, group), features.take(chosen), [labels[row] for row in chosen],
                [families[row] for row in chosen], settings,
            )  # fmt: skip
            yield from found[:_SHOWN]
            yield from (word for word in found[_SHOWN:] if word.leaks)


def widened(word: str, texts: Sequence[str]) -> str:
    """A run of characters with what stands around it in all texts that have it.

    >>> widened("b", ["abc", "zabd", "x"])
    'ab'
    """
    found = [text for text in texts if word in text]
    for _ in range(_LONGEST):
        before = {text[text.index(word) - 1] if text.index(word) else "" for text in found}
        after = {text[text.index(word) + len(word) :][:1] for text in found}
        first, last = (side.pop() if len(side) == 1 else "" for side in (before, after))
        if not first and not last:
            break
        word = f"{first}{word}{last}"
        if not all(word in text for text in found):
            return word[len(first) : len(word) - len(last)]
    return word


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
