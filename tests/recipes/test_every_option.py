"""Every bundled recipe composes with every option of each group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

import pytest
import yaml

from benchbuilder.config.load import load_recipe
from benchbuilder.config.search_path import bundled_folder
from benchbuilder.core.errors import RecipeError

ROOT = bundled_folder("recipes")
RECIPES = sorted(path.stem for path in (ROOT / "recipe").glob("*.yaml"))
EVERY_ANNOTATION = ("care_mi", "medicine_en")
"""Recipes that are composed with every way of annotation, of which most are in the language of one recipe."""
GROUPS = ("run", "tokenizer", "model", "retriever", "annotation", "outputs")

NEEDS = {
    "retriever=dense": ["retriever.name=some/model", "retriever.revision=1f2e"],
    "retriever=hybrid": [f"retriever.lists.meaning.path={Path(__file__).parent}"],
    "tokenizer=huggingface": ["tokenizer.name=some/model"],
    "model=fake_service_zh": [f"++paths.fake_service_replies={__file__}"],
    "model=openai": ["model.name=some-model"],
    "model=replay": [f"model.replies={__file__}"],
    "model=transformers": ["model.name=some/model"],
}
"""What an option leaves to the user."""
FOLDED = {
    (recipe, f"retriever={kind}")
    for recipe in RECIPES
    if "fold"
    in (yaml.safe_load((ROOT / "recipe" / f"{recipe}.yaml").read_text(encoding="utf-8")).get("retriever") or {})
    for kind in ("dense", "hybrid")
}
"""Recipes with a `fold` for retrieval by words, and retrievers that do not compare words."""


def combinations(recipe: str) -> list[list[str]]:
    """Overrides that together use every option of each group, variant and source, several groups at a time."""
    groups = GROUPS if recipe in EVERY_ANNOTATION else [group for group in GROUPS if group != "annotation"]
    chosen = [[word for choice in row for word in choice] for row in options_in_rows(recipe, groups)]
    sources = source_names(recipe)
    chosen += [[f"source=[{name}]"] for name in sources]
    for variant in variant_names(recipe):
        chosen += [[f"variant={variant}"], [f"variant={variant}", f"source=[{sources[-1]}]"]]
    return [[f"recipe={recipe}", *overrides] for overrides in [[], *chosen]]


def options_in_rows(recipe: str, groups: Sequence[str]) -> list[list[list[str]]]:
    """The options of some groups with what each needs: the first of each group, the second, and so on."""
    options = [[f"{group}={path.stem}" for path in sorted((ROOT / group).glob("*.yaml"))] for group in groups]
    return [
        [
            [option, *NEEDS.get(option, []), *(["~retriever.fold"] * ((recipe, option) in FOLDED))]
            for option in row
            if option is not None
        ]
        for row in zip_longest(*options)
    ]


def few_combinations(recipe: str) -> list[list[str]]:
    """Every source and variant of a recipe; for two recipes, which share them, every option of each group besides."""
    rows: list[list[str]] = []
    if recipe in EVERY_ANNOTATION:
        own = EVERY_ANNOTATION.index(recipe)
        shared = options_in_rows(recipe, GROUPS)[own :: len(EVERY_ANNOTATION)]
        rows = [[word for choice in row for word in choice] for row in shared]
    sources, variants = ([f"source=[{name}]"] for name in source_names(recipe)), variant_names(recipe)
    parts = zip_longest(rows, sources, ([f"variant={name}"] for name in variants), fillvalue=[])
    return [[f"recipe={recipe}", *(word for part in row for word in part)] for row in parts]


def variant_names(recipe: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "variant" / recipe).glob("*.yaml"))


def source_names(recipe: str) -> list[str]:
    """The sources that a recipe has paths for."""
    text = (ROOT / "recipe" / f"{recipe}.yaml").read_text(encoding="utf-8")
    return [path.stem for path in sorted((ROOT / "source").glob("*.yaml")) if f"  {path.stem}: " in text]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def problems(compositions: Iterable[list[str]]) -> list[str]:
    """What is wrong with any of these compositions."""
    found: list[str] = []
    for overrides in compositions:
        try:
            loaded = load_recipe(overrides)
        except RecipeError as error:
            found.append(f"{' '.join(overrides)}: {error}")
            continue
        missing = [key for key, ref in loaded.files if not ref.file.exists()]
        found += [f"{' '.join(overrides)}: {key} names no file" for key in missing]
        assert loaded.recipe.steps
    return found


@pytest.mark.push
def test_every_option_composes_with_a_recipe() -> None:
    compositions = [overrides for recipe in RECIPES for overrides in few_combinations(recipe)]
    words = {word for overrides in compositions for word in overrides}
    everything = {word for recipe in RECIPES for overrides in combinations(recipe) for word in overrides}
    assert {word for word in everything if "retriever.fold" not in word} <= words
    assert problems(compositions) == []


@pytest.mark.full
@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_composes_with_every_option(recipe: str) -> None:
    assert problems(combinations(recipe)) == []


def test_what_does_not_compose_is_named() -> None:
    (said,) = problems([["recipe=reading_en"], ["recipe=reading_en", "outputs=nowhere"]])
    assert said.startswith("recipe=reading_en outputs=nowhere: ")


@pytest.mark.push
def test_each_step_can_have_a_model_of_its_own() -> None:
    loaded = load_recipe(["recipe=care_mi", "model@steps.state_choice.model=none"])
    assert loaded.recipe.steps["state_choice"].model is not loaded.recipe.model
