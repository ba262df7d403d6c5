"""Audits a benchmark: its items or candidates, seen through every view, with one word for each check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchbuilder.config import AllowedLeak, AuditSpec, read_kind_spec
from benchbuilder.core import BUILT_IN_KINDS, Item, LengthUnit, create_from_spec
from benchbuilder.evaluation.audit.boosted import run_boosted_checks
from benchbuilder.evaluation.audit.findings import AuditCheck, AuditFinding, AuditSettings, WordFinding
from benchbuilder.evaluation.audit.run_checks import run_checks
from benchbuilder.evaluation.audit.subjects import (
    AuditedBenchmark,
    benchmark_of_build,
    benchmark_of_items,
)
from benchbuilder.evaluation.audit.targets import SkippedView, TargetChecks, audit_targets
from benchbuilder.evaluation.audit.views.base import View, ViewContext
from benchbuilder.evaluation.audit.views.ngrams import guess_unit
from benchbuilder.evaluation.audit.words import widened, word_findings
from benchbuilder.exporters import AuditedView, AuditedWord, AuditResult, FinishedBuild

SLOW_VIEW = "all_interactions"
"""The view that a recipe must name to have it."""


class BenchmarkAuditor:
    """Audits benchmarks as a recipe says, with up to `workers` checks at the same time.

    The same benchmark gives the same result, whatever the order of its items and the number of workers.
    """

    def __init__(self, spec: AuditSpec, seed: int, workers: int = 1) -> None:
        self.spec, self.seed, self.workers = spec, seed, workers

    def audit_build(self, finished: FinishedBuild) -> AuditResult:
        """The result for a finished build."""
        return self.audit_benchmark(
            benchmark_of_build(finished, self.spec.most_items, self.seed, group=self.spec.group)
        )

    def audit_items(self, items: Sequence[Item[Any]]) -> AuditResult:
        """The result for items of which nothing else is known."""
        return self.audit_benchmark(benchmark_of_items(items, self.spec.most_items, self.seed, group=self.spec.group))

    def audit_benchmark(self, benchmark: AuditedBenchmark) -> AuditResult:
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
        findings = run_checks([check for check in checks if check.view not in boosted], settings, self.workers)
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
