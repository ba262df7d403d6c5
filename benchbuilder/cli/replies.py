"""``benchbuild replies``: write the replies that a recipe uses, so that it rebuilds without any model."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import collect_replies, journal_lookup
from benchbuilder.cli.session import add_overrides, open_session, progress_watcher
from benchbuilder.core import Problem, RecipeError, count_phrase
from benchbuilder.models import write_replies
from benchbuilder.pipeline import last_command_hint


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--output", metavar="FILE", required=True, help="the file to write (JSON Lines)")
    add_overrides(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the file; nobody is asked for a reply that is missing."""
    session = open_session(args, console)
    if not any(node.model_spec for node in session.plan.nodes.values()):
        hint = last_command_hint(session.store, args.overrides, session.loaded.yaml)
        raise RecipeError([Problem("this recipe asks no model: give the words that you built with",
                                   where=f"command line: {shlex.join(args.overrides)}", hint=hint)])  # fmt: skip
    with journal_lookup(session.store) as lookup, progress_watcher(console) as watcher:
        found = collect_replies(session.plan, session.store, lookup, watcher)
    count = write_replies(Path(args.output), found.replies)

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    for step in session.plan.nodes:
        if found.used_by_step[step] or found.missing_by_step[step]:
            without = (
                f", {count_phrase(found.missing_by_step[step], 'request')} without one"
                if found.missing_by_step[step]
                else ""
            )
            say(f"{step:<20} {_replies(found.used_by_step[step])}{without}")
        if step in found.skipped:
            say(f"{step:<20} left out: {found.skipped[step]}")
    say(f"{_replies(count)} in {args.output} (equal requests of one model once)")
    if found.missing_by_step:
        say("what has no reply yet fails in a rebuild; build with the same arguments first")
    elif count:
        words = [word for word in args.overrides if not word.startswith(("model=", "model.", "run.dir="))]
        beside = f"run.dir={_relative_path(session.store.folder)}_again"
        again = shlex.join([*words, "model=replay", f"model.replies={args.output}", beside])
        say(f"next: benchbuild {again} rebuilds with no key, in a folder of its own")
    return 0


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count} replies"


def _relative_path(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
