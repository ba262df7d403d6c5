"""``benchbuild ls``: list recipes and kinds, without importing any kind."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table
from yaml.constructor import SafeConstructor

from benchbuilder.config import RecipeIndex, display_path, find_roots, parse_yaml_tree
from benchbuilder.core import SLOTS, kinds_of_slot, read_given_text

_UNREADABLE = "(this file cannot be read: benchbuild check says why)"


def run(args: argparse.Namespace, console: Console) -> int:
    """Print a table."""
    console.print(_kinds_table() if args.kinds else _recipes_table(RecipeIndex(find_roots(args.recipes or ()))))
    return 0


def _recipes_table(library: RecipeIndex) -> Table:
    heads = ("recipe", "language", "title", "sources", "variants", "file")
    table = Table(*heads, box=None, pad_edge=False, header_style="bold")
    for name in library.option_names("recipe"):
        for path, _ in library.paths_of(f"recipe/{name}"):
            data = _read_yaml(path)
            title = _UNREADABLE if data is None else _mapping(_mapping(data).get("card")).get("title", "")
            language, kinds = _mapping(data).get("language", ""), ", ".join(_source_kinds(_mapping(data), library))
            variants = ", ".join(library.option_names(f"variant/{name}"))
            table.add_row(name, str(language), str(title), kinds, variants, display_path(path))
    return table


def _read_yaml(path: Path) -> Any:
    """The content of a file, without what it includes; None if it cannot be read."""
    try:
        tree = parse_yaml_tree(read_given_text(path))
        return {} if tree is None else SafeConstructor().construct_document(tree) or {}
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        return None


def _mapping(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _source_kinds(data: dict[str, Any], library: RecipeIndex) -> list[str]:
    """The kinds of the sources that a recipe chooses or defines."""
    sources = [spec for spec in _mapping(data.get("sources")).values() if isinstance(spec, dict)]
    for entry in data.get("defaults") or ():
        for group, names in _mapping(entry).items():
            if str(group).rpartition(" ")[2].strip("/") == "source" and isinstance(names, list):
                paths = (library.paths_of(f"source/{name}") for name in names)
                sources += [_mapping(_read_yaml(matches[0][0])) for matches in paths if matches]
    return sorted({str(spec["kind"]) for spec in sources if "kind" in spec})


def _kinds_table() -> Table:
    table = Table("slot", "kind", "from", box=None, pad_edge=False, header_style="bold")
    for slot in SLOTS:
        for name, kind in kinds_of_slot(slot).items():
            table.add_row(slot, name, f"{kind.distribution} {kind.version}")
    return table
