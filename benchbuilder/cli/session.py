"""What the commands share: the recipe that the overrides choose, its plan and its store."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from rich.console import Console

from benchbuilder.api import OpenedRecipe, open_recipe
from benchbuilder.cli.receipts import receipt_lines
from benchbuilder.core import ServiceError, TooManyFailures
from benchbuilder.pipeline import BarProgress, LineProgress, Plan, ProgressLines, Store, Watcher, open_gateway


@dataclass(frozen=True)
class Session(OpenedRecipe):
    """An opened recipe, and where its command prints."""

    console: Console


def split_names(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate plain names from overrides (``key=value`` and ``~key``): the names, then the overrides."""
    names = [argument for argument in arguments if "=" not in argument and not argument.startswith("~")]
    return names, [argument for argument in arguments if argument not in names]


def open_session(args: argparse.Namespace, console: Console) -> Session:
    """Compose, validate, check and plan the recipe.

    Args:
        args: Parsed arguments, with `overrides` and `recipes`, and `verify` where the command has it.
        console: Where the command prints.

    Raises:
        RecipeError: With every problem of the recipe at once.
        DataError: If a file that the recipe names cannot be read.
        StoreError: If the folder of the build has files of somebody else where a build writes.
    """
    opened = open_recipe(args.overrides, args.recipes, verify=getattr(args, "verify", False))
    return Session(opened.loaded, opened.plan, opened.store, opened.warnings, console)


@contextlib.contextmanager
def build_progress(console: Console, *, lines: ProgressLines = "steps") -> Generator[Watcher]:
    """Bars in a terminal, and lines: one for each finished step, or as `lines` says."""
    if console.is_terminal:
        with BarProgress(console, lines=lines) as bars:
            yield bars
    else:
        yield LineProgress(console, lines=lines)


def progress_watcher(console: Console) -> contextlib.AbstractContextManager[Watcher]:
    """Bars in a terminal, removed when the work is done; elsewhere only notes."""
    return build_progress(console, lines="notes")


@contextlib.contextmanager
def receipts_if_stopped(plan: Plan, store: Store, watcher: Watcher) -> Generator[None]:
    """Print what was paid so far when a build stops: at a service, at failed rows or at Ctrl-C."""
    try:
        yield
    except (ServiceError, TooManyFailures, KeyboardInterrupt):
        with open_gateway(plan, store, watcher.note) as gateway:
            for line in receipt_lines(() if gateway is None else gateway.receipts()):
                watcher.note(line)
        raise
