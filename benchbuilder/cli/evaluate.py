"""``benchbuild evaluate``: put the benchmark to models and score their answers."""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import quote_plan
from benchbuilder.cli.costs import budget_lines, quote_notes, quote_table, receipt_lines
from benchbuilder.cli.session import add_overrides, add_refresh
from benchbuilder.config import LoadedRecipe, display_path, load_recipe
from benchbuilder.core import (
    DataError,
    Problem,
    RecipeError,
    ServiceError,
    TooManyFailures,
    count_phrase,
    printable_text,
)
from benchbuilder.evaluation import (
    Evaluation,
    PeopleSpec,
    RatingsScorer,
    ScoreAnswers,
    answer_sheet,
    benchmark_items,
    chooses_model,
    evaluation_tables,
    plan_evaluation,
)
from benchbuilder.pipeline import (
    BarProgress,
    BuildReport,
    LineProgress,
    Watcher,
    build_benchmark,
    check_recipe,
    open_gateway,
)

_SHOWN = 12
"""Files of one folder that are named one by one."""


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    add_refresh(parser)
    add_benchmark_arguments(parser)
    parser.add_argument(
        "--quote", action="store_true", help="ask no model: say what would be asked, and what that may cost"
    )
    parser.add_argument(
        "--sheet", metavar="FILE", help="ask nobody: write a sheet (CSV) in which people answer some of the questions"
    )


def add_benchmark_arguments(parser: argparse.ArgumentParser) -> None:
    """Let a command take ``--task NAME`` and ``--benchmark FILE``."""
    add_task_argument(parser)
    parser.add_argument(
        "--benchmark", metavar="FILE", help="a benchmark that was not built here: TSV, CSV, JSON Lines or Parquet"
    )
    parser.add_argument(
        "--expected", choices=("yes", "no"),
        help="the right verdict of that benchmark's true/false questions, if it has no column `expected`",
    )  # fmt: skip


def add_task_argument(parser: argparse.ArgumentParser) -> None:
    """Let a command take ``--task NAME``."""
    parser.add_argument("--task", metavar="NAME", help="one task of a benchmark that has several")


def run(args: argparse.Namespace, console: Console) -> int:
    """Evaluate each task; exit code 0 when every answer is there and scored as far as it can be."""
    parts = recipes_of_tasks(args)
    if args.sheet and len(parts) > 1:
        raise RecipeError([Problem("a sheet is of one task", where=f"command line: --sheet {args.sheet}",
                                   allowed=", ".join(part.task for part in parts), hint="--task NAME")])  # fmt: skip
    codes = [_run(part, plan_evaluation(part, Path.cwd(), with_model=chooses_model(part.overrides)), args, console)
             for part in parts if part.recipe.evaluation is not None or len(parts) == 1]  # fmt: skip
    return max(codes, default=0)


def _run(loaded: LoadedRecipe, evaluation: Evaluation, args: argparse.Namespace, console: Console) -> int:
    def say(text: str = "") -> None:
        console.print(printable_text(text), highlight=False, markup=False, soft_wrap=True)

    for warning in check_recipe(loaded, sources=()):
        if warning.key.startswith(loaded.file_key("evaluation")):
            say(f"warning: {warning}")
    refresh = frozenset(args.refresh or ())
    if args.quote:
        for note in evaluation.notes:
            say(f"note: {note}")
        return _quote(evaluation, console, refresh)
    if args.sheet:
        count = _write_sheet(loaded, evaluation, Path(args.sheet))
        say(f"{count_phrase(count, 'question')} to answer in {args.sheet}")
        say("next: fill in the columns answer and person, and name the file with paths.human_answers=FILE")
        return 0
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(BarProgress(console)) if console.is_terminal else LineProgress(console)
        try:
            report = build_benchmark(
                evaluation.plan, evaluation.store, loaded.yaml, watcher, refresh=refresh, keep_outputs=True
            )
        except (ServiceError, TooManyFailures, KeyboardInterrupt):
            _print_costs(evaluation, watcher)
            raise
    return _print_report(evaluation, report, console)


def benchmark_overrides(args: argparse.Namespace) -> list[str]:
    """What ``--benchmark`` says, as words of the command line."""
    if args.benchmark:
        key = f"tasks.{args.task}.evaluation.benchmark" if args.task else "evaluation.benchmark"
        words = [f"{key}.kind=benchmark", f"{key}.path={_quoted_path(args.benchmark)}"]
        return words + ([f"{key}.expected='{args.expected}'"] if args.expected else [])
    if args.expected:
        raise RecipeError([Problem("--expected speaks of a benchmark that was not built here", hint="--benchmark FILE",
                                   where=f"command line: --expected {args.expected}")])  # fmt: skip
    return []


def recipes_of_tasks(args: argparse.Namespace, overrides: Sequence[str] | None = None) -> list[LoadedRecipe]:
    """The recipe of each task that the arguments of a command choose: of all, or of the one that ``--task`` names.

    `overrides` are those of the command line, where the command has taken some out.
    """
    given = [
        *(args.overrides if overrides is None else overrides),
        *(benchmark_overrides(args) if "benchmark" in args else ()),
    ]
    loaded = load_recipe(given, recipes=args.recipes)
    return [loaded.for_task(args.task)] if args.task else loaded.by_task()


