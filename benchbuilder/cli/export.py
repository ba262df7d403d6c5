"""``benchbuild export``: write a benchmark for evaluation harnesses."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path, load_recipe
from benchbuilder.core import count_phrase
from benchbuilder.publishing import HARNESSES, ExportRequest, export_benchmark


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the exports, and say where they are."""
    harnesses, overrides = split_harnesses(args.overrides)
    named = [word.partition("=")[2] for word in overrides if word.startswith("judge=")]
    overrides = [word for word in overrides if not word.startswith("judge=")]
    judge = "" if named[-1:] in ([], ["none"]) else named[-1]
    loaded = load_recipe(overrides, recipes=args.recipes)
    release, output = (None if text is None else Path(text) for text in (args.release, args.output))
    exports = export_benchmark(
        ExportRequest(
            loaded,
            harnesses,
            Path.cwd(),
            release,
            output,
            judge,
            pressure=args.pressure,
            without_private=args.without_private,
        )
    )
    for task in exports[0].benchmark.tasks:
        examples = f", {count_phrase(len(task.examples), 'example')} for prompts" if task.examples else ""
        print_line(console, f"{task.name}: {count_phrase(len(task.rows), 'question')}{examples}")
    pushes = {task.name: len(task.rows) for export in exports for task in export.benchmark.pushes}
    for name, talks in pushes.items():
        print_line(console, f"{name}: {count_phrase(talks, 'conversation')}")
    for config, why in exports[0].benchmark.left_out.items():
        print_line(console, f"left out: {config}: {why}")
    for note in dict.fromkeys(note for export in exports for note in export.benchmark.notes):
        print_line(console, f"note: {note}")
    if (carried := exports[0].benchmark.judge) is not None:
        print_line(
            console,
            f"judge {carried.name}: a whole run judges {carried.items:,} replies, about {carried.tokens:,} tokens each",
        )
    for export in exports:
        print_line(console, f"{export.harness}: {display_path(export.folder / 'README.md')} says how to run it")
    return 0


def split_harnesses(words: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Take ``to=lm_eval,inspect`` out of the words of a command line: the harnesses, and the rest."""
    named = [word.partition("=")[2] for word in words if word.startswith("to=")]
    names = [name.strip() for name in (named or [""])[-1].strip("[]").split(",")]
    every = tuple(HARNESSES) if names == ["all"] else tuple(filter(None, names))
    return every, [word for word in words if not word.startswith("to=")]
