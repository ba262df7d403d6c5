"""The entry point: parse, dispatch, and turn every failure into a message with a way on."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from benchbuilder import __version__
from benchbuilder.core import BenchbuilderError, Problem, RecipeError

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

_NEW_OBJECTS = 20_000
"""So many objects are made before circles among them are looked for: tables of rows hold none, and looking through
them all again and again is a tenth of the work of a build, a sixth of that of an evaluation."""


class Command(NamedTuple):
    """A command: where it lives, what it does, and two examples."""

    module: str
    help: str
    examples: tuple[str, str]
    suffix: str = ""


COMMANDS: dict[str, Command] = {
    "build": Command(
        "build", "build a benchmark (the same as giving no command)",
        ("benchbuild recipe=care_mi", "benchbuild recipe=care_mi retriever.top_k=2 annotation.min_evidence=2"),
    ),
    "ls": Command("ls", "list recipes and kinds", ("benchbuild ls", "benchbuild ls --kinds")),
    "new": Command(
        "new", "copy a recipe to make it yours, or write the skeleton of a plugin",
        ("benchbuild new my_field --from care_mi",
         "benchbuild new --plugin my_plugin --kind source,tokenizer"),
    ),
    "show": Command(
        "show", "print the resolved recipe with the origin of every value",
        ("benchbuild show recipe=care_mi", "benchbuild show recipe=care_mi retriever.top_k=2"),
    ),
    "check": Command(
        "check", "validate files, prompts, kinds, wiring and columns; run nothing",
        ("benchbuild check recipe=care_mi", "benchbuild check recipe=care_mi variant=reference"),
    ),
    "schema": Command(
        "schema", "write a JSON Schema for recipe files, for editors",
        ("benchbuild schema", "benchbuild schema --output recipe.schema.json"),
    ),
    "plan": Command(
        "plan", "say what a build would reuse, and why the rest runs",
        ("benchbuild plan recipe=care_mi", "benchbuild plan recipe=care_mi retriever.top_k=2"),
    ),
    "prompt": Command(
        "prompt", "show exactly what a model would be sent about a row, or list the prompts",
        ("benchbuild prompt show qa2d recipe=care_mi", "benchbuild prompt ls recipe=care_mi"),
    ),
    "preview": Command(
        "preview", "run a few rows through every step: input, prompt, reply, result",
        ("benchbuild preview n=2 recipe=care_mi", "benchbuild preview recipe=care_mi --html preview.html"),
    ),
    "compare": Command(
        "compare", "run several models, or rules, over the same rows of a step",
        ("benchbuild compare state_choice --with rules --with 'short: rules steps.state_choice.max_length=25' "
         "n=20 recipe=care_mi",
         "benchbuild compare ask_oe_choice --with rules recipe=care_mi"),
    ),
    "replies": Command(
        "replies", "write the replies that a recipe uses, so that it rebuilds without any model",
        ("benchbuild replies --output replies.jsonl recipe=care_mi model=openai model.name=gpt-4o-mini",
         "benchbuild replies --output replies.jsonl recipe=care_mi model=openai model.name=gpt-4o annotation=none"),
    ),
    "review": Command(
        "review", "serve the review app, in which experts judge candidates and rate answers",
        ("benchbuild review recipe=care_mi", "benchbuild review recipe=care_mi steps.items.sample=12 --port 8766"),
    ),
    "people": Command(
        "people", "invite experts to the review app, list them, make new links, revoke them",
        ("benchbuild people invite wang --role annotator recipe=care_mi", "benchbuild people ls recipe=care_mi"),
    ),
    "votes": Command(
        "votes", "write votes for other tools (Label Studio, Argilla, sheets), bring votes in from them",
        ("benchbuild votes export label_studio recipe=care_mi", "benchbuild votes formats"),
    ),
    "evaluate": Command(
        "evaluate", "put the benchmark to models and score their answers",
        ("benchbuild evaluate recipe=care_mi",
         "benchbuild evaluate --quote recipe=care_mi model=openai model.name=gpt-4o-mini"),
    ),
    "judge": Command(
        "judge", "train judges of answers, score with one, report how far to trust them",
        ("benchbuild judge train recipe=care_mi", "benchbuild judge report recipe=care_mi"),
    ),
    "finetune": Command(
        "finetune", "write training files for a judge that a service fine-tunes, and follow its jobs",
        ("benchbuild finetune export judge=tuned_correctness recipe=care_mi 'evaluation=[zh_claims,zh_finetuned]' "
         "model@evaluation.judges.tuned_correctness.model=openai evaluation.judges.tuned_correctness.model.name=NAME",
         "benchbuild finetune check judge=tuned_correctness recipe=care_mi 'evaluation=[zh_claims,zh_finetuned]' "
         "model@evaluation.judges.tuned_correctness.model=openai evaluation.judges.tuned_correctness.model.name=NAME"),
    ),
    "report": Command(
        "report", "write the results of an evaluation again, or two of them side by side",
        ("benchbuild report recipe=care_mi", "benchbuild report recipe=care_mi --beside builds/care_mi/evaluation"),
    ),
    "diff": Command(
        "diff", "say how two recipes differ, or two built benchmarks, item by item with its cause",
        ("benchbuild diff care_mi 'recipe=care_mi variant=reference'",
         "benchbuild diff builds/care_mi builds/care_mi"),
    ),
    "words": Command(
        "words", "make a word list of other lists, have it reviewed, and see what its words hit",
        ("benchbuild words show recipe=care_mi",
         "benchbuild words collect terms.txt recipe=care_mi --output review.csv"),
    ),
    "sweep": Command(
        "sweep", "build several recipes or settings, and compare what came out in one table",
        ("benchbuild sweep recipe=care_mi annotation=none steps.state_choice.max_length=20,40",
         "benchbuild sweep recipe=care_mi 'source=[medqa,textbook],[mlecqa,textbook]' annotation=none --evaluate"),
    ),
    "why": Command(
        "inspect", "say what became of a row: a line a branch",
        ("benchbuild why care_mi/sample/medqa/dev.jsonl:5 recipe=care_mi",
         "benchbuild why care_mi/sample/cpubmed.tsv:24 recipe=care_mi"), "_why",
    ),
    "trace": Command(
        "inspect", "follow an item back to its source line",
        ('benchbuild trace "$(head -1 builds/care_mi/items.jsonl | cut -d \'"\' -f 4)" recipe=care_mi',
         'benchbuild trace "$(tail -1 builds/care_mi/candidates.jsonl | cut -d \'"\' -f 4)" recipe=care_mi'), "_trace",
    ),
    "peek": Command(
        "inspect", "show the first rows of a step",
        ("benchbuild peek candidates recipe=care_mi", "benchbuild peek medqa -n 2 recipe=care_mi"), "_peek",
    ),
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code (see the exit codes in the reference)."""
    words = list(sys.argv[1:] if argv is None else argv)
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    try:
        return _dispatch(words)
    except BenchbuilderError as error:
        _print_error(f"error: {error}", style="red")
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the interpreter's last flush is quiet
        return 0
    except OSError as error:
        told = f"error: the system refused: {error}"
        _print_error(f"{told}\n  next:  check space and rights; what was committed is kept", style="red")
        return 3
    except KeyboardInterrupt:
        _print_error("stopped; what was committed is kept, and the same command goes on")
        return 130


