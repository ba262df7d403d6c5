"""``benchbuild help``: the main road on one screen of a terminal, every command, or the arguments of one."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from benchbuilder.cli.command_line import command_parser, option_names
from benchbuilder.cli.commands import COMMANDS, FORMER, GROUPS, MAIN_ROAD

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

_LONGEST = 200
"""A system refuses to look for a file with a longer name."""
_USAGE = "usage: benchbuild recipe=NAME [key=value ...]\n       benchbuild COMMAND [argument ...]\n"


def run(args: argparse.Namespace, console: Console) -> int:  # noqa: ARG001
    """Print what was asked for."""
    sys.stdout.write(help_text([args.topic] if args.topic else []))
    return 0


def help_text(topics: list[str]) -> str:
    """The first screen without a topic; else every command (``all``), or one; RecipeError for another topic."""
    topic = FORMER.get(topics[0], topics[0]) if topics else ""
    if topic == "all":
        return _all_commands()
    if topic in COMMANDS:
        return command_parser(topic, COMMANDS[topic]).format_help()
    if topic:
        raise unknown_command(topic)
    return _first_screen()


def unknown_command(name: str) -> Exception:
    """The error for a word that is no command: it names a near one, else all."""
    from benchbuilder.config import did_you_mean  # here, because the help needs no other room
    from benchbuilder.core import Problem, RecipeError

    near, allowed = did_you_mean(name, list(COMMANDS)), ""
    if not near:
        near, allowed = f"did you mean recipe={name}? `benchbuild --help` shows the main commands", ", ".join(COMMANDS)
    message = f"{name!r} is neither a command nor key=value"
    return RecipeError([Problem(message, where=f"command line: {name}", allowed=allowed, hint=near)])


def unknown_arguments(name: str, given: list[str]) -> Exception:
    """The error for what no argument of a command takes: it names the option that `key=value` or a typo meant."""
    from benchbuilder.config import did_you_mean
    from benchbuilder.core import Problem, RecipeError

    options = option_names(COMMANDS[name])
    problems: list[Problem] = []
    for each in given:
        key, equals, value = each.partition("=")
        if equals and 0 < len(value) < _LONGEST and Path(value).is_file() and "--data" in options:
            near = f"did you mean --data {shlex.quote(value)}?"
        elif equals and f"--{key}" in options:
            near = f"did you mean --{key} {shlex.quote(value)}?"
        else:
            near = did_you_mean(key, options) or f"`benchbuild {name} --help` lists its arguments"
        problems.append(Problem(f"benchbuild {name} takes no {each!r}", where=f"command line: {each}", hint=near))
    return RecipeError(problems)


def _first_screen() -> str:
    """23 lines of 80 columns: a terminal of 24 lines shows them all above the next prompt."""
    rest = {group: [name for name in commands if name not in MAIN_ROAD] for group, commands in GROUPS.items()}
    return "\n".join([
        _USAGE,
        "Build a misinformation benchmark from a recipe; key=value changes a value of it.",
        "The main road, in its order:",
        *_sentences(MAIN_ROAD),
        "The others, by group:",
        *(f"  {group}: {' '.join(names)}" for group, names in rest.items()),
        "benchbuild COMMAND --help lists arguments, benchbuild help all every command.",
    ]) + "\n"  # fmt: skip


def _all_commands() -> str:
    groups = "\n".join("\n".join([f"{group}:", *_sentences(commands), ""]) for group, commands in GROUPS.items())
    examples = "\n".join(f"  {example}" for example in COMMANDS["build"].examples)
    return f"""{_USAGE}
Build a misinformation benchmark from a recipe.

key=value is an override: it replaces a value of the recipe.
benchbuild COMMAND --help lists the arguments of a command.

{groups}
Exit codes: 0 done, 2 recipe or installation, 3 data, 4 service,
            5 too many failures, 6 a gate is closed (of the audit, or of a
            release), 70 bug, 75 waiting for people or for a batch,
            130 stopped by Ctrl-C

Examples:
{examples}
"""


def _sentences(names: Iterable[str]) -> list[str]:
    return [f"  {name:<10} {COMMANDS[name].help}" for name in names]
