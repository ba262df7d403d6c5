"""What the commands share: the recipe from the words of the command line, its plan and its store."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchbuilder.config import LoadedRecipe, load_recipe
from benchbuilder.core import Problem
from benchbuilder.pipeline import (
    BarProgress,
    Checksums,
    LineProgress,
    Plan,
    Store,
    Watcher,
    check_recipe,
    make_plan,
    unread_sources,
)


@dataclass(frozen=True)
class Session:
    """A loaded and checked recipe with its plan and store."""

    loaded: LoadedRecipe
    plan: Plan
    store: Store
    console: Console
    warnings: tuple[Problem, ...] = ()


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Let a command take ``recipe=NAME key=value ...``."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="recipe=NAME and any override")


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Let a command take ``--verify``."""
    parser.add_argument("--verify", action="store_true",
                        help="read all files again, even if size, times and inode are as they were")  # fmt: skip


def add_refresh(parser: argparse.ArgumentParser) -> None:
    """Let a command take ``--refresh STEP``."""
    parser.add_argument("--refresh", action="append", metavar="STEP", help="run a sealed step again (repeatable)")


def open_session(args: argparse.Namespace, console: Console) -> Session:
    """Compose, validate and check the recipe, and plan it. RecipeError with every problem at once."""
    loaded = load_recipe(args.overrides, recipes=args.recipes)
    store = Store(loaded.recipe.build_folder(Path.cwd()))
    checksums = Checksums(store.checksums, verify=getattr(args, "verify", False))
    warnings = check_recipe(loaded, sources=unread_sources(loaded.recipe, store, checksums))
    plan = make_plan(loaded.recipe, store, checksums.sha256_of)
    checksums.save()
    return Session(loaded, plan, store, console, warnings)


@contextlib.contextmanager
def progress_watcher(console: Console) -> Generator[Watcher]:
    """Bars in a terminal that go when the work is done; elsewhere only what a user may want to know."""
    if console.is_terminal:
        with _TransientBars(console) as bars:
            yield bars
    else:
        yield _NotesOnly(console)


class _TransientBars(BarProgress):
    """Bars that leave no line."""

    def end(self, step: str, summary: str) -> None:  # noqa: ARG002
        """Take the bar away."""
        self.drop(step)


class _NotesOnly(LineProgress):
    """Notes alone."""

    def end(self, step: str, summary: str) -> None:
        """Nothing is written."""
