"""A trial of the rules of every bundled recipe makes of each row what a build makes of it."""

from __future__ import annotations

import pytest
from once import Once
from trial_rows import unequal_rows

from benchbuilder.config import bundled_folder, load_recipe
from benchbuilder.explorer.workbench.rule_files import steps_with_rules

OTHERS = sorted({path.stem for path in (bundled_folder("recipes") / "recipe").glob("*.yaml")} - {"care_mi"})
"""The bundled recipes besides that of the quick suite."""
CHEAP = "reading_en"
"""The recipe that is tried before a change lands, and not only before a version is cut."""
FEWEST = {"clinic_zu": 7, "guideline_en": 4, "guideline_zh": 4, "law_zh": 12, "medicine_en": 10, "reading_en": 1}
"""How many steps of a recipe have rules, at least; the other recipes have none."""

ONLY_WITH_A_MODEL = {"guideline_en": {"confirm_claims"}}
"""Steps of a recipe that take what a model reads, so that no row of its sample comes to them."""


@pytest.mark.parametrize(
    "recipe", [pytest.param(name, marks=pytest.mark.push if name == CHEAP else pytest.mark.full) for name in OTHERS]
)
def test_a_trial_of_every_step_equals_the_build_row_by_row(once: Once, recipe: str) -> None:
    steps = steps_with_rules(load_recipe([f"recipe={recipe}"]))
    assert len(steps) >= FEWEST[recipe] if recipe in FEWEST else not steps
    if not steps:
        return
    folder = once.after((f"recipe={recipe}",)) / "builds" / recipe
    tried = {step: unequal_rows([f"recipe={recipe}"], folder, step) for step in steps}
    assert {step: rows for step, (_, rows) in tried.items() if rows} == {}
    assert {step for step, (count, _) in tried.items() if not count} == ONLY_WITH_A_MODEL.get(recipe, set())
