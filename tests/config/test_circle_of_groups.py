from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.config import load_recipe
from benchbuilder.core import RecipeError


def test_a_circle_through_groups_names_its_files(tmp_path: Path) -> None:
    for file, entry in (("recipe/garden.yaml", "/flow@z: paths"), ("flow/paths.yaml", "/recipe@y: garden")):
        path = tmp_path / "recipes" / file
        path.parent.mkdir(parents=True)
        path.write_text(f"# @package _global_\ndefaults:\n  - {entry}\n  - _self_\n", encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        load_recipe(["recipe=garden"], cwd=tmp_path, environ={})
    (problem,) = caught.value.problems
    assert problem.actual == "recipe/garden -> flow/paths -> recipe/garden"
    assert "garden.yaml:3" in problem.where
    assert "paths.yaml:3" in problem.where
