"""The entry point: find the command, run it, and turn every failure into a message with a next step."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from benchbuilder import __version__
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


class Command(NamedTuple):
    """A command: its module, its help, two examples, and the suffix of its functions in a shared module."""

    module: str
    help: str
    examples: tuple[str, ...]
    suffix: str = ""


_GROUPS: dict[str, dict[str, Command]] = {"Build": {
    "build": Command(
        "build", "build a benchmark (default command)",
        ("benchbuild recipe=care_mi", "benchbuild recipe=care_mi retriever.top_k=2 annotation.min_evidence=2"),
    ),
    "ls": Command("ls", "list recipes, or the kinds that recipes can name", ("benchbuild ls", "benchbuild ls --kinds")),
    "check": Command(
        "recipe", "validate a recipe without running anything, or compare a build's folder with its checksums",
        ("benchbuild check recipe=care_mi", "benchbuild check --store builds/care_mi"), "_check",
    ),
    "show": Command(
        "show", "say what a recipe and the command line set, and in which file and line",
        ("benchbuild show recipe=care_mi retriever.top_k=2", "benchbuild show steps.ask_tf_choice recipe=care_mi"),
    ),
    "plan": Command(
        "plan", "show what a build would reuse, why the rest runs, and what models may cost",
        ("benchbuild plan recipe=care_mi", "benchbuild plan recipe=care_mi retriever.top_k=2"),
    ),
    "preview": Command(
        "preview", "run a few rows through every step: input, prompt, reply, result",
        ("benchbuild preview n=2 recipe=care_mi", "benchbuild preview recipe=care_mi --html preview.html"),
    ),
    "why": Command(
        "inspect", "show what became of a row, one line per branch",
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
    "view": Command(
        "view", "look at builds in a browser: flow, rows, items, answers, costs",
        ("benchbuild view", "benchbuild view builds/care_mi --no-browser --read-only"),
    ),
    "diff": Command(
        "diff", "show how two recipes differ, or two benchmarks item by item with each cause",
        ("benchbuild diff care_mi 'recipe=care_mi variant=reference'",
         "benchbuild diff builds/care_mi builds/care_mi"),
    ),
    "words": Command(
        "words", "make a word list from other lists, have it reviewed, see what its words match",
        ("benchbuild words show recipe=care_mi",
         "benchbuild words collect terms.txt recipe=care_mi --output review.csv"),
    ),
    "shapes": Command(
        "shapes", "show how questions begin and end, and what rules of a speaker's examples make of them",
        ("benchbuild shapes recipe=exam_any", "benchbuild shapes --most 5 recipe=exam_any variant=hi"),
    ),
    "clean": Command(
        "clean", "show what a build's store holds by recipe state, and remove what no recipe in use needs",
        ("benchbuild clean recipe=care_mi",
         "benchbuild clean recipe=care_mi --keep 'recipe=care_mi retriever.top_k=2' --yes"),
    ),
    "sweep": Command(
        "sweep", "build several recipes or settings, and compare the results in one table",
        (
            "benchbuild sweep recipe=care_mi 'source=[medqa,textbook]' annotation=none "
            "steps.state_choice.max_length=20,40",
            "benchbuild sweep recipe=care_mi 'source=[medqa,textbook],[mlecqa,textbook]' annotation=none --evaluate",
        ),
    ),
}, "Annotate": {
    "review": Command(
        "review", "serve the review app, in which experts judge candidates and rate answers",
        ("benchbuild review recipe=care_mi", "benchbuild review recipe=care_mi steps.items.sample=12 --port 8766"),
    ),
    "people": Command(
        "people", "invite experts to the review app, list them, renew or revoke their links",
        ("benchbuild people invite wang --role annotator recipe=care_mi", "benchbuild people ls recipe=care_mi"),
    ),
    "votes": Command(
        "votes", "export votes to other tools (Label Studio, Argilla, sheets), import them, say how good labels are",
        ("benchbuild votes export label_studio recipe=care_mi",
         "benchbuild votes quality recipe=care_mi"),
    ),
}, "Models and cost": {
    "prompt": Command(
        "prompt", "show exactly what a model would get for a row, or list the prompts",
        ("benchbuild prompt show qa2d recipe=care_mi", "benchbuild prompt ls recipe=care_mi"), "_prompt",
    ),
    "compare": Command(
        "compare", "run several models, or rules, over the same rows of a step",
        ("benchbuild compare state_choice --with rules --with 'short: rules steps.state_choice.max_length=25' "
         "n=20 recipe=care_mi",
         "benchbuild compare ask_oe_choice --with rules recipe=care_mi"),
    ),
    "replies": Command(
        "prompt", "write the replies that a recipe uses, so that it rebuilds without any model",
        ("benchbuild replies --output replies.jsonl recipe=care_mi model=openai model.name=gpt-4o-mini",
         "benchbuild replies --output replies.jsonl recipe=care_mi model=openai model.name=gpt-4o annotation=none"),
        "_replies",
    ),
    "salvage": Command(
        "salvage", "move the readable replies of a damaged journal into a new one",
        ("benchbuild salvage builds/care_mi/replies.sqlite",
         "benchbuild salvage builds/care_mi/evaluation/replies.sqlite"),
    ),
}, "Evaluate and judge": {
    "audit": Command(
        "audit", "show what somebody could guess who knows nothing, and close the gate if that is too much",
        ("benchbuild audit recipe=care_mi", "benchbuild audit recipe=care_mi --benchmark builds/care_mi/items.tsv"),
    ),
    "evaluate": Command(
        "evaluate", "ask models the questions of the benchmark and score their answers",
        ("benchbuild evaluate recipe=care_mi",
         "benchbuild evaluate --quote recipe=care_mi model=openai model.name=gpt-4o-mini"),
    ),
    "report": Command(
        "report", "rewrite the results of an evaluation, or show two side by side",
        ("benchbuild report recipe=care_mi", "benchbuild report recipe=care_mi --beside builds/care_mi/evaluation"),
    ),
    "analyse": Command(
        "analyse", "show what answers say: items to send back to experts, how hard items are, what separates models",
        ("benchbuild analyse recipe=care_mi", "benchbuild analyse recipe=care_mi analysis.experts=0.05"),
    ),
    "scorecard": Command(
        "scorecard", "list what makes a benchmark good: what is met, what is not, and what only the author can answer",
        ("benchbuild scorecard recipe=care_mi", "benchbuild scorecard --form recipe=care_mi"),
    ),
    "judge": Command(
        "judge", "train judges of answers, score with one, report how far to trust them",
        ("benchbuild judge train recipe=care_mi", "benchbuild judge report recipe=care_mi"),
    ),
    "finetune": Command(
        "finetune", "export training files for a judge that a service fine-tunes, and manage its jobs",
        ("benchbuild finetune export judge=tuned_correctness recipe=care_mi 'evaluation=[zh_claims,zh_finetuned]' "
         "model@evaluation.judges.tuned_correctness.model=openai evaluation.judges.tuned_correctness.model.name=NAME",
         "benchbuild finetune check judge=tuned_correctness recipe=care_mi 'evaluation=[zh_claims,zh_finetuned]' "
         "model@evaluation.judges.tuned_correctness.model=openai evaluation.judges.tuned_correctness.model.name=NAME"),
    ),
}, "Publish": {
    "release": Command(
        "release", "write a version of a built benchmark for others: data, card, checksums, canary, private labels",
        ("benchbuild release recipe=care_mi version=1.0.0 --despite 'a trial of the form'",
         "benchbuild release recipe=care_mi version=1.0.0 release.private=0.3 release.dev=5"),
    ),
    "errata": Command(
        "errata", "report errors in items, decide them, and release the next version with what was decided",
        ("benchbuild errata add \"$(head -1 builds/care_mi/items.jsonl | cut -d '\"' -f 4)\" --kind wrong_key "
         "--text 'the guideline says otherwise' recipe=care_mi paths.errata=errata.jsonl",
         "benchbuild errata ls open recipe=care_mi paths.errata=errata.jsonl"),
    ),
    "export": Command(
        "export", "write a benchmark for evaluation harnesses: lm_eval, inspect, evalscope, opencompass, plain",
        ("benchbuild export recipe=care_mi to=lm_eval,inspect",
         "benchbuild export recipe=care_mi to=all --output exports/trial"),
    ),
    "publish": Command(
        "publish", "upload a release to the Hugging Face Hub, with a tag for its version",
        ("benchbuild publish releases/care_mi/1.0.0 --repository OWNER/NAME --dry-run",
         "benchbuild publish releases/care_mi/1.0.0 --repository OWNER/NAME"),
    ),
    "score": Command(
        "score", "score answers to the private questions of a release",
        ("benchbuild score answers.jsonl recipe=care_mi",
         "benchbuild score answers.jsonl recipe=care_mi version=1.0.0 --output scores.json"),
    ),
}, "Extend": {
    "new": Command(
        "recipe", "copy a recipe, begin one in any language, or write the skeleton of a plugin",
        ("benchbuild new my_field --from care_mi",
         "benchbuild new my_exam --language sw --source questions:multiple_choice=FILE",
         "benchbuild new --plugin my_plugin --kind source,tokenizer"), "_new",
    ),
    "trust": Command(
        "trust", "trust a folder of recipes: it may set prices, addresses and paths that lead out",
        ("benchbuild trust recipes/local", "benchbuild trust"),
    ),
    "completion": Command(
        "completion", "print a script that completes commands, recipes, options and keys in a shell",
        ("benchbuild completion bash", "benchbuild completion fish"),
    ),
    "schema": Command(
        "recipe", "write a JSON Schema of recipe files, for editors",
        ("benchbuild schema", "benchbuild schema --output recipe.schema.json"), "_schema",
    ),
}}  # fmt: skip
"""The commands by the groups of ``--help`` and of the documentation."""
COMMANDS = {name: command for group in _GROUPS.values() for name, command in group.items()}


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
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(_help())
        return 0
    if arguments[0] == "--version":
        sys.stdout.write(f"benchbuild {__version__}\n")
        return 0
    if arguments[:2] == ["completion", "--words"]:  # of a shell, at every press of Tab
        from benchbuilder.cli.completed_words import complete_words

        sys.stdout.write("".join(f"{word}\n" for word in complete_words(arguments[2:])))
        return 0
    # here, because the help needs no other room
    from benchbuilder.core import BenchbuilderError, explain_import_error, leave_pandas_for_later

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
    if arguments[0] not in COMMANDS:  # `-m` and others mean something else to a command
        arguments = translate_habits(arguments)
    if arguments[0] in COMMANDS:
        name, rest = arguments[0], arguments[1:]
    elif "=" in arguments[0] or arguments[0].startswith("-"):
        name, rest = "build", arguments
    else:
        from benchbuilder.config import did_you_mean
        from benchbuilder.core import Problem, RecipeError

        raise RecipeError(
            [Problem(f"{arguments[0]!r} is neither a command nor key=value", where=f"command line: {arguments[0]}",
                     allowed=", ".join(COMMANDS), hint=did_you_mean(arguments[0], list(COMMANDS)))]
        )  # fmt: skip
    return _run(name, rest, command)


def _run(name: str, rest: list[str], given: GivenCommand | None) -> int:
    """Run the command `name`; its module is imported only now, so that ``--help`` stays fast."""
    import argparse

    from benchbuilder.cli.terminal import Terminal
    from benchbuilder.config import trusting

    command = COMMANDS[name]
    gc.disable()  # nothing of what is imported is garbage
    try:
        module = importlib.import_module(f"benchbuilder.cli.{command.module}")
    finally:
        gc.enable()
    parser = argparse.ArgumentParser(
        prog=f"benchbuild {name}",
        description=command.help[0].upper() + command.help[1:] + ".",
        epilog="examples:\n" + "".join(f"  {example}\n" for example in command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--recipes", action="append", metavar="DIR", help="a folder of recipes, searched first (repeatable)"
    )
    help_text = "for this command, trust the recipes below this folder (repeatable)"
    parser.add_argument("--trust", action="append", metavar="FOLDER", default=[], help=help_text)
    getattr(module, f"register{command.suffix}")(parser)
    args = parser.parse_intermixed_args(rest, argparse.Namespace(command=given))
    _refuse_special_files(args)
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
        for value in named if isinstance(value, str | Path) and (kind := special_file(Path(value)))
    ]  # fmt: skip
    if problems:
        raise RecipeError(problems)


def _help() -> str:
    lines = [
        "usage: benchbuild recipe=NAME [key=value ...]",
        "       benchbuild COMMAND ...",
        "",
        "Build a misinformation benchmark from a recipe.",
        "",
        "key=value is an override: it replaces a value of the recipe.",
        "benchbuild COMMAND --help lists the arguments of a command.",
        "",
        *(line for group, commands in _GROUPS.items() for line in _group_lines(group, commands)),
        "Exit codes: 0 done, 2 recipe or installation, 3 data, 4 service, 5 too many failures,",
        "            6 a gate is closed (of the audit, or of a release), 70 bug, 75 waiting for people or for a batch,",
        "            130 stopped by Ctrl-C",
        "",
        "Examples:",
        *(f"  {example}" for example in COMMANDS["build"].examples),
    ]
    return "\n".join(lines) + "\n"


def _group_lines(group: str, commands: Mapping[str, Command]) -> list[str]:
    return [f"{group}:", *(f"  {name:<10} {command.help}" for name, command in commands.items()), ""]
