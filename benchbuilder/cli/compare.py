"""``benchbuild compare``: several models, or rules, over the same rows of a step."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from benchbuilder.authoring import (
    ComparedModel,
    Comparison,
    ComparisonFiles,
    prompting_node,
    run_comparison,
    write_comparison,
)
from benchbuilder.cli.preview import take_row_count
from benchbuilder.cli.session import Session, add_overrides, open_session, progress_watcher
from benchbuilder.core import (
    Problem,
    RecipeError,
    ServiceError,
    count_phrase,
    create_from_spec,
    printable_text,
    tail_excerpt,
)
from benchbuilder.steps import PromptedMap, WriterSpec

_ROWS = 50
_LISTED = 10
_WIDTH_IN_PIPE = 120
_WIDEST = 10_000
_LABELLED = re.compile(r"([^=:]+):\s+(.*)", re.DOTALL)


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("step", help="a step that can put prompts")
    add_overrides(parser)
    parser.add_argument(
        "--with", dest="candidates", action="append", metavar="'[LABEL:] WORDS'", required=True,
        help="a candidate: `rules`, or overrides such as 'model=openai model.name=NAME' (repeatable)",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="list every disagreement")


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the candidates, read what people said so far, write the files and print the table."""
    count = take_row_count(args.overrides, _ROWS)
    session = open_session(args, console)
    node = prompting_node(session.plan, args.step)
    writes = isinstance(node.producer.spec, WriterSpec)
    candidates: list[ComparedModel] = []
    with progress_watcher(console) as watcher:
        watcher.begin("candidates", len(args.candidates), "recipes")
        for text in args.candidates:
            candidates.append(_candidate(text, args, session, must_write=writes))
            watcher.advance("candidates", 1)
        watcher.end("candidates", "checked")
    labels = [candidate.label for candidate in candidates]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise RecipeError(
            [_argument_problem(f"two candidates are called {twice[0]!r}", twice[0], "give each a LABEL:")]
        )
    folder = session.store.folder / "compare" / args.step
    with progress_watcher(console) as watcher:
        plan, store = session.plan, session.store
        done = run_comparison(plan, store, args.step, candidates, count, watcher, folder / "times.json")
    filed = write_comparison(done, folder, session.plan.recipe.seed, session.plan.recipe.language)
    _show(filed, console)
    _say(console, "\n".join(filed.notes))
    _list(done, console, every=args.all)
    for file in filed.files:
        _say(console, f"  {_relative_path(file)}")
    if unheard := done.unanswered_labels():
        _say(
            console, f"no answer came from {', '.join(unheard)}; once the service answers, the same command asks again"
        )
        return ServiceError.exit_code
    if any(result.passed_count for result in done.results):
        _say(console, "next: let two people fill in the packets (0 or 1 a cell), each in a file of their own, and give "
             "the same command again")  # fmt: skip
    return 0


def _show(filed: ComparisonFiles, console: Console) -> None:
    """The table without its empty columns; a block a candidate where it is wider than the terminal."""
    told = os.environ.get("COLUMNS", "")
    width = console.width if console.is_terminal else int(told) if told.isdecimal() else _WIDTH_IN_PIPE
    columns = [place for place in range(len(filed.head)) if any(line[place] for line in filed.table)]
    heads = [re.sub(r" (?=by|tokens)", "\n", filed.head[place]) for place in columns]
    table = Table(*heads, box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for line in filed.table:
        table.add_row(*(Text(printable_text(line[place])) for place in columns))
    wide = console.options.update(width=_WIDEST)
    if Measurement.get(console, wide, table).maximum <= width:
        console.print(table, width=width)
        return
    for line in filed.table:
        _say(console, f"\n{line[0]}")
        for place in columns[1:]:
            _say(console, f"  {filed.head[place]:<32} {line[place]}".rstrip())
    _say(console, "")


def _candidate(text: str, args: argparse.Namespace, base: Session, *, must_write: bool) -> ComparedModel:
    """The candidate that a ``--with`` says: its words stand in place of those of the command that they contradict."""
    match = _LABELLED.fullmatch(text.strip())
    label, rest = (match[1].strip(), match[2]) if match else ("", text)
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise RecipeError(
            [_argument_problem(f"the words cannot be told apart: {error}", text, "close the quotes")]
        ) from error
    rules = "rules" in words
    words = [word for word in words if word != "rules"]
    if not words and not rules:
        raise RecipeError(
            [_argument_problem("a candidate without words", text, "`rules`, or model=openai model.name=NAME")]
        )
    if stray := [word for word in words if "=" not in word and not word.startswith("~")]:
        message = (
            f"a candidate is `rules`, or overrides such as 'model=openai model.name=NAME'; {stray[0]!r} is neither"
        )
        raise RecipeError([_argument_problem(message, text, f"perhaps 'model=openai model.name={stray[0]}'")])
    strategy = f"steps.{args.step}.strategy"
    if must_write and not any(_override_key(word) == strategy for word in words):
        words.append(f"{strategy}={'rules' if rules else 'model'}")
    keys = {_override_key(word) for word in words}
    kept = [word for word in args.overrides if _override_key(word) not in keys]
    if _chosen_model(words) not in ("", _chosen_model(args.overrides)):
        # what was said of another sort of model; of the same sort it holds, above all the address that is asked
        kept = [word for word in kept if not _override_key(word).startswith("model.")]
    asked = argparse.Namespace(overrides=[*kept, *words], recipes=args.recipes)
    plan = open_session(asked, base.console).plan
    prompting_node(plan, args.step)
    maker = plan.nodes[args.step].producer
    asks = maker.model_spec if isinstance(maker, PromptedMap) else None
    if "model" in keys and asks is not None and asks != plan.recipe.model:
        hint = f"write model@steps.{args.step}.model=... in its place"
        raise RecipeError(
            [_argument_problem(f"step {args.step!r} has a model of its own, and asks that one", text, hint)]
        )
    return ComparedModel(label or ("rules" if asks is None else create_from_spec("model", asks).label), plan)


def _chosen_model(overrides: Iterable[str]) -> str:
    """Which model the words choose."""
    return next((word.partition("=")[2] for word in overrides if _override_key(word) == "model"), "")


def _override_key(override: str) -> str:
    return override.partition("=")[0].lstrip("+~")


def _argument_problem(message: str, text: str, hint: str) -> Problem:
    return Problem(message, where=f"command line: --with {text!r}", hint=hint)


def _say(console: Console, text: str) -> None:
    console.print(printable_text(text), highlight=False, markup=False, soft_wrap=True)


def _list(comparison: Comparison, console: Console, *, every: bool) -> None:
    places: Sequence[int] = comparison.disagreements()
    shown = places if every else places[:_LISTED]
    for place in shown:
        _say(console, f"\n{comparison.ids[place]}  {comparison.origins[place]}")
        _say(console, "    " + tail_excerpt(comparison.inputs[place], lines=6, characters=300).replace("\n", "\n    "))
        for result in comparison.results:
            one = result.texts[place]
            _say(console, f"  {result.label}: {'failed' if one.failure else one.text or one.explanation}")
    if len(places) > len(shown):
        more = count_phrase(len(places) - len(shown), "more row")
        _say(console, f"\n{more} on which they differ: --all lists them, and rows.tsv has every row")
    _say(console, "")


def _relative_path(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
