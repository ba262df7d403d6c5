"""``benchbuild results``: rewrite the results of an evaluation, or show two side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchbuilder.cli.evaluate import file_lines, recipe_of_single_task, recipes_of_tasks, say_tasks
from benchbuilder.cli.session import progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import DataError, Problem, RecipeError
from benchbuilder.evaluation import Evaluation, ResultsSpec, chooses_model, plan_evaluation, write_side_by_side
from benchbuilder.pipeline import build_benchmark, is_as_written


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the results without asking any model."""
    parts = recipes_of_tasks(args) if not args.beside else [recipe_of_single_task(args)]
    for part in parts:
        if part.recipe.evaluation is not None or len(parts) == 1:
            _write(part, args, console)
    say_tasks(parts[0], console)
    return 0


def _write(loaded: LoadedRecipe, args: argparse.Namespace, console: Console) -> None:
    evaluation = plan_evaluation(loaded, Path.cwd(), with_model=chooses_model(loaded.overrides), asking=False)
    with progress_watcher(console) as watcher:
        report = build_benchmark(evaluation.plan, evaluation.store, loaded.yaml, watcher)
    written = list(report.written_files)
    if args.beside:
        files, unmarked = _compare_results(loaded, evaluation, Path(args.beside))
        written += files
        report.notes += unmarked
    for note in (*evaluation.notes, *report.notes):
        print_line(console, f"note: {note}")
    for line in file_lines(written):
        print_line(console, f"  {line}")


def _compare_results(loaded: LoadedRecipe, evaluation: Evaluation, other_folder: Path) -> tuple[list[Path], list[str]]:
    """Write the two evaluations side by side, with notes; DataError if the other results are missing or changed."""
    spec = next((output for output in evaluation.spec.outputs.values() if isinstance(output, ResultsSpec)), None)
    if spec is None:
        raise RecipeError([Problem("this recipe writes no results", key="evaluation.outputs",
                                   hint="add an output of the kind `results`")])  # fmt: skip
    files = sorted(other_folder.glob("*.json")) if other_folder.is_dir() else [other_folder]
    own = evaluation.store.folder / f"{spec.file}.json"
    data = other_folder / own.name if (other_folder / own.name).exists() else next(iter(files), other_folder)
    if not data.is_file():
        raise DataError(
            f"{display_path(other_folder)} has no results",
            where="command line: --beside",
            why=f"there is no {own.name} in it",
            next="name the folder of an evaluation, for instance builds/care_mi/evaluation",
        )
    notes = _check_written(data)
    texts = spec.texts(loaded.recipe.language)
    return write_side_by_side(data, own, evaluation.store.folder, texts=texts), notes


def _check_written(data: Path) -> list[str]:
    """DataError if results are not as they were written; a note if nothing tells."""
    as_written = is_as_written(data)
    if as_written is None:
        return [f"{display_path(data)} has no checksum beside it: nothing tells whether it was changed"]
    if not as_written:
        raise DataError(
            "these results are not as they were written", where=display_path(data),
            why="the checksum of the evaluation is another one", next="write them again there: benchbuild results",
        )  # fmt: skip
    return []
