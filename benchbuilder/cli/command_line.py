"""What a command line is made of: commands, their arguments, and the parser of both.

Nothing here or in the table of commands imports what a command works with, so that its help comes at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import argparse


class Argument(NamedTuple):
    """An argument: its names, and the options that argparse knows."""

    names: tuple[str, ...]
    options: Mapping[str, Any]


class Command(NamedTuple):
    """A command: its module and what it does, two examples, its arguments, and the suffix of its function."""

    module: str
    help: str
    examples: tuple[str, ...]
    arguments: tuple[Argument, ...] = ()
    suffix: str = ""


def word(name: str, text: str, **options: Any) -> Argument:
    """An argument that is told by its place."""
    return Argument((name,), {"help": text, **options})


def words(metavar: str, text: str) -> Argument:
    """All other words: names that the command tells apart, and overrides."""
    return word("overrides", text, nargs="*", metavar=metavar)


def flag(names: str, text: str) -> Argument:
    """An argument without a value."""
    return Argument(tuple(names.split()), {"action": "store_true", "help": text})


def option(names: str, metavar: str | None, text: str, **options: Any) -> Argument:
    """An argument with a value, which `metavar` stands for in the help; by default the name of the argument."""
    return Argument(tuple(names.split()), {"metavar": metavar, "help": text, **options})


def several(name: str, metavar: str, text: str, **options: Any) -> Argument:
    """An argument with a value that may be given again."""
    return option(name, metavar, f"{text} (repeatable)", action="append", default=[], **options)


RECIPE = words("key=value", "recipe=NAME and any override")
VERIFY = flag("--verify", "read all files again, even if size, times and inode are unchanged")
REFRESH = several("--refresh", "STEP", "run a finished step again")
TASK = option("--task", "NAME", "one task of a benchmark with several")
BENCHMARK = (
    TASK,
    option("--benchmark", "FILE", "a benchmark from elsewhere: TSV, CSV, JSON Lines or Parquet"),
    option(
        "--expected",
        None,
        "the right verdict of that benchmark's true/false questions, if it has no column `expected`",
        choices=("yes", "no"),
    ),
)
_EVERYWHERE = (
    several("--recipes", "DIR", "a folder of recipes, searched first"),
    several("--trust", "FOLDER", "for this command, trust the recipes below this folder"),
)


def option_names(command: Command) -> list[str]:
    """The options of a command, as they are written."""
    return [name for one in (*_EVERYWHERE, *command.arguments) for name in one.names if name.startswith("-")]


def command_parser(name: str, command: Command) -> argparse.ArgumentParser:
    """The parser of a command, which also writes its help."""
    import argparse  # here, because the table alone is enough for the first screen

    parser = argparse.ArgumentParser(
        prog=f"benchbuild {name}",
        description=command.help[0].upper() + command.help[1:] + ".",
        epilog="examples:\n" + "".join(f"  {example}\n" for example in command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for argument in (*_EVERYWHERE, *command.arguments):
        parser.add_argument(*argument.names, **argument.options)
    return parser
