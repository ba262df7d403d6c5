"""``benchbuild compare-models``: run several models, or rules, over the same rows of a step."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterable, Sequence

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
from benchbuilder.cli.session import Session, open_session, progress_watcher, split_names
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path
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


def run(args: argparse.Namespace, console: Console) -> int:
    """Run the candidates, read the ratings so far, write the files and print the table."""
    count = take_row_count(args.overrides, _ROWS)
    session = open_session(args, console)
    node = prompting_node(session.plan, args.step)
    is_writer = isinstance(node.producer.spec, WriterSpec)
    candidates: list[ComparedModel] = []
    with progress_watcher(console) as watcher:
        watcher.begin("candidates", len(args.candidates), "recipes")
        for text in args.candidates:
            candidates.append(_candidate(text, args, session, must_write=is_writer))
            watcher.advance("candidates", 1)
        watcher.end("candidates", "checked")
    labels = [candidate.label for candidate in candidates]
    if duplicates := sorted({label for label in labels if labels.count(label) > 1}):
        raise _argument_error(f"two candidates are called {duplicates[0]!r}", duplicates[0], "give each a LABEL:")
    folder = session.store.folder / "compare" / args.step
    with progress_watcher(console) as watcher:
        plan, store = session.plan, session.store
        comparison = run_comparison(plan, store, args.step, candidates, count, watcher, folder / "times.json")
    files = write_comparison(comparison, folder, session.plan.recipe.seed, session.plan.recipe.language)
    _print_table(files, console)
    print_line(console, "\n".join(files.notes))
    _print_disagreements(comparison, console, every=args.all)
    for file in files.files:
        print_line(console, f"  {display_path(file)}")
    if unanswered := comparison.unanswered_labels():
        labels_text = ", ".join(unanswered)
        print_line(console, f"no answer came from {labels_text}; once the service answers, repeat the command")
        return ServiceError.exit_code
    if any(result.passed_count for result in comparison.results):
        print_line(console, "next: let two people fill in the sheets (0 or 1 per cell), each their own file, and "
             "repeat the command")  # fmt: skip
    return 0


def _print_table(files: ComparisonFiles, console: Console) -> None:
    """Print the table without empty columns; one block per candidate if it is wider than the terminal."""
    width = console.width
    if not console.is_terminal:
        columns_setting = os.environ.get("COLUMNS", "")
        width = int(columns_setting) if columns_setting.isdecimal() else _WIDTH_IN_PIPE
    columns = [index for index in range(len(files.head)) if any(line[index] for line in files.table)]
    heads = [re.sub(r" (?=by|tokens)", "\n", files.head[index]) for index in columns]
    table = Table(*heads, box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for line in files.table:
        table.add_row(*(Text(printable_text(line[index])) for index in columns))
    wide = console.options.update(width=_WIDEST)
    if Measurement.get(console, wide, table).maximum <= width:
        console.print(table, width=width)
        return
    for line in files.table:
        print_line(console, f"\n{line[0]}")
        for index in columns[1:]:
            print_line(console, f"  {files.head[index]:<32} {line[index]}".rstrip())
    print_line(console, "")


def _candidate(text: str, args: argparse.Namespace, base: Session, *, must_write: bool) -> ComparedModel:
    """The candidate of one ``--with``: its overrides replace those of the command with the same keys."""
    match = _LABELLED.fullmatch(text.strip())
    label, rest = (match[1].strip(), match[2]) if match else ("", text)
    try:
        overrides = shlex.split(rest)
    except ValueError as error:
        raise _argument_error(f"the overrides cannot be separated: {error}", text, "close the quotes") from error
    rules = "rules" in overrides
    overrides = [text for text in overrides if text != "rules"]
    if not overrides and not rules:
        raise _argument_error("a candidate without overrides", text, "`rules`, or model=openai model.name=NAME")
    if stray := split_names(overrides)[0]:
        message = f"{stray[0]!r} is neither `rules` nor an override such as 'model=openai model.name=NAME'"
        raise _argument_error(message, text, f"perhaps 'model=openai model.name={stray[0]}'")
    strategy = f"steps.{args.step}.strategy"
    if must_write and not any(_override_key(text) == strategy for text in overrides):
        overrides.append(f"{strategy}={'rules' if rules else 'model'}")
    keys = {_override_key(text) for text in overrides}
    inherited = [text for text in args.overrides if _override_key(text) not in keys]
    if _chosen_model(overrides) not in ("", _chosen_model(args.overrides)):
        # settings of another kind of model do not apply; of the same kind they do, above all its address
        inherited = [text for text in inherited if not _override_key(text).startswith("model.")]
    candidate_args = argparse.Namespace(overrides=[*inherited, *overrides], recipes=args.recipes)
    plan = open_session(candidate_args, base.console).plan
    prompting_node(plan, args.step)
    producer = plan.nodes[args.step].producer
    model = producer.model_spec if isinstance(producer, PromptedMap) else None
    if "model" in keys and model is not None and model != plan.recipe.model:
        hint = f"write model@steps.{args.step}.model=... instead"
        raise _argument_error(f"step {args.step!r} has its own model", text, hint)
    return ComparedModel(label or ("rules" if model is None else create_from_spec("model", model).label), plan)


def _chosen_model(overrides: Iterable[str]) -> str:
    """The model that the overrides choose; empty if none."""
    return next((text.partition("=")[2] for text in overrides if _override_key(text) == "model"), "")


def _override_key(override: str) -> str:
    return override.partition("=")[0].lstrip("+~")


def _argument_error(message: str, text: str, hint: str) -> RecipeError:
    return RecipeError([Problem(message, where=f"command line: --with {text!r}", hint=hint)])


def _print_disagreements(comparison: Comparison, console: Console, *, every: bool) -> None:
    positions: Sequence[int] = comparison.disagreements()
    shown = positions if every else positions[:_LISTED]
    for position in shown:
        print_line(console, f"\n{comparison.ids[position]}  {comparison.origins[position]}")
        excerpt = tail_excerpt(comparison.inputs[position], lines=6, characters=300)
        print_line(console, "    " + excerpt.replace("\n", "\n    "))
        for result in comparison.results:
            text = result.texts[position]
            print_line(console, f"  {result.label}: {'failed' if text.failure else text.text or text.explanation}")
    if len(positions) > len(shown):
        more = count_phrase(len(positions) - len(shown), "more row")
        print_line(console, f"\n{more} on which they differ: --all lists them, and rows.tsv has every row")
    print_line(console, "")
