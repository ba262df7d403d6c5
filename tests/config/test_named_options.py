"""Every option of a group that a recipe's header or a page names: composed and checked with its recipe."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

from benchbuilder.config.load import load_recipe
from benchbuilder.core.errors import Problem, RecipeError
from benchbuilder.evaluation.plan import check_setting_files
from benchbuilder.pipeline.check import check_recipe

PROJECT = Path(__file__).parents[2]
RECIPES = PROJECT / "recipes"
GROUPS = {path.name for path in RECIPES.iterdir() if path.is_dir()} - {"recipe", "run", "local"}
CHOICE = re.compile(r"(?<![\w.@])([a-z_]+)=(?:\[([a-z0-9_, ]+)\]|([a-z][a-z0-9_]*))(?![\w.=/(])")
WHERE = {"BENCHBUILDER_CACHE": os.environ["BENCHBUILDER_CACHE"]}
"""An environment in which nothing is set but where composed recipes are kept."""
OF_LANGUAGE = {"en": "medicine_en", "zu": "clinic_zu", "law": "law_zh", "documents": "guideline_zh"}


def texts() -> Iterator[tuple[Path, str]]:
    """The comments of recipes, and the pages, by paragraph."""
    for path in RECIPES.rglob("*.yaml"):
        yield path, "\n".join(line for line in path.read_text("utf-8").splitlines() if "#" in line)
    for path in [PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md")]:
        yield from ((path, paragraph) for paragraph in path.read_text("utf-8").split("\n\n"))


def recipe_of(path: Path, text: str, options: list[str]) -> str:
    """The recipe that an option is named for: by the command, the place of the text, or the option's name."""
    named = [name for name in re.findall(r"recipe=(\w+)", text) if (RECIPES / "recipe" / f"{name}.yaml").exists()]
    places = [part for part in (*path.parts, path.stem) if (RECIPES / "recipe" / f"{part}.yaml").exists()]
    words = {word for option in options for word in option.split("_")}
    spoken = [recipe for word, recipe in OF_LANGUAGE.items() if word in words]
    return [*named, *places, *spoken, "care_mi"][0]


def named_choices() -> dict[str, dict[str, set[str]]]:
    """The choices that are named, by recipe and group; those that a page makes up are left out."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path, text in texts():
        for group, many, one in CHOICE.findall(text):
            options = [option.strip() for option in (many or one).split(",")]
            recipe = recipe_of(path, text, options)
            folders = [RECIPES / group, RECIPES / group / recipe]
            known = all(any((folder / f"{option}.yaml").exists() for folder in folders) for option in options)
            if group in GROUPS and known:
                found[recipe][group].add(f"{group}=[{','.join(options)}]" if many else f"{group}={options[0]}")
    return found


NAMED = named_choices()


def test_choices_are_found():
    assert "evaluation=[en_claims,en_prompted]" in NAMED["medicine_en"]["evaluation"]
    assert sum(len(choices) for groups in NAMED.values() for choices in groups.values()) > 20


@pytest.mark.full
def test_every_named_choice_makes_a_recipe(tmp_path: Path):
    found = [problem for recipe in sorted(NAMED) for problem in problems_of(recipe, tmp_path)]
    assert not found, "\n".join(found)


def problems_of(recipe: str, folder: Path) -> Iterator[str]:
    """What is wrong with the choices that are named for a recipe; those of different groups are checked together."""
    groups = [sorted(choices) for choices in NAMED[recipe].values()]
    for choices in zip_longest(*groups):
        overrides = [f"recipe={recipe}", *(choice for choice in choices if choice is not None)]
        overrides += ["model.name=some-model"] if "model=openai" in overrides else []
        # a choice of sources may leave those of passages out, and then people are asked for none
        overrides += (
            ["annotation.min_evidence=0"]
            if "annotation=none" not in overrides and any("source=" in word for word in overrides)
            else []
        )
        try:
            loaded = load_recipe(overrides, cwd=folder, environ=WHERE)
            check_recipe(loaded, sources=())
            check_setting_files(loaded)
        except RecipeError as error:
            yield from (f"{overrides}: {problem}" for problem in error.problems if not is_open(problem))


def is_open(problem: Problem) -> bool:
    """Whether a recipe only lacks what its user gives: a value, or the path of a file."""
    needs_value = problem.message.startswith(("a value must be given here", "set one of"))
    return needs_value or problem.actual.startswith("${paths.")
