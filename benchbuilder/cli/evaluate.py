"""``benchbuild evaluate``: ask models the questions of the benchmark and score their answers."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from benchbuilder.api import EvaluationResult, benchmark_overrides, run_evaluation
from benchbuilder.api import recipes_of_tasks as load_recipes
from benchbuilder.authoring import quote_plan
from benchbuilder.cli.claims import print_claims
from benchbuilder.cli.costs import print_quote
from benchbuilder.cli.pressure import print_pressure, print_pressure_plan
from benchbuilder.cli.receipts import receipt_lines
from benchbuilder.cli.scoreboard import print_scoreboard
from benchbuilder.cli.session import build_progress, receipts_if_stopped
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import DataError, Problem, RecipeError, count_phrase, name_file_in_errors
from benchbuilder.evaluation import (
    BENCHMARK,
    Evaluation,
    PeopleSpec,
    RatingsScorer,
    ScoreAnswers,
    answer_sheet,
    asked_items,
    benchmark_items,
    chooses_model,
    evaluation_tables,
    plan_evaluation,
    unused_rows,
    write_task_results,
)
from benchbuilder.pipeline import check_recipe

_SHOWN = 12
"""Up to this many files of one folder are listed one by one."""


def run(args: argparse.Namespace, console: Console) -> int:
    """Evaluate each task; exit code 0 when every answer is there and scored as far as possible."""
    parts = recipes_of_tasks(args)
    if args.sheet and len(parts) > 1:
        raise RecipeError([Problem("a sheet is of one task", where=f"command line: --sheet {args.sheet}",
                                   allowed=", ".join(part.task for part in parts), hint="--task NAME")])  # fmt: skip
    exit_codes = [_run(part, plan_evaluation(part, Path.cwd(), with_model=chooses_model(part.overrides)), args, console)
             for part in parts if part.recipe.evaluation is not None or len(parts) == 1]  # fmt: skip
    if not args.quote and not args.sheet:
        say_tasks(parts[0], console)
    return max(exit_codes, default=0)


def say_tasks(loaded: LoadedRecipe, console: Console) -> None:
    """Write the results of all tasks side by side, if there are several, and say where they are."""
    files = write_task_results(loaded, Path.cwd())
    if files:
        print_line(console, f"\nall tasks side by side: {', '.join(map(display_path, files))}")


def _run(loaded: LoadedRecipe, evaluation: Evaluation, args: argparse.Namespace, console: Console) -> int:
    say = partial(print_line, console)
    for warning in check_recipe(loaded, sources=()):
        if warning.key.startswith(loaded.file_key("evaluation")):
            say(f"warning: {warning}")
    refresh = frozenset(args.refresh or ())
    if args.quote:
        for note in evaluation.notes:
            say(f"note: {note}")
        with build_progress(console) as watcher:
            quote = quote_plan(evaluation.plan, evaluation.store, watcher, refresh)
        print_pressure_plan(console, evaluation)
        print_quote(console, quote, evaluation.plan.recipe.budget)
        return 0
    if args.sheet:
        count = _write_sheet(loaded, evaluation, Path(args.sheet))
        say(f"{count_phrase(count, 'question')} to answer in {args.sheet}")
        say("next: fill in the columns answer and person, and name the file with paths.human_answers=FILE")
        return 0
    plan, store = evaluation.plan, evaluation.store
    lines = "steps" if args.verbose else "long"
    with build_progress(console, lines=lines) as watcher, receipts_if_stopped(plan, store, watcher):
        result = run_evaluation(evaluation, loaded.yaml, watcher, refresh)
    return _print_report(result, console)


def recipes_of_tasks(args: argparse.Namespace, overrides: Sequence[str] | None = None) -> list[LoadedRecipe]:
    """The recipe of each task, or only of the one that ``--task`` names.

    Args:
        args: Parsed arguments.
        overrides: The overrides to load, where the command has taken some out of `args.overrides`.
    """
    chosen = list(args.overrides if overrides is None else overrides)
    if "benchmark" in args:
        chosen += benchmark_overrides(args.benchmark, args.expected, args.task)
    return load_recipes(chosen, args.recipes, args.task)


def recipe_of_single_task(args: argparse.Namespace, overrides: Sequence[str] | None = None) -> LoadedRecipe:
    """The recipe of the one task; RecipeError if there are several and ``--task`` names none."""
    parts = recipes_of_tasks(args, overrides)
    if len(parts) > 1:
        raise RecipeError([Problem("this benchmark has several tasks", where="command line", hint="--task NAME",
                                   allowed=", ".join(part.task for part in parts))])  # fmt: skip
    return parts[0]


def _write_sheet(loaded: LoadedRecipe, evaluation: Evaluation, path: Path) -> int:
    """Write a sheet with as many questions as the rating project of the human baseline draws; their number."""
    items = asked_items(evaluation)
    baselines = (spec for spec in evaluation.spec.baselines.values() if isinstance(spec, PeopleSpec))
    review = next((loaded.recipe.reviews.get(spec.review) for spec in baselines), None)
    wanted = (None if review is None else review.rows.sample) or len(items)
    try:
        with name_file_in_errors(path), path.open("xb") as stream:
            stream.write(answer_sheet(items, wanted, loaded.recipe.seed))
    except FileExistsError as error:
        raise DataError(
            f"{path} exists already", where="command line: --sheet", why="people may have filled it in",
            next="name another file, or move this one away",
        ) from error  # fmt: skip
    return min(wanted, len(items))


def file_lines(files: Sequence[Path]) -> Iterator[str]:
    """One line for each file; a folder with more than a few files is one line."""
    folders = Counter(file.parent for file in files)
    listed_folders = set[Path]()
    for file in files:
        if folders[file.parent] <= _SHOWN:
            yield display_path(file)
        elif file.parent not in listed_folders:
            listed_folders.add(file.parent)
            yield f"{display_path(file.parent)}/ ({folders[file.parent]} files)"


def _unused_ratings(evaluation: Evaluation) -> Iterator[str]:
    """Notes on ratings of answers that this evaluation does not have."""
    producers = (node.producer for node in evaluation.plan.nodes.values())
    scorers = (producer.scorer for producer in producers if isinstance(producer, ScoreAnswers))
    ratings = {scorer.context.step.partition(".")[0]: scorer for scorer in scorers if isinstance(scorer, RatingsScorer)}
    models = [name.partition(".")[2] for name in evaluation_tables(evaluation, "answer")]
    for scorer in ratings.values():
        scorer.open()
        yield from scorer.unused_ratings(benchmark_items(evaluation), models)


def _print_report(result: EvaluationResult, console: Console) -> int:
    """Print what the evaluation made and what to do next; the exit code."""
    say, evaluation, report = partial(print_line, console), result.evaluation, result.report
    for note in (*evaluation.notes, *report.notes):
        say(f"note: {note}")
    for note in _unused_ratings(evaluation):
        say(f"note: {note}")
    for waiting in report.waiting.values():
        say(str(waiting))
    systems = [name.removeprefix("answer.") for name in report.manifests if name.startswith("answer.")]
    folder, benchmark = evaluation.store.folder, report.manifests[BENCHMARK]
    items = report.manifests[evaluation.plan.recipe.items].rows
    lost = Counter({reason: n for _, outcome, reason, n in benchmark.units if outcome == "dropped"})
    unused, is_much = unused_rows(lost, benchmark.rows)
    if not benchmark.rows:
        raise DataError(
            "no row of the benchmark could be used", why=unused or "its files hold none",
            where=display_path(folder / "ledger.tsv"), next="the ledger names file and line of each row",
        )  # fmt: skip
    if unused and not is_much:
        say(f"note: {unused}")
    if items < benchmark.rows:
        say(f"note: one question of each family is asked: {items} of {count_phrase(benchmark.rows, 'item')}")
    task = f"{evaluation.task}: " if evaluation.task else ""
    _print_tables(result, console)
    for line in receipt_lines(report.receipts):
        say(line)
    if evaluation.plan.recipe.card.illustrative and evaluation.spec.benchmark is None:
        say("The benchmark is a bundled sample: illustrative, not checked by experts.")
    say()
    scored = {score.system.name for score in result.scoreboard.scores} if result.scoreboard is not None else {*systems}
    if silent := [name for name in systems if name not in scored]:
        say(f"not scored, since none of their answers could be: {', '.join(silent)}")
    count = count_phrase(len(systems) - len(silent), "system")
    say(f"{task}{count} on {count_phrase(items, 'item')}, in {display_path(folder)}:")
    for line in file_lines(report.written_files):
        say(f"  {line}")
    warning = f"{unused} ({display_path(folder / 'ledger.tsv')} names file and line of each)" if is_much else ""
    for line in _last_lines(result, warning):
        say(line)
    return 75 if report.waiting else 0


def _print_tables(result: EvaluationResult, console: Console) -> None:
    """Print the systems, and what claims before the questions did to them."""
    if result.scoreboard is not None:
        answering = {name for name, node in result.evaluation.plan.nodes.items() if node.row.name == "answer"}
        receipts = [receipt for receipt in result.report.receipts if receipt.step in answering]
        print_scoreboard(console, result.scoreboard, receipts)
    if result.claims is not None:
        print_claims(console, result.claims)
    if result.pressure is not None:
        print_pressure(console, result.pressure)


def _last_lines(result: EvaluationResult, warning: str) -> Iterator[str]:
    """What nobody may miss, and what to look at."""
    if warning:
        yield f"warning: {warning}"
    pages = [file for file in result.report.written_files if file.suffix == ".html"]
    if pages:
        yield f"next: open {display_path(pages[0])} in a browser"
    if result.scoreboard is not None and any(one.system.group == "model" for one in result.scoreboard.scores):
        yield "next: benchbuild analyse, with the same arguments, says what these answers show about the items"
