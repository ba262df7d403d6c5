"""``benchbuild score-private``: score answers to the private questions of a release."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchbuilder.cli.release import split_version
from benchbuilder.cli.session import progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path, load_recipe
from benchbuilder.core import DEFAULT_LANGUAGE, count_phrase, page_texts, write_atomically
from benchbuilder.publishing import ScoredSubmission, score_submission


def run(args: argparse.Namespace, console: Console) -> int:
    """Print the scores of each model."""
    version, overrides = split_version(args.overrides)
    loaded = load_recipe(overrides, recipes=args.recipes)
    with progress_watcher(console) as watcher:
        scored = score_submission(loaded, args.answers, Path.cwd(), watcher, version=version)
    record = scored.record
    print_line(console, f"{record.name} {record.version}, {count_phrase(record.private_items, 'private question')}")
    console.print(_table(scored))
    for model, count in scored.unanswered.items():
        if count:
            print_line(console, f"note: {model} left out {count_phrase(count, 'question')}, which count as wrong")
    print_line(console, f"in full, not to be published: {display_path(scored.folder)}")
    if args.output is not None:
        data = {"benchmark": record.name, "version": record.version, "unanswered": dict(scored.unanswered),
                "scores": [asdict(score) for score in scored.scores]}  # fmt: skip
        write_atomically(args.output, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
        print_line(console, f"  {display_path(args.output)}")
    return 0


def _table(scored: ScoredSubmission) -> Table:
    tasks = any(score.task for score in scored.scores)
    columns = [*(["task"] if tasks else []), "type", "model", "aspect", "questions", "score", "interval", "found"]
    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    percent = page_texts(DEFAULT_LANGUAGE).percent
    for score in scored.scores:
        found = score.estimate
        bounds = [percent(bound) for bound in (found.low, found.high) if bound is not None]
        table.add_row(
            *([score.task] if tasks else []), score.type, score.model, score.aspect, f"{found.n}",
            "" if found.value is None else percent(found.value), " – ".join(bounds),
            ", ".join(f"{label} {count}" for label, count in score.labels.items()),
        )  # fmt: skip
    return table
