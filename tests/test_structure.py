"""The house keeps its shape: rooms with faces, names that occur once, files and functions of a size that one reads."""

from __future__ import annotations

import ast
import importlib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "benchbuilder"
ROOMS = [
    "annotation",
    "api",
    "authoring",
    "cli",
    "config",
    "core",
    "evaluation",
    "explorer",
    "exporters",
    "models",
    "pipeline",
    "publishing",
    "retrieval",
    "sources",
    "steps",
    "testing",
    "web",
]
TWICE: dict[str, str] = {}
"""Class names that may occur in more than one file, each with its reason; at most five."""
MODULES_OF_PLUGINS = 15
"""How many modules of benchbuilder all plugins together may import."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def code() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "bundled" not in path.parts)


def code_of_plugins() -> list[Path]:
    return sorted((ROOT / "plugins").glob("*/benchbuilder_*/**/*.py"))


def face(room: str) -> ModuleType:
    return importlib.import_module(f"benchbuilder.{room}")


def percentile(sizes: list[int], part: float) -> int:
    return sorted(sizes)[int(len(sizes) * part)]


def test_every_module_is_in_one_of_seventeen_rooms() -> None:
    assert sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")) == ROOMS
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_face_says_in_one_sentence_what_the_room_is_for(room: str) -> None:
    sentence = (face(room).__doc__ or "").strip().splitlines()[0]
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert len(sentence.split()) <= 25


@pytest.mark.parametrize("room", ROOMS)
def test_each_name_of_a_face_is_there_and_hides_no_module(room: str) -> None:
    package = face(room)
    names: list[str] = package.__all__
    assert names
    assert len(names) == len(set(names))
    assert [name for name in names if isinstance(getattr(package, name), ModuleType)] == []
    modules = {path.stem for path in (PACKAGE / room).iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(names) & modules == set()


@pytest.mark.push
def test_a_class_name_occurs_once() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in (*code(), *code_of_plugins()):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    again = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in again.items() if name not in TWICE} == {}
    assert set(TWICE) <= set(again), "an exception that nothing needs"
    assert len(TWICE) <= 5


def test_files_have_a_size_that_one_reads() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in code()}
    assert {name: size for name, size in sizes.items() if size > 400} == {}
    assert percentile([*sizes.values()], 0.9) <= 250


@pytest.mark.push
def test_functions_have_a_size_that_one_reads() -> None:
    sizes = {
        f"{path.relative_to(ROOT)}:{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in code()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: size for name, size in sizes.items() if size > 50} == {}
    assert percentile([*sizes.values()], 0.9) <= 30


def test_plugins_import_few_modules_of_the_program() -> None:
    modules: set[str] = set()
    for path in code_of_plugins():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchbuilder."):
                modules.add(node.module or "")
            elif isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names if alias.name.startswith("benchbuilder.")}
    assert 0 < len(modules) <= MODULES_OF_PLUGINS


def test_a_test_file_has_a_name_of_its_own() -> None:
    """Pytest imports test files by their names alone."""
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "plugins").glob("*/tests/**/test_*.py")]
    assert [name for name, count in Counter(file.name for file in files).items() if count > 1] == []
