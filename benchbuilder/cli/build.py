"""``benchbuild recipe=NAME``: build a benchmark."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from benchbuilder.annotation import DATABASE_FILE as REVIEW_FILE
from benchbuilder.annotation import AppSpec
from benchbuilder.cli.costs import receipt_lines
from benchbuilder.cli.session import Session, add_overrides, add_refresh, add_verify, open_session
from benchbuilder.config import Recipe
from benchbuilder.core import ServiceError, TooManyFailures
from benchbuilder.pipeline import BarProgress, BuildReport, LineProgress, Watcher, build_benchmark, open_gateway

_MANY = 500
"""Judgements of which people may want to know how to ask for fewer."""


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    add_refresh(parser)
    add_verify(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Build; exit code 0 when done, 75 when people's judgements are missing."""
    session = open_session(args, console)
    for warning in session.warnings:
        console.print(f"warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(BarProgress(console)) if console.is_terminal else LineProgress(console)
        refresh = frozenset(args.refresh or ())
        try:
            report = build_benchmark(
                session.plan,
                session.store,
                session.loaded.yaml,
                watcher,
                refresh=refresh,
                overrides=args.overrides,
            )
        except (ServiceError, TooManyFailures, KeyboardInterrupt):
            _print_costs(session, watcher)
            raise
    return print_report(report, console, session.plan.recipe)


def _print_costs(session: Session, watcher: Watcher) -> None:
    """What was paid for so far by a build that stops."""
    with open_gateway(session.plan, session.store, watcher.note) as gateway:
        for line in receipt_lines(() if gateway is None else gateway.receipts()):
            watcher.note(line)


def print_report(report: BuildReport, console: Console, recipe: Recipe) -> int:
    """Say what there is now and what to do next."""

    def say(text: str = "") -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    say()
    for note in report.notes:
        say(f"note: {note}")
    if report.waiting:
        for step, waiting in report.waiting.items():
            say(str(waiting))
            if getattr(recipe.steps.get(step), "sample", 0) is None and sum(waiting.missing.values()) > _MANY:
                fewer = f"steps.{step}.sample=50 asks about 50 rows, drawn at random, and drops the others"
                say(f"if that is too much: {fewer}")
        say(f"\nin {_relative_path(report.folder)}:")
    elif (found := _item_counts(report, recipe)) is not None:
        say(f"{found} in {_relative_path(report.folder)}:")
    for file in report.written_files:
        say(f"  {_relative_path(file)}")
    if report.removed_files:
        say(f"\ntaken away, as they no longer hold: {', '.join(_relative_path(file) for file in report.removed_files)}")
        say("the former command brings them back; run.dir=FOLDER builds beside them")
    for text in _remarks(report, recipe):
        say(f"\n{text}")
    if pages := [file for file in report.written_files if file.suffix == ".html"]:
        say(f"next: open {_relative_path(pages[0])} in a browser")
    if report.waiting:
        return 75
    return 0 if all(report.manifests[part.items].rows for part in recipe.by_task().values()) else 3


def _item_counts(report: BuildReport, recipe: Recipe) -> str | None:
    """How many items there are, of each task; None if there are none yet."""
    rows = {task: report.manifests[part.items].rows for task, part in recipe.by_task().items()
            if part.items in report.manifests}  # fmt: skip
    if not rows:
        return None
    told = ", ".join(f"{task} {count}" for task, count in rows.items() if task)
    return f"{sum(rows.values())} items" + (f" ({told})" if told else "")


def _remarks(report: BuildReport, recipe: Recipe) -> Iterator[str]:
    """What else a user may want to know."""
    if report.receipts:
        yield "\n".join(receipt_lines(report.receipts))
    yield from _emptiness_notes(report, recipe)
    if (report.folder / "annotation" / REVIEW_FILE).exists() and not isinstance(recipe.annotation, AppSpec):
        yield "The review app holds votes of this build, which are not counted here: annotation=app counts them."
    if recipe.card.illustrative:
        yield "The sources are bundled samples: illustrative, not checked by experts."


def _emptiness_notes(report: BuildReport, recipe: Recipe) -> Iterator[str]:
    """What a build has none of: sources without a row, and items."""
    for name in recipe.sources:
        manifest = report.manifests.get(name)
        if manifest is not None and not manifest.rows:
            why = ", ".join(f"{reason} {n}" for _, outcome, reason, n in manifest.units if outcome == "dropped")
            say = f"no row of source {name!r} could be used" + (f" ({why})" if why else ": its files hold none")
            yield f"{say}; the ledger names file and line, and sources.{name} says how to read them"
    for task, part in recipe.by_task().items():
        if part.items in report.manifests and not report.manifests[part.items].rows:
            of = f" of the task {task}" if task else ""
            why = "`benchbuild why FILE:LINE` with the same arguments says what became of a line"
            yield f"there are no items{of}: {why}"


def _relative_path(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)
