"""What is kept of a composed recipe equals what composing it again gives, and damage or other files never show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config import cache_folder, composition_cache
from benchbuilder.config.compose import compose_recipe
from benchbuilder.config.composed_recipe import ComposedRecipe, composed_from_json, composed_to_json
from benchbuilder.config.composition_cache import composed_recipe
from benchbuilder.config.load import load_recipe
from benchbuilder.config.search_path import RecipeRoot, find_roots
from benchbuilder.core.errors import RecipeError

WORDS = ["recipe=garden", "variant=strict", "+retriever=wide", "steps.state.endings=[a,b]", "card.title=null", "seed=1"]


@pytest.fixture
def roots(garden: Any) -> tuple[RecipeRoot, ...]:
    return find_roots(cwd=garden.folder, environ={})


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What this process knows is forgotten, as in a new one; the cache on disk is empty at first."""
    monkeypatch.setenv("BENCHBUILDER_CACHE", str(tmp_path / "cache"))
    kept = composition_cache._composed.cache_clear  # pyright: ignore[reportPrivateUsage]
    kept()
    return kept


def kept(words: list[str], roots: tuple[RecipeRoot, ...]) -> ComposedRecipe:
    """The recipe of a command that goes well."""
    composition = composed_recipe(words, roots)
    composition.keep()
    return composition.recipe


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "composed").glob("*.json"))


@pytest.mark.parametrize("words", [WORDS, ["recipe=garden"], ["recipe=garden", "steps.state.prompt=${nothing}"]])
def test_what_is_read_back_is_what_was_composed(words: list[str], roots: tuple[RecipeRoot, ...]) -> None:
    composed = compose_recipe(words, roots)
    assert composed_from_json(json.loads(json.dumps(composed_to_json(composed))), roots) == composed


def test_a_second_process_composes_nothing(
    roots: tuple[RecipeRoot, ...], forget: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kept(WORDS, roots)
    forget()
    monkeypatch.setattr(composition_cache, "_compose", None)
    assert kept(WORDS, roots) == first
    assert len(files(tmp_path)) == 1


def test_other_files_other_words_and_damage_are_composed_again(
    garden: Any, roots: tuple[RecipeRoot, ...], forget: Any, tmp_path: Path
) -> None:
    kept(WORDS, roots)
    (file,) = files(tmp_path)
    assert kept([*WORDS, "seed=9"], roots).data["seed"] == 9
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b'"seed": 1,', b'"seed": 2,'))
    forget()
    assert kept(WORDS, roots).data["seed"] == 1
    assert file.read_bytes() == whole, "kept anew"
    garden.replace("recipes/recipe/garden.yaml", "language: en", "language: de")
    forget()
    assert kept(WORDS, roots).data["language"] == "de"
    assert len(files(tmp_path)) == 3


def test_a_folder_that_others_may_write_to_is_not_believed(
    roots: tuple[RecipeRoot, ...], forget: Any, tmp_path: Path
) -> None:
    (tmp_path / "cache" / "composed").mkdir(parents=True)
    (tmp_path / "cache" / "composed").chmod(0o777)
    kept(WORDS, roots)
    assert not files(tmp_path)


def test_nothing_is_lost_without_a_cache(roots: tuple[RecipeRoot, ...], forget: Any, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert kept(WORDS, roots).data["seed"] == 1


def test_what_was_used_long_ago_is_deleted(
    roots: tuple[RecipeRoot, ...], forget: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_folder, "_MOST_KEPT", 2)
    for seed in range(4):
        kept(["recipe=garden", f"seed={seed}"], roots)
    assert len(files(tmp_path)) == 2


def test_a_mistake_is_not_kept(garden: Any, roots: tuple[RecipeRoot, ...], forget: Any, tmp_path: Path) -> None:
    garden.write("recipes/recipe/garden.yaml", "a: [\n")
    for _ in range(2):
        with pytest.raises(RecipeError):
            kept(["recipe=garden"], roots)
    assert not files(tmp_path)


def test_a_recipe_that_is_refused_is_not_kept(garden: Any, forget: Any, tmp_path: Path) -> None:
    """It may hold a secret."""
    with pytest.raises(RecipeError):
        load_recipe(["recipe=garden", "steps.state.api_key=sk-secret"])
    assert not files(tmp_path)
    load_recipe(["recipe=garden"])
    assert len(files(tmp_path)) == 1
