from __future__ import annotations

from benchbuilder.config import load_recipe
from benchbuilder.pipeline import examine_recipe


def test_sources_that_were_taken_out_give_one_problem() -> None:
    found = examine_recipe(load_recipe(["recipe=cmhe", "source=[cmhe_mesh,cmhe_exam,cmhe_chats]"]), sources=[])
    (problem,) = found.problems
    assert problem.message == "steps read sources that the recipe does not have"
    for name in ("cmhe_hd_pairs", "cmhe_hd_chats", "cmhe_hd_written"):
        assert f"sources.{name} in steps." in problem.actual
