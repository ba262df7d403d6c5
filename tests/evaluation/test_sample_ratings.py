"""Whether people's ratings are those that came with a recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.config import load_recipe
from benchbuilder.evaluation import has_sample_ratings

OWN = "id,model,aspect,rater,value\nitem-1,ours,correctness,ana,1\n"


@pytest.mark.push
def test_ratings_of_ones_own_are_no_sample(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(OWN, encoding="utf-8")
    for own, expected in ((), True), ((f"paths.ratings={tmp_path / 'ratings.csv'}",), False):
        loaded = load_recipe(["recipe=care_mi", *own])
        assert loaded.recipe.evaluation is not None
        assert has_sample_ratings(loaded.recipe, loaded.recipe.evaluation, loaded.roots) is expected
