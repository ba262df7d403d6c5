"""Every bundled recipe composes with every option of each group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchbuilder.config.load import load_recipe
from benchbuilder.config.search_path import bundled_folder

pytestmark = pytest.mark.push

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
    options = [[f"{group}={path.stem}" for path in sorted((ROOT / group).glob("*.yaml"))] for group in groups]
    chosen: list[list[str]] = [[]]
    for row in zip_longest(*options):
        overrides = [
            [option, *NEEDS.get(option, []), *(["~retriever.fold"] * ((recipe, option) in FOLDED))]
            for option in row
            if option is not None
        ]
        chosen.append([word for option in overrides for word in option])
    sources = source_names(recipe)
    chosen += [[f"source=[{name}]"] for name in sources]
    for path in sorted((ROOT / "variant" / recipe).glob("*.yaml")):
        chosen += [[f"variant={path.stem}"], [f"variant={path.stem}", f"source=[{sources[-1]}]"]]
    return [[f"recipe={recipe}", *overrides] for overrides in chosen]


def source_names(recipe: str) -> list[str]:
    """The sources that a recipe has paths for."""
    text = (ROOT / "recipe" / f"{recipe}.yaml").read_text(encoding="utf-8")
    return [path.stem for path in sorted((ROOT / "source").glob("*.yaml")) if f"  {path.stem}: " in text]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def _cases() -> Iterator[Any]:
    """One recipe is quick; the others are composed end to end."""
    for recipe in RECIPES:
        for overrides in combinations(recipe):
            marks = () if recipe == "medicine_en" else pytest.mark.full
            yield pytest.param(overrides, marks=marks, id=" ".join(overrides))


@pytest.mark.push
@pytest.mark.parametrize("overrides", list(_cases()))
def test_it_composes(overrides: list[str]) -> None:
    loaded = load_recipe(overrides)
    assert loaded.recipe.steps
    missing = [key for key, ref in loaded.files if not ref.file.exists()]
    assert missing == []


@pytest.mark.push
def test_each_step_can_have_a_model_of_its_own() -> None:
    loaded = load_recipe(["recipe=care_mi", "model@steps.state_choice.model=none"])
    assert loaded.recipe.steps["state_choice"].model is not loaded.recipe.model
