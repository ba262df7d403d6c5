"""Every bundled recipe can be copied; with its open places filled as the original has them, the copy can run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from clone_world import run

from benchbuilder.config import YamlEditor
from benchbuilder.config.load import load_recipe
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.search_path import RecipeRoot, bundled_folder, find_roots
from benchbuilder.core.errors import RecipeError
from benchbuilder.pipeline.check import check_recipe

RECIPES = RecipeIndex([RecipeRoot(bundled_folder("recipes"), "bundled")]).option_names("recipe")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def filled_words(here: Path, origin: str) -> list[str]:
    """For each open place of the copy a word of the command line that says what the original says."""
    record = json.loads((here / "recipes/recipe/copy/origin.json").read_text("utf-8"))
    original = RecipeIndex(find_roots()).paths_of(f"recipe/{origin}")[0][0]
    paths = yaml.safe_load(original.read_text("utf-8")).get("paths", {})
    words: list[str] = []
    with pytest.raises(RecipeError) as caught:
        load_recipe(["recipe=copy"])
    for problem in caught.value.problems:
        top, _, name = problem.key.partition(".")
        if problem.message.startswith("a value must be given here") and top == "card":
            words.append(f"++{problem.key}={json.dumps(record['card'][name], ensure_ascii=False)}")
        elif problem.message.startswith("a value must be given here") and top == "paths":
            words.append(f"paths.{name}={original.parent / paths[name]}")
        else:
            assert top == "sources", str(problem)
    return words


@pytest.mark.parametrize("origin", RECIPES)
def test_it_is_copied_whole(origin: str, here: Path) -> None:
    assert run("new", "copy", "--from", origin) == 0
    words = filled_words(here, origin)
    loaded = load_recipe(["recipe=copy", *words])
    check_recipe(loaded)
    theirs = [
        f"{key}: {ref.file}"
        for key, ref in loaded.files
        if not ref.file.is_relative_to(here) and not key.startswith("sources.") and ".model.prices" not in key
    ]
    assert [file for file in theirs if not file.startswith("model.")] == []
    assert loaded.recipe.language == load_recipe([f"recipe={origin}"]).recipe.language


@pytest.mark.parametrize("origin", RECIPES)
def test_comments_are_kept_and_nothing_but_what_must_be_is_changed(origin: str, here: Path) -> None:
    assert run("new", "copy", "--from", origin) == 0
    record = json.loads((here / "recipes/recipe/copy/origin.json").read_text("utf-8"))
    for place, copied in record["files"].items():
        top, _, below = copied["origin"].partition("/")
        theirs = (bundled_folder(top) / below).read_text("utf-8").splitlines()
        ours = (here / place).read_text("utf-8").splitlines()
        assert {line for line in theirs if line.startswith("#")} <= {line for line in ours if line.startswith("#")}
        if place.endswith("/examples.yaml"):  # those of the copied prompts
            old, new = (yaml.safe_load("\n".join((*lines, ""))) for lines in (theirs, ours))
            assert {name: new[name] | old[name] for name in new} == new
        elif not place.startswith("recipes/recipe/"):
            assert len(set(theirs) - set(ours)) <= 13, f"{place}: {set(theirs) - set(ours)}"
        if place.endswith(".yaml"):
            YamlEditor((here / place).read_text("utf-8"))


def linted(paths: list[Path]) -> dict[Path, list[str]]:
    """Each file's problems as ``rule: line``. yamllint changes PyYAML's loaders, so it runs in its own process."""
    rules = Path(__file__).parents[3] / ".yamllint.yaml"
    command = [sys.executable, "-m", "yamllint", "-f", "parsable", "-c", str(rules), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    problems: dict[Path, list[str]] = {path: [] for path in paths}
    for line in done.stdout.splitlines():
        path, number, _column, message = line.split(":", 3)
        problems[Path(path)].append(f"{message.rpartition('(')[2].rstrip(')')}: {number}")
    return problems


@pytest.mark.full
def test_the_copies_pass_the_linter_of_recipes(here: Path) -> None:
    copies: dict[Path, Path] = {}
    for origin in RECIPES:
        assert run("new", f"copy_{origin}", "--from", origin, "--source", "questions:multiple_choice") == 0
        record = json.loads((here / f"recipes/recipe/copy_{origin}/origin.json").read_text("utf-8"))
        for place, copied in record["files"].items():
            if place.endswith(".yaml"):
                top, _, below = copied["origin"].partition("/")
                copies[here / place] = bundled_folder(top) / below
    problems = linted([*copies, *set(copies.values())])
    for copy, theirs in copies.items():
        allowed = {"line-length", *(problem.partition(":")[0] for problem in problems[theirs])}
        assert [problem for problem in problems[copy] if problem.partition(":")[0] not in allowed] == [], copy
