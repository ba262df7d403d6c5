"""``benchbuild analyse``: what do the answers of models say about the items, and about the models?"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import quote_plan
from benchbuilder.cli.costs import print_quote
from benchbuilder.cli.evaluate import file_lines, recipes_of_tasks
from benchbuilder.cli.session import progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import DEFAULT_LANGUAGE, count_phrase, page_texts
from benchbuilder.evaluation import (
    ANALYSIS_PAGE,
    Analysis,
    analyse_evaluation,
    chooses_model,
    plan_answers,
    plan_evaluation,
    write_analysis,
)


def run(args: argparse.Namespace, console: Console) -> int:
    """Analyse the answers of each task; nobody is asked."""
    parts = recipes_of_tasks(args)
    for part in parts:
        if args.plan and (part.recipe.evaluation is not None or len(parts) == 1):
            _plan(part, args.plan, console)
        elif part.recipe.evaluation is not None or len(parts) == 1:
            analysis = analyse_evaluation(part, Path.cwd())
            _print_analysis(analysis, write_analysis(analysis), console)
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
    say(f"next: open {display_path(analysis.folder / ANALYSIS_PAGE)} in a browser")


def _plan(loaded: LoadedRecipe, text: str, console: Console) -> None:
    """Say how many items are needed, what the present ones show, and what answers to these cost."""
    say = partial(print_line, console)
    evaluation = plan_evaluation(loaded, Path.cwd(), with_model=chooses_model(loaded.overrides))
    plan = plan_answers(loaded, evaluation, text)
    asked = plan.request
    basis = (
        "estimated from the scores there are" if plan.estimated else "assumed, since there are no scores of two models"
    )
    if loaded.task:
        say(f"{loaded.task}:")
    say(f"mean score {plan.mean:.2f}, correlation of two models {plan.correlation:.2f}, likeness within a family "
        f"{plan.likeness:.2f}: {basis}")  # fmt: skip
    pairs = asked.models * (asked.models - 1) // 2
    for note in plan.notes:
        say(f"note: {note.text(page_texts(DEFAULT_LANGUAGE))}")
    tests = "" if pairs == 1 else f" in each of {pairs} comparisons (first step of Holm)"
    say(f"a difference of {asked.difference:g} shows with power {asked.power:g} at {asked.level:.0%}{tests} from "
        f"{plan.items:,} items on, in {plan.families:,} families")  # fmt: skip
    say(f"the {count_phrase(plan.present, 'item')} of this benchmark show differences of {plan.visible:.3f} and more")
    with progress_watcher(console) as watcher:
        quote = quote_plan(evaluation.plan, evaluation.store, watcher, frozenset())
    say(f"answers to the {count_phrase(plan.present, 'item')}, as evaluate --quote says:")
    print_quote(console, quote, evaluation.plan.recipe.budget)
