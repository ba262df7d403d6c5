"""``benchbuild report``: write the results of an evaluation again, or two of them side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchbuilder.cli.evaluate import add_benchmark, file_lines, single_task, tasks_of
from benchbuilder.cli.session import add_overrides, watching
from benchbuilder.config.load import Loaded
from benchbuilder.config.search_path import shown
from benchbuilder.core.display import harmless
from benchbuilder.core.errors import DataError, Problem, RecipeError
from benchbuilder.evaluation.plan import Evaluation, asked_words, plan_evaluation
from benchbuilder.evaluation.results.exporter import ResultsSpec
from benchbuilder.evaluation.results.side_by_side import side_by_side
from benchbuilder.pipeline.build import build


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    add_benchmark(parser)
    parser.add_argument(
        "--beside", metavar="FOLDER", help="the folder of another evaluation, to be shown side by side with this one"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Write what can be written without asking any model."""
    parts = tasks_of(args) if not args.beside else [single_task(args)]
    for part in parts:
        if part.recipe.evaluation is not None or len(parts) == 1:
            _write(part, args, console)
    return 0


def _write(loaded: Loaded, args: argparse.Namespace, console: Console) -> None:
    evaluation = plan_evaluation(loaded, Path.cwd(), with_model=asked_words(loaded.words), asking=False)
    with watching(console) as watcher:
        report = build(evaluation.plan, evaluation.store, loaded.yaml, watcher)
    written = list(report.written)
    if args.beside:
        written += _beside(evaluation, Path(args.beside))
    for note in (*evaluation.notes, *report.notes):
        console.print(harmless(f"note: {note}"), highlight=False, markup=False, soft_wrap=True)
    for line in file_lines(written):
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)


def _beside(evaluation: Evaluation, other: Path) -> list[Path]:
    """The two evaluations side by side; DataError if the other folder holds no results."""
    spec = next((one for one in evaluation.spec.outputs.values() if isinstance(one, ResultsSpec)), None)
    if spec is None:
        raise RecipeError([Problem("this recipe writes no results", key="evaluation.outputs",
                                   hint="add an output of the kind `results`")])  # fmt: skip
    files = sorted(other.glob("*.json")) if other.is_dir() else [other]
    own = evaluation.store.folder / f"{spec.file}.json"
    data = other / own.name if (other / own.name).exists() else next(iter(files), other)
    if not data.is_file():
        raise DataError(
            f"{shown(other)} holds no results", where="command line: --beside",
            why=f"there is no {own.name} in it",
            next="name the folder of an evaluation, for instance builds/care_mi/evaluation",
        )  # fmt: skip
    return side_by_side(data, own, evaluation.store.folder, language=spec.language)
