"""``benchbuild replies``: write the replies that a recipe uses, so that it rebuilds without any model."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import collect_replies, journal_lookup
from benchbuilder.cli.session import add_overrides, open_session, progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path
from benchbuilder.core import Problem, RecipeError, count_phrase
from benchbuilder.models import write_replies
from benchbuilder.pipeline import last_command_hint


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--output", metavar="FILE", required=True, help="the file to write (JSON Lines)")
    add_overrides(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the file; no model is asked for a missing reply."""
    session = open_session(args, console)
    if not any(node.model_spec for node in session.plan.nodes.values()):
        hint = last_command_hint(session.store, args.overrides, session.loaded.yaml)
        raise RecipeError([Problem("this recipe asks no model: give the overrides of the build",
                                   where=f"command line: {shlex.join(args.overrides)}", hint=hint)])  # fmt: skip
    with journal_lookup(session.store) as lookup, progress_watcher(console) as watcher:
        collected = collect_replies(session.plan, session.store, lookup, watcher)
    count = write_replies(Path(args.output), collected.replies)

    say = partial(print_line, console)
    for step in session.plan.nodes:
        if collected.used_by_step[step] or collected.missing_by_step[step]:
            missing = collected.missing_by_step[step]
            without = f", {count_phrase(missing, 'request')} without one" if missing else ""
            say(f"{step:<20} {_replies(collected.used_by_step[step])}{without}")
        if step in collected.skipped:
            say(f"{step:<20} left out: {collected.skipped[step]}")
    say(f"{_replies(count)} in {args.output} (equal requests to one model count once)")
    if collected.missing_by_step:
        say("a rebuild fails where a reply is missing; build with the same arguments first")
    elif count:
        kept = [text for text in args.overrides if not text.startswith(("model=", "model.", "run.dir="))]
        beside = f"run.dir={display_path(session.store.folder)}_again"
        command = shlex.join([*kept, "model=replay", f"model.replies={args.output}", beside])
        say(f"next: benchbuild {command} rebuilds without an API key, in its own folder")
    return 0


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count} replies"
