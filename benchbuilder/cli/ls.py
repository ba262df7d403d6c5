"""``benchbuild ls``: the recipes and kinds that are there; imports no kind."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from benchbuilder import kinds
from benchbuilder.library import Library
from benchbuilder.roots import find_roots, shown


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--kinds", action="store_true", help="list the kinds that recipes may name")


def run(args: argparse.Namespace, console: Console) -> int:
    """Print a table."""
    console.print(_kinds() if args.kinds else _recipes(Library(find_roots(args.recipes or ()))))
    return 0


def _recipes(library: Library) -> Table:
    table = Table("recipe", "title", "variants", "file", box=None, pad_edge=False, header_style="bold")
    for name in library.options("recipe"):
        for path, _ in library.places(f"recipe/{name}"):
            table.add_row(name, _title(path), ", ".join(library.options(f"variant/{name}")), shown(path))
    return table


def _title(path: Path) -> str:
    """The card's title, if the file itself says one and can be read."""
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        return "(this file cannot be read: benchbuild check says why)"
    card: Any = data.get("card") if isinstance(data, dict) else None
    return str(card.get("title", "")) if isinstance(card, dict) else ""


def _kinds() -> Table:
    table = Table("slot", "kind", "from", box=None, pad_edge=False, header_style="bold")
    for slot in kinds.SLOTS:
        for name, kind in kinds.known(slot).items():
            table.add_row(slot, name, f"{kind.distribution} {kind.version}")
    return table
