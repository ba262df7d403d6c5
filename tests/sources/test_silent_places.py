"""Nothing is silent: every place of the readers that passes over something says what it leaves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2] / "benchbuilder/sources"
TABLE = Path(__file__).with_name("silent_places.yaml")


def what(node: ast.AST) -> str:
    """What a place does that could lose something; empty if nothing."""
    if isinstance(node, ast.Continue):
        return "continue"
    if isinstance(node, ast.ExceptHandler) and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
        return f"except {ast.unparse(node.type)}" if node.type else "except"
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
        return f"suppress {', '.join(map(ast.unparse, node.args))}"
    if isinstance(node, ast.keyword) and node.arg == "errors":
        return f"errors={ast.unparse(node.value)}"
    return ""


def places(node: ast.AST, names: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = (*names, node.name)
    if found := what(node):
        yield f"{'.'.join(names)}: {found}"
    for child in ast.iter_child_nodes(node):
        yield from places(child, names)


def test_every_place_that_passes_over_something_says_what_it_leaves() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()} {place}"
        for path in ROOT.rglob("*.py")
        for place in places(ast.parse(path.read_text(encoding="utf-8")), ())
    }
    told = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    assert sorted(found - told.keys()) == [], "write into silent_places.yaml what it leaves"
    assert sorted(told.keys() - found) == [], "remove these lines of silent_places.yaml"
    assert all(len(text) > len("nothing") for text in told.values())
