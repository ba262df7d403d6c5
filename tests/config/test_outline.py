"""The keys of a recipe, read without composing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.config import RecipeOutline, bundled_folder, load_recipe
from benchbuilder.core import parse_plain_yaml

RECIPES = bundled_folder("recipes")


@pytest.mark.push
@pytest.mark.parametrize(
    "words", ["recipe=care_mi variant=reference", "recipe=law_zh retriever=bm25 source=[statutes]"]
)
def test_steps_sources_and_groups_are_those_of_the_composed_recipe(words: str) -> None:
    outline = RecipeOutline([RECIPES], words.split())
    composed = parse_plain_yaml(load_recipe(words.split()).yaml)
    for part in ("steps", "sources", "outputs"):
        assert set(composed[part]) == {name for name, node in outline.keys[part].items() if node is not None}
    kinds = {name: step["kind"] for name, step in composed["steps"].items()}
    assert {name: step["kind"] for name, step in outline.keys["steps"].items() if step} == kinds
    assert outline.groups[:3] == ["run", "tokenizer", "model"]


def test_files_that_are_missing_damaged_or_start_from_each_other_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "recipe"
    folder.mkdir()
    (folder / "circle.yaml").write_text("# @package _global_\ndefaults: [circle]\na: {b: 1}\n", encoding="utf-8")
    (folder / "damaged.yaml").write_text("a: [\n", encoding="utf-8")
    (tmp_path / "benchbuild.yaml").write_text("defaults:\n- recipe: ???\n- no: such\nc: 1\n", encoding="utf-8")
    assert RecipeOutline([tmp_path], ["recipe=circle"]).keys == {"a": {"b": 1}, "c": 1}
    assert RecipeOutline([tmp_path], ["recipe=damaged"]).keys == {"c": 1}
    assert RecipeOutline([tmp_path], ["recipe=circle"]).options("recipe") == ["circle", "damaged"]
