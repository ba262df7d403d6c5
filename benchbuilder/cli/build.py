"""``benchbuild recipe=NAME``: build a benchmark."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from rich.console import Console

from benchbuilder.build import BuildReport, build
from benchbuilder.cli.session import add_overrides, add_refresh, open_session
from benchbuilder.progress import Bars, Lines
from benchbuilder.spec.recipe import Recipe


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    add_refresh(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Build; exit code 0 when done, 75 when people's judgements are missing."""
    session = open_session(args, console)
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(Bars(console)) if console.is_terminal else Lines(console)
        report = build(session.plan, session.store, session.loaded.yaml, watcher, refresh=frozenset(args.refresh or ()))
    return tell(report, console, session.plan.recipe)


def tell(report: BuildReport, console: Console, recipe: Recipe) -> int:
    """Say what there is now and what to do next."""

    def say(text: str = "") -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    say()
    for note in report.notes:
        say(f"note: {note}")
    if report.waiting:
        for waiting in report.waiting.values():
            say(str(waiting))
        say(f"\nin {_shown(report.folder)}:")
    elif recipe.items in report.manifests:
        say(f"{report.manifests[recipe.items].rows} items in {_shown(report.folder)}:")
    for file in report.written:
        say(f"  {_shown(file)}")
    if recipe.card.illustrative:
        say("\nThe sources are bundled samples: illustrative, not checked by experts.")
    if pages := [file for file in report.written if file.suffix == ".html"]:
        say(f"next: open {_shown(pages[0])} in a browser")
    return 75 if report.waiting else 0


def _shown(path: Path) -> str:
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)
