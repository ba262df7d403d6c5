"""The pages about the program: commands and exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchbuilder.cli.command_line import command_parser
from benchbuilder.cli.commands import COMMANDS
from benchbuilder.core.errors import BenchbuilderError
from reference_pages.reading import first_paragraph, table


def command_line() -> str:
    """Every command with its arguments and examples."""
    parts = [
        "# Command line",
        "`benchbuild recipe=NAME [key=value ...]` builds a benchmark. Every other command is named first; then come "
        "its arguments, and for most of them the same `recipe=NAME key=value ...`, because a build is found by the "
        "recipe that it was made from.",
        "Words of the form `key=value` go to Hydra: `retriever.top_k=2` sets a key, `variant=reference` or "
        "`source=[medqa,textbook]` chooses from a group. Put a word with brackets, spaces, commas or Chinese text into "
        "single quotes. `benchbuild --help` shows the main road, `benchbuild help all` every command, and "
        "`benchbuild COMMAND --help` its arguments. `benchbuild --version` prints the version.",
        table(("command", "what it does"), ((f"[`{name}`](#{name})", c.help) for name, c in COMMANDS.items())),
    ]
    for name, command in COMMANDS.items():
        parts += [f"## {name}", command.help[0].upper() + command.help[1:] + "."]
        parts.append(table(("argument", "meaning"), _arguments(command_parser(name, command))))
        parts.append("Examples:\n\n```\n" + "\n".join(command.examples) + "\n```")
    return "\n\n".join(parts)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if action.dest == "help":
            continue
        names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
        value = f" {action.metavar or action.dest.upper()}" if action.option_strings and action.nargs != 0 else ""
        several = " ..." if action.nargs == "*" else ""
        yield f"`{names}{value}{several}`", action.help or ""


def exit_codes() -> str:
    """Every exit code and the error behind it."""
    rows = [("0", "", "Done. For a build: every step is up to date and the outputs are written.")]
    rows += [
        (str(cls.exit_code), f"`{cls.__name__}`", first_paragraph(cls))
        for cls in sorted(_errors(BenchbuilderError), key=lambda cls: (cls.exit_code, cls.__name__))
    ]
    rows.append(("130", "", "Stopped with Ctrl-C. What was committed is kept, and the same command goes on."))
    return "\n\n".join(
        [
            "# Exit codes",
            "Every failure prints what happened, where, why, and what to do next. Scripts can tell the cases apart by "
            "the exit code.",
            table(("code", "error", "meaning"), rows),
            "Exit code 75 is no failure: everything that does not depend on the missing judgements is built, and the "
            "same command goes on when they are there. A bad argument of a command (`--no-such-option`) also ends "
            "with 2. A build without a single item writes its outputs, says so, and ends with 3.",
        ]
    )


def _errors(cls: type[BenchbuilderError]) -> list[type[BenchbuilderError]]:
    found = [] if cls is BenchbuilderError else [cls]
    for child in cls.__subclasses__():
        if child.__module__ == "benchbuilder.core.errors":
            found += _errors(child)
    return found
