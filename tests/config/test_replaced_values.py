"""A value that is put into a composed recipe gives what composing gives; where something depends on it, none is put."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config import composition_cache
from benchbuilder.config.compose import compose_recipe
from benchbuilder.config.composed_recipe import ComposedRecipe, composed_from_json, composed_to_json
from benchbuilder.config.composition_cache import composed_recipe
from benchbuilder.config.origins import leaves_of
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.replaced_values import put_values, split_plain_values
from benchbuilder.config.search_path import RecipeRoot, find_roots

WORDS = ["recipe=garden", "variant=strict"]
REFERENCES = """
paths:
  plain: 3
  near: 4
  joined: a
  chosen: b
  holder: {inner: 5}
  refers: ${paths.plain}
  copy: ${paths.holder}
  beside: ${.near}
  text: and ${paths.joined} more
  default: ${oc.select:paths.chosen,"{x}"}
"""


@pytest.fixture
def roots(garden: Any) -> tuple[RecipeRoot, ...]:
    garden.write("recipes/local/default.yaml", f"# @package _global_\n{REFERENCES}")
    return find_roots(cwd=garden.folder, environ={})


def put(base: ComposedRecipe, roots: tuple[RecipeRoot, ...], *texts: str) -> ComposedRecipe | None:
    others, values = split_plain_values([*WORDS, *texts], RecipeIndex(roots))
    if not values:
        return None
    assert list(others) == WORDS
    return put_values(composed_from_json(json.loads(json.dumps(composed_to_json(base))), roots), values)


@pytest.mark.push
def test_every_value_is_as_composed(roots: tuple[RecipeRoot, ...]) -> None:
    base = compose_recipe(WORDS, roots, "files")
    values = ["7", "-3", "0.25", "true", "null", "word"]
    replaced = 0
    for place, (key, _) in enumerate(list(leaves_of(base.data, ()))[::2]):
        text = f"{'.'.join(map(str, key))}={values[place % len(values)]}"
        if (made := put(base, roots, text)) is None:
            continue
        composed = compose_recipe([*WORDS, text], roots, "files")
        assert made == composed, text
        assert [list(made.origins.entries), json.dumps(made.data)] == [
            list(composed.origins.entries), json.dumps(composed.data),
        ]  # fmt: skip
        replaced += 1
    assert replaced > 10
    both = put(base, roots, "seed=8", "steps.state.min_chars=9")
    assert both == compose_recipe([*WORDS, "seed=8", "steps.state.min_chars=9"], roots, "files")


@pytest.mark.parametrize("text", [
    "steps.state.added=7", "paths.added=null", "run.dir=builds/an-other.place", "card.note=x.y",
    "steps.pair.from.more=word",
])  # fmt: skip
def test_a_key_that_nobody_wrote_is_as_composed(text: str, roots: tuple[RecipeRoot, ...]) -> None:
    made, composed = put(compose_recipe(WORDS, roots, "files"), roots, text), compose_recipe([*WORDS, text], roots)
    assert made == composed
    assert made is not None
    assert json.dumps(made.data) == json.dumps(composed.data)


@pytest.mark.parametrize("text", [
    "paths.plain=1", "paths.near=1", "paths.joined=x", "paths.chosen=x", "paths.holder.inner=1",  # others refer to them
    "paths.refers=1", "paths.copy.inner=1",  # they refer to others
    "paths.holder=1", "paths=1", "paths.plain.below=1", "steps.state.endings=x",  # mappings, lists, and what is in none
    "sede=1", "budget.usd=1", "steps.new.kind=x", "paths.holder.inner.below=1",
    "+seed=1", "++seed=1", "~seed", "seed=[1]", "seed=1,2", "seed='1'", "seed=${paths.plain}", "seed=1e3",
    "seed=NaN", "seed=True", "seed=a b", "seed=", "seed=01", "seed=1_0", "seed=01.5", "seed=-00.5",
    pytest.param(f"seed={'9' * 5000}", id="seed of many digits"), "retriever=wide", "variant=none",
    "hydra.verbose=true", "model@steps.state.model=remote",
])  # fmt: skip
def test_anything_else_is_composed(text: str, roots: tuple[RecipeRoot, ...]) -> None:
    assert put(compose_recipe(WORDS, roots, "files"), roots, text) is None


@pytest.mark.parametrize("texts", [
    ["seed=1", "seed=2"], ["seed=1", "~seed"], ["steps.state={tone: mild}", "steps.state.min_chars=9"],
    ["retriever.top_k=5", "retriever={top_k: 7}"], ["run.added=1", "run.other=[1]"],  # the last one wins, or comes last
])  # fmt: skip
def test_values_of_one_key_are_composed(texts: list[str], roots: tuple[RecipeRoot, ...]) -> None:
    assert split_plain_values([*WORDS, *texts], RecipeIndex(roots)) == ((*WORDS, *texts), [])


def test_a_command_with_another_value_composes_nothing(
    roots: tuple[RecipeRoot, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BENCHBUILDER_CACHE", str(tmp_path / "cache"))
    composition_cache._composed.cache_clear()  # pyright: ignore[reportPrivateUsage]
    composed_recipe(WORDS, roots).keep()
    expected = compose_recipe([*WORDS, "seed=9"], roots)
    monkeypatch.setattr(composition_cache, "_compose", None)
    assert composed_recipe([*WORDS, "seed=9"], roots).recipe == expected
