"""``benchbuild audit --model``: has a model seen the benchmark?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import quote_conversations
from benchbuilder.cli.costs import print_quote
from benchbuilder.cli.evaluate import recipes_of_tasks
from benchbuilder.cli.receipts import receipt_lines
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import GateClosed, Problem, RecipeError, count_phrase
from benchbuilder.evaluation import ExposureFinding, ExposurePlan, exposure_of_build, exposure_step, write_exposure
from benchbuilder.models import Gateway
from benchbuilder.pipeline import Store


def run_exposure(args: argparse.Namespace, console: Console) -> int:
    """Test each task; GateClosed if a test shows that a model has seen its items, after all files are written."""
    if args.benchmark:
        raise RecipeError([Problem("--model tests the items of a build", hint="leave out --benchmark",
                                   where=f"command line: --benchmark {args.benchmark}")])  # fmt: skip
    closed: list[str] = []
    for part in recipes_of_tasks(args):
        plan = exposure_of_build(part, Path.cwd())
        store, budget, say = (
            Store(part.recipe.build_folder(Path.cwd())),
            part.recipe.budget,
            partial(print_line, console),
        )
        with Gateway(store.journal, usd=budget.usd, tokens=budget.tokens, notice=say) as gateway:
            if args.quote:
                work = {
                    exposure_step(model): (spec, (talk for _, talk in plan.conversations(model)))
                    for model, spec in plan.models.items()
                }
                print_quote(console, quote_conversations(gateway, store.journal, work), budget)
                continue
            findings = plan.run(gateway)
            receipts = [receipt for receipt in gateway.receipts() if receipt.step.startswith(exposure_step(""))]
        _print_findings(part, plan, findings, store.folder / part.task / "audit", console)
        for line in receipt_lines(receipts):
            say(line)
        if part.recipe.audit.gate != "none":
            closed += [f"{f.model} ({f.test})" for f in findings if f.word == "shown" and not f.allowed]
    if closed:
        raise GateClosed(
            f"the audit closes the gate: models that have seen the benchmark: {', '.join(closed)}",
            next="evaluate other models, or allow it with a reason (audit.allow: view is the test, scope the model)",
        )
    return 0


def _print_findings(
    part: LoadedRecipe, plan: ExposurePlan, findings: Sequence[ExposureFinding], folder: Path, console: Console
) -> None:
    say = partial(print_line, console)
    if part.task:
        say(f"{part.task}:")
    console.print(_table(findings))
    for finding in findings:
        if finding.allowed:
            say(f"allowed: {finding.model}, {finding.test}: {finding.allowed}")
    for test, why in plan.skipped.items():
        say(f"not tested: {test}: {why}")
    say('"not shown" is no proof that a model has not seen the benchmark')
    files = write_exposure(plan, findings, folder)
    say(f"{count_phrase(len(plan.models), 'model')} tested, in {display_path(folder)}:")
    for file in files:
        say(f"  {display_path(file)}")


def _table(findings: Sequence[ExposureFinding]) -> Table:
    table = Table("model", "test", "finding", box=None, pad_edge=False, header_style="bold")
    for name in ("asked", "score", "control", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    for finding in findings:
        if finding.n:
            scores = ["-" if value is None else f"{value * 100:.1f} %" for value in (finding.score, finding.control)]
            p = "-" if finding.p_holm is None else f"{finding.p_holm:.3f}"
            table.add_row(finding.model, finding.test, finding.word, str(finding.n), *scores, p)
    return table
