from __future__ import annotations

import pytest
from benchbuilder.config import load_recipe
from benchbuilder.core import RecipeError
from benchbuilder.pipeline import check_recipe


def test_sources_that_were_taken_out_give_one_problem() -> None:
    loaded = load_recipe(["recipe=cmhe", "source=[cmhe_mesh,cmhe_exam,cmhe_chats]"])
    with pytest.raises(RecipeError) as caught:
        check_recipe(loaded, sources=[])
    (problem,) = caught.value.problems
    assert problem.message == "steps read sources that the recipe does not have"
    for name in ("cmhe_hd_pairs", "cmhe_hd_chats", "cmhe_hd_written"):
        assert f"sources.{name} in steps." in problem.actual
