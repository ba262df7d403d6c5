"""``benchbuild scorecard``: which criteria of a good benchmark are met, and what nobody has answered."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.api import scorecard_of
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path, load_recipe
from benchbuilder.core import printable_text
from benchbuilder.publishing import Reach, Scorecard, State

_WORDS: Mapping[State, str] = {"yes": "yes", "partly": "partly", "no": "no", "not_applicable": "n/a", "unknown": "?"}


def run(args: argparse.Namespace, console: Console) -> int:
    """Print the scorecard and write it into the folder of the build."""
    report = scorecard_of(load_recipe(args.overrides, recipes=args.recipes), Path.cwd())
    if args.form:
        _print_form(report.scorecard, console)
        return 0
    _print_scorecard(report.scorecard, console)
    print_line(console, f"in full: {display_path(report.file)}")
    return 0


def _print_scorecard(card: Scorecard, console: Console) -> None:
    say = partial(print_line, console)
    table = Table("criterion", "state", "evidence", box=None, pad_edge=False, header_style="bold")
    stage = ""
    for row in card.rows:
        if row.criterion.stage != stage:
            stage = row.criterion.stage
            table.add_row(Text(stage, style="bold"), "", "")
        evidence = str(row.evidence or row.criterion.text)
        table.add_row(f"  {row.criterion.id}", _WORDS[row.state], Text(printable_text(evidence)))
    console.print(table, width=None if console.is_terminal else 160)
    say()
    for task, reach in card.reach.items():
        for line in coverage_lines(reach):
            say(f"{task}: {line}" if task else line)
    for name, counts in card.counts().items():
        say(f"{name}: " + ", ".join(f"{word} {count}" for state, word in _WORDS.items() if (count := counts[state])))
    for row in card.missing():
        say(f"required for a release, and {_WORDS[row.state]}: {row.criterion.id}")
    if unanswered := card.of("unknown"):
        say(f"next: answer {len(unanswered)} questions in the recipe (scorecard.answers); --form prints them")


def coverage_lines(reach: Reach) -> list[str]:
    """Which part of each source reaches the items, in a line each."""
    lines: list[str] = []
    for source in reach.sources:
        share = f" ({source.reached / source.facts:.0%})" if source.facts else ""
        relations = f", {source.reached_relations} of {source.relations} relations" if source.relations else ""
        lines.append(f"{source.source}: {source.reached:,} of {source.facts:,} facts{share} reach {source.items:,} "
                     f"items{relations}")  # fmt: skip
    if reach.words:
        lines.append(f"topic list: items name {reach.reached_words:,} of {reach.words:,} words")
    return lines


def _print_form(card: Scorecard, console: Console) -> None:
    """Print a form in YAML: one entry for each criterion that nobody answered."""
    say = partial(print_line, console)
    say("scorecard:")
    say("  answers:")
    for row in card.of("unknown"):
        say(f"    # {row.criterion.text}")
        say(f"    {row.criterion.id}: {{state: no, evidence: {json.dumps('not answered yet')}}}")
