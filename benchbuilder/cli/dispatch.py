"""The entry point: find the command, run it, and turn every failure into a message with a next step."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from benchbuilder import __version__
from benchbuilder.cli.command_line import command_parser
from benchbuilder.cli.commands import COMMANDS, FORMER
from benchbuilder.cli.help import help_text, unknown_arguments, unknown_command
from benchbuilder.cli.hydra_habits import translate_habits
from benchbuilder.cli.streams import complete_streams

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from benchbuilder.cli.repeat import GivenCommand

_NEW_OBJECTS = 20_000
"""New objects between two runs of the garbage collector.

Tables of rows hold no reference cycles. With the default threshold, looking for some is a tenth of the work of a build
and a sixth of that of an evaluation.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line with `argv`, by default the arguments of the process; the exit code.

    Without `argv`, Ctrl-C still ends the process with 130 when its work is done and Python shuts down. And a build that
    would make nothing may say what it said before.
    """
    if argv is not None:
        return _run_command_line(list(argv))
    # workers are new interpreters: they must not look for modules in the folder of somebody's recipes
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    # products of matrices are small, and each worker has a core: more threads would mostly wait for each other
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    complete_streams()
    try:
        return _run_command_line(sys.argv[1:], is_process=True)
    finally:
        signal.signal(signal.SIGINT, _exit_at_once)


def _exit_at_once(*_: object) -> None:
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # it may be closed, or be flushed just now
        sys.stdout.flush()
    os._exit(130)


def _run_command_line(arguments: list[str], *, is_process: bool = False) -> int:
    if not arguments or arguments in (["-h"], ["--help"], ["help"]):
        sys.stdout.write(help_text([]))  # here, because it needs nothing that is imported below
        return 0
    if arguments[0] == "--version":
        sys.stdout.write(f"benchbuild {__version__}\n")
        return 0
    if arguments[:2] == ["completion", "--words"]:  # of a shell, at every press of Tab
        from benchbuilder.cli.completed_words import complete_words

        sys.stdout.write("".join(f"{word}\n" for word in complete_words(arguments[2:])))
        return 0
    # here, because the help needs no other room
    from benchbuilder.cli.pandas_later import leave_pandas_for_later
    from benchbuilder.core import BenchbuilderError, explain_import_error

    if is_process:
        leave_pandas_for_later()
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    try:
        # elsewhere times tell less of a file
        may_repeat = is_process and os.name == "posix" and (arguments[0] == "build" or arguments[0] not in COMMANDS)
        if not may_repeat:
            return _dispatch(arguments)
        from benchbuilder.cli.repeat import given_command, repeat_build

        command = given_command(arguments)
        return 0 if repeat_build(command) else _dispatch(arguments, command)
    except (BenchbuilderError, ImportError) as error:
        known = error if isinstance(error, BenchbuilderError) else explain_import_error(error, "this command")
        if known is None:
            raise
        _print_error(f"error: {known}", style="red")
        return known.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the interpreter's last flush is quiet
        return 0
    except OSError as error:
        from benchbuilder.cli.system_errors import explain_system_error

        _print_error(f"error: {explain_system_error(error)}", style="red")
        return 3
    except KeyboardInterrupt:
        _print_error("stopped; committed steps are kept, and the same command continues")
        return 130


def _print_error(text: str, style: str | None = None) -> None:
    from rich.console import Console

    with contextlib.suppress(OSError):  # nobody can read it: the exit code says it all the same
        Console(stderr=True, emoji=False).print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def _dispatch(arguments: list[str], command: GivenCommand | None = None) -> int:
    if arguments[0] in ("-h", "--help"):
        arguments = ["help", *arguments[1:]]
    if arguments[0] in FORMER:
        _print_error(f"note: benchbuild {FORMER[arguments[0]]} does what benchbuild {arguments[0]} did")
        arguments = [FORMER[arguments[0]], *arguments[1:]]
    if arguments[0] not in COMMANDS:  # `-m` and others mean something else to a command
        arguments = translate_habits(arguments)
    if arguments[0] in COMMANDS:
        name, rest = arguments[0], arguments[1:]
    elif "=" in arguments[0] or arguments[0].startswith("-"):
        name, rest = "build", arguments
    else:
        raise unknown_command(arguments[0])
    return _run(name, rest, command)


def _run(name: str, rest: list[str], given: GivenCommand | None) -> int:
    """Run the command `name`; its module is imported only when its arguments are right, so that help comes at once."""
    import argparse

    command = COMMANDS[name]
    args, left = command_parser(name, command).parse_known_intermixed_args(rest, argparse.Namespace(command=given))
    if left:
        raise unknown_arguments(name, left)
    _refuse_special_files(args)
    gc.disable()  # nothing of what is imported is garbage
    try:
        module = importlib.import_module(f"benchbuilder.cli.{command.module}")
    finally:
        gc.enable()
    from benchbuilder.cli.terminal import Terminal
    from benchbuilder.config import trusting

    run: Callable[[argparse.Namespace, Console], int] = getattr(module, f"run{command.suffix}")
    with trusting(args.trust):
        return run(args, Terminal(width=None if sys.stdout.isatty() else 200, emoji=False))


_WRITTEN = ("output", "html")
"""Arguments that name what a command writes."""


def _refuse_special_files(args: argparse.Namespace) -> None:
    """RecipeError for an argument that names a device, a pipe or a socket, before a command opens it."""
    from pathlib import Path

    from benchbuilder.core import SPECIAL_FILE_HINT, Problem, RecipeError, special_file

    given = {name: value if isinstance(value, list) else [value] for name, value in vars(args).items()}
    named = [value for name, values in given.items() if name not in _WRITTEN for value in values]
    problems = [
        Problem(f"this is {kind}, not a file", where=f"command line: {value}", hint=SPECIAL_FILE_HINT)
        for value in named
        if isinstance(value, str | Path) and (kind := special_file(Path(value)))
    ]
    if problems:
        raise RecipeError(problems)
