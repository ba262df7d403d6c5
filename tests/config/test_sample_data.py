"""Whether a benchmark is illustrative follows from the sources in use, for each task."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config import sample_data
from benchbuilder.config.load import LoadedRecipe, load_recipe

GARDEN = "recipes/recipe/garden.yaml"


@pytest.fixture
def installed(garden: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed recipes with a sample, beside the garden."""
    folder = garden.folder.parent / "installed"
    sample = folder / "recipe/park/sample/plants.tsv"
    sample.parent.mkdir(parents=True)
    sample.write_text("head\trelation\ttail\nelm\tneeds\twater\n")
    monkeypatch.setattr(sample_data, "installed_folders", lambda: (folder,))
    return sample


def load(*words: str) -> LoadedRecipe:
    return load_recipe(["recipe=garden", *words])


def test_own_data_are_as_their_author_says(garden: Any, installed: Path) -> None:
    assert not load().recipe.card.illustrative
    assert load("card.illustrative=true").recipe.card.illustrative
    garden.replace(GARDEN, "  title: Garden\n", "  title: Garden\n  illustrative: true\n")
    assert load().recipe.card.illustrative
    own = garden.folder.parent / "own.tsv"
    own.write_text("head\trelation\ttail\n")
    assert not load(f"paths.plants={own}").recipe.card.illustrative


def test_a_sample_is_illustrative_whatever_the_recipe_says(garden: Any, installed: Path) -> None:
    assert load(f"paths.plants={installed}").recipe.card.illustrative
    assert load(f"paths.plants={installed}").warnings == ()
    loaded = load(f"paths.plants={installed}", "card.illustrative=false")
    assert loaded.recipe.card.illustrative
    assert "bundled sample data" in str(loaded.warnings[0])
    assert "the sample of plants" in str(loaded.warnings[0])


def test_a_copy_of_a_sample_is_a_sample(garden: Any, installed: Path) -> None:
    copy = shutil.copy(installed, garden.folder / "recipes/recipe/garden/plants.tsv")
    assert load().recipe.card.illustrative
    assert load("paths.plants=recipes/recipe/garden/pl*.tsv").recipe.card.illustrative
    Path(copy).write_text("head\trelation\ttail\nelm\tneeds\tshade\n")
    assert not load().recipe.card.illustrative


def test_each_task_is_decided_by_its_own_sources(garden: Any, installed: Path) -> None:
    text = (garden.folder / GARDEN).read_text()
    garden.write(GARDEN, text.replace("items: items\n", "tasks: {a: {items: items}, b: {items: more}}\n", 1)
        .replace("/source: [plants]", "/source: [plants, quiz]")
        .replace("  quiz: garden/quiz.tsv", "  quiz: garden/plants.tsv"))  # fmt: skip
    garden.write("recipes/flow/claims.yaml", (garden.folder / "recipes/flow/claims.yaml").read_text()
        + "more: {kind: review, from: other_pair}\nother_pair: {kind: pair, from: {each: other_state, fact: other}}\n"
        "other_state: {kind: state, from: other, prompt: en/state.j2, min_chars: 5, endings: ['.'], tone: plain}\n"
        "other: {kind: topic, from: sources.quiz, words: garden/words.txt, match: exact}\n")  # fmt: skip
    garden.replace("recipes/flow/claims.yaml", "sources.triple", "sources.plants")
    loaded = load(f"paths.quiz={installed}")
    assert {name: part.recipe.card.illustrative for name, part in zip("ab", loaded.by_task(), strict=True)} == {
        "a": False, "b": True,
    }  # fmt: skip
    assert loaded.recipe.card.illustrative
