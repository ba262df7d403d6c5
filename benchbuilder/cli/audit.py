"""``benchbuild audit``: can the answers be guessed by somebody who knows nothing?"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table

from benchbuilder.api import AuditReport, audits_of
from benchbuilder.cli.audit_exposure import run_exposure
from benchbuilder.cli.evaluate import file_lines, recipes_of_tasks
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import DEFAULT_LANGUAGE, GateClosed, Problem, RecipeError, count_phrase, page_texts
from benchbuilder.exporters import AuditedView, AuditResult, AuditSentences

_WORDS = ("leaks", "hint", "clean", "cannot tell")
_GUIDE = "docs/how-to/evaluate-and-judge/is-my-benchmark-valid.md"
_SHOWN = 6
"""So many sentences of one sort are printed; the page has all."""


def run(args: argparse.Namespace, console: Console) -> int:
    """Audit each task; GateClosed if the gate of one is closed, after all files are written."""
    if args.model:
        return run_exposure(args, console)
    if args.quote:
        raise RecipeError(
            [Problem("--quote needs --model: the audit alone asks no model", where="command line: --quote")]
        )
    if args.expected and not args.benchmark:
        raise RecipeError([Problem("--expected needs a benchmark from elsewhere", hint="--benchmark FILE",
                                   where=f"command line: --expected {args.expected}")])  # fmt: skip
    parts = recipes_of_tasks(argparse.Namespace(recipes=args.recipes, task=args.task, overrides=args.overrides))
    closed, pages = list[str](), list[str]()
    for audit in audits_of(parts, args.benchmark, args.expected, args.against):
        _print_audit(audit, console, named=len(parts) > 1)
        causes = [audit.result.summary()] if audit.result.closed else []
        if audit.contradictions:
            causes.append(f"{count_phrase(audit.contradictions, 'pair')} of items contradict each other")
        if causes:
            closed.append(", and ".join(causes))
            pages.append(display_path(audit.folder / "audit.html"))
    if closed:
        raise GateClosed(
            "the audit closes the gate: " + "; ".join(closed),
            where=", ".join(pages),
            next=f"{_balancing(parts)}repair what leaks, or allow it with a reason (audit.allow): {_GUIDE}",
        )
    return 0


def _balancing(parts: Sequence[LoadedRecipe]) -> str:
    """The setting that drops questions until no word tells, of recipes whose step for it does nothing yet."""
    steps = [(name, spec) for part in parts for name, spec in part.recipe.steps.items() if spec.kind == "choose_forms"]
    ways = [f"steps.{name}.method=greedy" for name, spec in steps if spec.method == "none"]
    return f"build with {ways[0]}, which drops what tells; or " if ways else ""


def _print_audit(audit: AuditReport, console: Console, *, named: bool) -> None:
    """Print what an audit found, and its files."""
    say, result = partial(print_line, console), audit.result
    says = AuditSentences(result, page_texts(DEFAULT_LANGUAGE))
    if named:
        say(f"{audit.task}:")
    for note in audit.notes:
        if note != audit.warning:
            say(f"note: {note}")
    if result.checks:
        console.print(_table(result, says))
        for title, sentences in _sentences(says).items():
            for sentence in sentences[:_SHOWN]:
                say(f"{title}: {sentence}")
            if len(sentences) > _SHOWN:
                say(f"{title}: and {len(sentences) - _SHOWN} more, in audit.html")
        say(says.sample())
    else:
        say(says.t("audit.nothing"))
    say(f"{result.summary()}; in {display_path(audit.folder)}:")
    for line in file_lines(audit.files):
        say(f"  {line}")
    if audit.warning:
        say(f"warning: {audit.warning}")


def _sentences(says: AuditSentences) -> Mapping[str, list[str]]:
    return {
        "leaks": says.leaks(), "allowed": says.allowed(), "cannot tell": says.unclear(), "information":
        says.information(), "not applicable": says.skipped(),
    }  # fmt: skip


def _table(result: AuditResult, says: AuditSentences) -> Table:
    """One line for each target and group: how many checks have each finding, and the highest score."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("guessed", no_wrap=True)
    table.add_column("in", overflow="ellipsis", no_wrap=True, max_width=14)
    for name in ("leaks", "hint", "clean", "unsure"):
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    table.add_column("highest", justify="right", no_wrap=True, min_width=len("100.0 %"))
    table.add_column("from", overflow="ellipsis", no_wrap=True, max_width=16)
    groups: dict[tuple[str, str], list[AuditedView]] = {}
    for check in result.checks:
        if check.gates:
            groups.setdefault((check.target, check.group), []).append(check)
    for (target, group), checks in groups.items():
        counts = Counter("hint" if check.allowed else check.word for check in checks)
        best = max(checks, key=lambda check: (check.score, check.view))
        numbers = [str(counts[word]) if counts[word] else "-" for word in _WORDS]
        table.add_row(target, group, *numbers, f"{best.score * 100:.1f} %", says.view(best.view))
    return table
