"""``benchbuild analyse``: what do the answers of models say about the items, and about the models?"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from rich.console import Console

from benchbuilder.cli.evaluate import add_benchmark_arguments, file_lines, recipes_of_tasks
from benchbuilder.cli.session import add_overrides
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path
from benchbuilder.core import DEFAULT_LANGUAGE, count_phrase, page_texts
from benchbuilder.evaluation import Analysis, analyse_evaluation, analysis_texts, write_analysis


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    add_benchmark_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Analyse the answers of each task; nobody is asked."""
    parts = recipes_of_tasks(args)
    for part in parts:
        if part.recipe.evaluation is not None or len(parts) == 1:
            analysis = analyse_evaluation(part, Path.cwd())
            _print_analysis(analysis, write_analysis(analysis, analysis_texts(part.recipe)), console)
    return 0


def _print_analysis(analysis: Analysis, files: list[Path], console: Console) -> None:
    say, t = partial(print_line, console), page_texts(DEFAULT_LANGUAGE)
    if analysis.task:
        say(f"{analysis.task}:")
    for note in analysis.notes(t):
        say(f"note: {note}")
    for section in analysis.sections.values():
        for sentence in section.sentences(t):
            say(sentence)
    answered = analysis.answered
    models = sum(system.group == "model" for system in answered.systems)
    say(f"{count_phrase(models, 'model')} on {count_phrase(len(answered.items), 'item')}, "
        f"in {display_path(analysis.folder)}:")  # fmt: skip
    for line in file_lines(files):
        say(f"  {line}")