def _print_error(text: str, style: str | None = None) -> None:
    from rich.console import Console

    Console(stderr=True).print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(_help())
        return 0
    if arguments[0] == "--version":
        sys.stdout.write(f"benchbuild {__version__}\n")
        return 0
    if arguments[0] in COMMANDS:
        name, rest = arguments[0], arguments[1:]
    elif "=" in arguments[0] or arguments[0].startswith("-"):
        name, rest = "build", arguments
    else:
        from difflib import get_close_matches

        close = get_close_matches(arguments[0], COMMANDS, n=1)
        raise RecipeError(
            [Problem(f"{arguments[0]!r} is neither a command nor key=value", where=f"command line: {arguments[0]}",
                     allowed=", ".join(COMMANDS), hint=f"did you mean {close[0]!r}?" if close else "")]
        )  # fmt: skip
    return _run(name, rest)


def _run(name: str, rest: list[str]) -> int:
    """Run the command `name`. What it needs is imported now: `--help` needs nothing of it."""
    import argparse

    from benchbuilder.cli.terminal import Terminal

    command = COMMANDS[name]
    module = importlib.import_module(f"benchbuilder.cli.{command.module}")
    parser = argparse.ArgumentParser(
        prog=f"benchbuild {name}",
        description=command.help[0].upper() + command.help[1:] + ".",
        epilog="examples:\n" + "".join(f"  {example}\n" for example in command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--recipes", action="append", metavar="DIR", help="a folder of recipes to look in first")
    getattr(module, f"register{command.suffix}")(parser)
    args = parser.parse_intermixed_args(rest)
    run: Callable[[argparse.Namespace, Console], int] = getattr(module, f"run{command.suffix}")
    return run(args, Terminal(width=None if sys.stdout.isatty() else 200))


def _help() -> str:
    lines = [
        "usage: benchbuild recipe=NAME [key=value ...]",
        "       benchbuild COMMAND ...",
        "",
        "Build a misinformation benchmark from a recipe.",
        "",
        "commands (benchbuild COMMAND --help says more):",
        *(f"  {name:<8} {command.help}" for name, command in COMMANDS.items()),
        "",
        "exit codes: 0 done, 2 recipe or installation, 3 data, 4 service, 5 too many failures, 70 bug,",
        "            75 waiting for people or for a batch, 130 stopped by Ctrl-C",
        "",
        "examples:",
        *(f"  {example}" for example in COMMANDS["build"].examples),
    ]
    return "\n".join(lines) + "\n"
