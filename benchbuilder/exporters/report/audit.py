"""How the card, the report and the page of the audit show what an audit found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

from benchbuilder.core import PageTexts
from benchbuilder.exporters.audit_result import CROSSED, EVERYTHING, AuditedView, AuditedWord, AuditResult
from benchbuilder.exporters.render.dot_charts import ChartDot, ChartRow, row_chart
from benchbuilder.exporters.render.svg import width_of

_OTHERS = 8
"""So many further views are named in one sentence."""
_WORDS_NAMED = 3
_DOTS = {"leaks": "fail", "hint": "c4", "clean": "c2", "cannot tell": "all"}


class AuditSentences:
    """What an audit found, in sentences of one language."""

    def __init__(self, result: AuditResult, t: PageTexts) -> None:
        self.result, self.t = result, t

    def headline(self) -> str:
        """The finding in one sentence."""
        result = self.result
        key = "audit.headline_closed" if result.closed else "audit.headline_open"
        found = self.t(key, n=result.leak_count(), total=result.check_count(), words=result.leaking_word_count())
        unclear = result.unclear_count()
        return f"{found} {self.t('audit.headline_unclear', n=unclear)}" if unclear else found

    def leaks(self) -> list[str]:
        """One sentence for each target and group that leaks, the strongest views first; then one for each word."""
        return [*self._leaking_views(lambda check: check.is_closing), *self._leaking_words()]

    def information(self) -> list[str]:
        """One sentence for each target and group in which views that only inform find something."""
        return self._leaking_views(lambda check: check.word == "leaks" and not check.gates)

    def allowed(self) -> list[str]:
        """One sentence for each finding that the author allows."""
        checks = [
            self.t("audit.allowed", view=self.view(c.view), group=self.group(c.group), target=self.target(c.target),
                   until=f"{c.until:.2f}", why=c.allowed)
            for c in self.result.checks if c.allowed
        ]  # fmt: skip
        words = [self.t("audit.allowed_word", word=w.text, group=self.group(w.group), why=w.allowed)
                 for w in self.result.words if w.allowed]  # fmt: skip
        return list(dict.fromkeys([*checks, *words]))

    def unclear(self) -> list[str]:
        """One sentence for each target and group in which some check cannot tell."""
        found: dict[tuple[str, str], list[AuditedView]] = {}
        for check in self.result.checks:
            if check.word == "cannot tell" and check.gates and (check.scope, check.group) in self._shown(check.target):
                found.setdefault((check.target, check.group), []).append(check)
        return [self._unclear(target, group, checks) for (target, group), checks in found.items()]

    def skipped(self) -> list[str]:
        """One sentence for each reason why views do not apply."""
        found: dict[str, list[str]] = {}
        for view, why in self.result.skipped:
            found.setdefault(self.t.get(f"audit.why.{why}", why), []).append(self.view(view))
        comma = self.t("report.list_comma")
        return [self.t("audit.skipped", views=comma.join(views), why=why) for why, views in found.items()]

    def sample(self) -> str:
        """What was audited."""
        r = self.result
        key = "audit.sampled" if r.items < r.whole else "audit.whole"
        unit = self.t(f"report.unit_{r.kind}", n=r.whole)
        return self.t(key, items=r.items, families=r.families, whole=r.whole, unit=unit, permutations=r.permutations)

    def cell(self, target: str, view: str, scope: str, group: str) -> str:
        """A check in few words: score, interval, smallest leak that would be seen, and finding."""
        check = self.result.find(target, view, scope, group)
        if check is None:
            return "–"
        seen = self.t("audit.cell_smallest", points=f"{check.smallest * 100:.0f}")
        return f"{check.score * 100:.1f} [{check.low * 100:.0f}, {check.high * 100:.0f}], {seen}: {self.finding(check)}"

    def finding(self, check: AuditedView) -> str:
        """The word of a check as readers see it: allowed leaks, and leaks that only inform, have their own."""
        if check.allowed:
            return self.word("allowed")
        return self.word("informs" if check.word == "leaks" and not check.gates else check.word)

    def colours(self) -> list[tuple[str, str]]:
        """The findings with the CSS classes of their dots."""
        return list(_DOTS.items())

    def view(self, name: str) -> str:
        """The label of a view."""
        base, form, _ = name.partition(CROSSED)
        label = self.t.get(f"audit.view.{base}", base)
        return self.t("audit.crossed", view=label) if form else label

    def target(self, name: str) -> str:
        """The label of a target."""
        return self.t(f"audit.target.{name}")

    def group(self, name: str) -> str:
        """The label of a group."""
        return self.t.get(f"audit.group.{name}", name)

    def word(self, name: str) -> str:
        """The label of a finding."""
        return self.t(f"audit.word.{name.replace(' ', '_')}")

    def _unclear(self, target: str, group: str, checks: Sequence[AuditedView]) -> str:
        limit, n = self.result.limit, checks[0].n
        worst = max(max(check.smallest, check.upper - 0.5) for check in checks)
        if worst <= 0 or worst >= 0.5:  # no order of so few labels differs from another, or no leak could be seen
            unit = self.t(f"audit.unit_{target}", n=n)
            return self.t("audit.too_few", group=self.group(group), target=self.target(target), n=n, unit=unit)
        return self.t(
            "audit.unclear", group=self.group(group), target=self.target(target), n=n,
            unit=self.t(f"audit.unit_{target}", n=n), points=f"{100 * worst:.0f}", limit=f"{100 * limit:g}",
            needed=_rounded_up(n * (worst / limit) ** 2) if limit else "∞",
        )  # fmt: skip

    def _shown(self, target: str) -> list[tuple[str, str]]:
        return self.result.groups(target)

    def _leaking_views(self, chosen: Callable[[AuditedView], bool]) -> list[str]:
        found: dict[tuple[str, str, str], list[AuditedView]] = {}
        for check in self.result.checks:
            if chosen(check):
                found.setdefault((check.target, check.scope, check.group), []).append(check)
        return [self._leak(target, group, checks) for (target, _, group), checks in found.items()]

    def _leak(self, target: str, group: str, checks: Sequence[AuditedView]) -> str:
        """The simplest view that tells most, then the names of the others; a crossed view only without its own view."""
        plain = {check.view for check in checks}
        alone = [check for check in checks if check.view.partition(CROSSED)[0] == check.view or
                 check.view.partition(CROSSED)[0] not in plain]  # fmt: skip
        best, *others = sorted(alone, key=lambda check: (_is_combined(check.view), -check.score))
        shown = [self.view(check.view) for check in others[:_OTHERS]]
        more = [self.t("report.more_reasons", n=len(others) - _OTHERS)] if len(others) > _OTHERS else []
        sentence = self.t(
            "audit.leak", target=self.target(target), group=self.group(group), view=self.view(best.view),
            score=self.t.percent(best.score), low=f"{best.low * 100:.1f}", high=f"{best.high * 100:.1f}", n=best.n,
            unit=self.t(f"audit.unit_{target}", n=best.n), p=format_p(best.p_family),
        )  # fmt: skip
        if not others:
            return sentence
        return sentence + self.t("audit.leak_others", views=self.t("report.list_comma").join([*shown, *more]))

    def _leaking_words(self) -> list[str]:
        """One sentence for each target and group, with its strongest words."""
        found: dict[tuple[str, str, str], list[AuditedWord]] = {}
        for word in self.result.words:
            if word.is_closing:
                found.setdefault((word.target, word.scope, word.group), []).append(word)
        sentences: list[str] = []
        for (target, _, group), words in found.items():
            strong = sorted(words, key=lambda word: (-abs(word.z), word.text))
            shown = [self.t("audit.leak_word_part", word=w.text, yes=self.t.percent(w.yes), n=w.n)
                     for w in strong[:_WORDS_NAMED]]  # fmt: skip
            rest = len(strong) - len(shown)
            shown += [self.t("report.more_reasons", n=rest)] if rest else []
            texts = self.t("report.list_comma").join(shown)
            sentences.append(
                self.t("audit.leak_words", target=self.target(target), group=self.group(group), words=texts)
            )
        return sentences


def _is_combined(view: str) -> bool:
    """Whether a view is a combination of others."""
    return CROSSED in view or view.startswith(EVERYTHING)


def format_p(p: float) -> str:
    """A p value with three decimals.

    >>> format_p(0.001), format_p(0.0004)
    ('0.001', '< 0.001')
    """
    return f"{p:.3f}" if p >= 0.0005 else "< 0.001"


def _rounded_up(number: float) -> int:
    """The number with two figures, at least as large.

    >>> _rounded_up(1011.3), _rounded_up(77.0)
    (1100, 77)
    """
    whole = int(number) + (number > int(number))
    unit = 10 ** max(len(str(whole)) - 2, 0)
    return -(-whole // unit) * unit


def audit_chart(checks: Sequence[AuditedView], sentences: AuditSentences, title: str) -> Markup:
    """A dot for each check with its interval, and the limit as a dashed line."""
    limit = 0.5 + sentences.result.limit
    low = min([0.4, *(check.low for check in checks)])
    ticks = {value: f"{value * 100:.0f} %" for value in (low, 0.5, 0.75, 1.0)}
    rows = [
        ChartRow(
            sentences.view(check.view), [ChartDot(check.score, check.low, check.high, _DOTS[check.word])],
            sentences.t.percent(check.score), secondary=not check.gates,
        )
        for check in checks
    ]  # fmt: skip
    return row_chart(rows, title, ticks, margin=60, label=_label_width(rows), zero="base", limit=limit)


def _label_width(rows: Sequence[ChartRow]) -> float:
    """As wide as the widest label, within limits."""
    return min(max([150.0, *(width_of(row.label) + 4 for row in rows)]), 220.0)


def shown_charts(result: AuditResult, t: PageTexts) -> list[tuple[str, Markup]]:
    """A chart for each target over all items: its title and the plot."""
    sentences = AuditSentences(result, t)
    charts: list[tuple[str, Markup]] = []
    for target in result.targets():
        checks = [c for c in _overall(result.checks, target) if c.view in result.views(target)]
        if checks:
            title = t("audit.card_target", target=sentences.target(target))
            charts.append((title, audit_chart(checks, sentences, title)))
    return charts


def _overall(checks: Iterable[AuditedView], target: str) -> list[AuditedView]:
    return [check for check in checks if check.target == target and check.scope == EVERYTHING]
