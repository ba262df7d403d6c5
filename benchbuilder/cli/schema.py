"""``benchbuild schema``: write a JSON Schema of recipe files, for editors."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from benchbuilder.cli.terminal import print_line
from benchbuilder.config import recipe_schema


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--output", metavar="FILE", help="write to this file")


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the schema."""
    text = json.dumps(recipe_schema(), ensure_ascii=False, indent=2) + "\n"
    if args.output is None:
        sys.stdout.write(text)
        return 0
    Path(args.output).write_text(text, encoding="utf-8")
    comment = f"# yaml-language-server: $schema={args.output}"
    print_line(console, f"wrote {args.output}; put this line on top of a recipe: {comment}")
    return 0