def recipe_of_single_task(args: argparse.Namespace, overrides: Sequence[str] | None = None) -> LoadedRecipe:
    """The same, where only one task will do; RecipeError if there are several and ``--task`` names none."""
    parts = recipes_of_tasks(args, overrides)
    if len(parts) > 1:
        raise RecipeError([Problem("this benchmark has several tasks", where="command line", hint="--task NAME",
                                   allowed=", ".join(part.task for part in parts))])  # fmt: skip
    return parts[0]


def _write_sheet(loaded: LoadedRecipe, evaluation: Evaluation, path: Path) -> int:
    """Write a sheet for people to answer as many questions as the review of the human baseline draws."""
    found = benchmark_items(evaluation)
    baselines = (one for one in evaluation.spec.baselines.values() if isinstance(one, PeopleSpec))
    review = next((loaded.recipe.reviews.get(one.review) for one in baselines), None)
    wanted = (None if review is None else review.rows.sample) or len(found)
    try:
        with path.open("xb") as stream:
            stream.write(answer_sheet(found, wanted, loaded.recipe.seed))
    except FileExistsError as error:
        raise DataError(
            f"{path} is there already", where="command line: --sheet", why="people may have filled it in",
            next="name another file, or move this one away",
        ) from error  # fmt: skip
    return min(wanted, len(found))


def _quoted_path(text: str) -> str:
    """A path as a value of the command line's grammar."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _quote(evaluation: Evaluation, console: Console, refresh: frozenset[str]) -> int:
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(BarProgress(console)) if console.is_terminal else LineProgress(console)
        quoted = quote_plan(evaluation.plan, evaluation.store, watcher, refresh)
    if quoted is None:
        console.print("no model would be asked: nothing to pay", highlight=False)
        return 0
    console.print(quote_table(quoted))
    for line in (*quote_notes(quoted), *budget_lines(quoted, evaluation.plan.recipe.budget)):
        console.print(line, highlight=False, markup=False, soft_wrap=not console.is_terminal)
    return 0


def _print_costs(evaluation: Evaluation, watcher: Watcher) -> None:
    """What was paid for so far by an evaluation that stops."""
    with open_gateway(evaluation.plan, evaluation.store, watcher.note) as gateway:
        for line in receipt_lines(() if gateway is None else gateway.receipts()):
            watcher.note(line)


def file_lines(files: Sequence[Path]) -> Iterator[str]:
    """A line for each file, and one for each folder of more than a few."""
    folders = Counter(file.parent for file in files)
    told = set[Path]()
    for file in files:
        if folders[file.parent] <= _SHOWN:
            yield display_path(file)
        elif file.parent not in told:
            told.add(file.parent)
            yield f"{display_path(file.parent)}/ ({folders[file.parent]} files)"


def _unused_ratings(evaluation: Evaluation) -> Iterator[str]:
    """What ratings speak of that is not there."""
    makers = (node.producer for node in evaluation.plan.nodes.values())
    scorers = (maker.scorer for maker in makers if isinstance(maker, ScoreAnswers))
    ratings = {scorer.context.step.partition(".")[0]: scorer for scorer in scorers if isinstance(scorer, RatingsScorer)}
    models = [name.partition(".")[2] for name in evaluation_tables(evaluation, "answer")]
    for scorer in ratings.values():
        scorer.open()
        yield from scorer.unused_ratings(benchmark_items(evaluation), models)


def _print_report(evaluation: Evaluation, report: BuildReport, console: Console) -> int:
    """What there is now, and what to do next."""

    def say(text: str = "") -> None:
        console.print(printable_text(text), highlight=False, markup=False, soft_wrap=True)

    say()
    for note in (*evaluation.notes, *report.notes):
        say(f"note: {note}")
    for note in _unused_ratings(evaluation):
        say(f"note: {note}")
    for waiting in report.waiting.values():
        say(str(waiting))
    answers = [name for name in report.manifests if name.startswith("answer.")]
    benchmark = report.manifests[evaluation.plan.recipe.items]
    items, lost = (
        benchmark.rows,
        Counter({reason: n for _, outcome, reason, n in benchmark.units if outcome == "dropped"}),
    )
    told = ", ".join(f"{reason} {n}" for reason, n in lost.items())
    if not items:
        raise DataError(
            "there is nothing to evaluate on: no row of the benchmark could be used", why=told or "its files hold none",
            where=display_path(evaluation.store.folder / "ledger.tsv"), next="the ledger names file and line of each row",
        )  # fmt: skip
    if told:
        say(f"note: {lost.total()} of {lost.total() + items} rows of the benchmark were not used: {told}")
    task = f"{evaluation.task}: " if evaluation.task else ""
    say(
        f"{task}{count_phrase(len(answers), 'model')} on {count_phrase(items, 'item')}, in {display_path(evaluation.store.folder)}:"
    )
    for line in file_lines(report.written_files):
        say(f"  {line}")
    for line in receipt_lines(report.receipts):
        say(line)
    if evaluation.plan.recipe.card.illustrative and evaluation.spec.benchmark is None:
        say("\nThe benchmark is a bundled sample: illustrative, not checked by experts.")
    if pages := [file for file in report.written_files if file.suffix == ".html"]:
        say(f"next: open {display_path(pages[0])} in a browser")
    return 75 if report.waiting else 0
