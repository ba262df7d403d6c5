"""The bundled recipes and those of the plugins come out as recorded, or a failure says in words what changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import GROUPS, records
from comparison import differences
from record import read
from renew import RECORDED

pytestmark = pytest.mark.push
_SHOWN = 60
"""How many differences a failure shows; the script shows all."""


@pytest.mark.parametrize("group", GROUPS)
def test_results_are_as_recorded(group: str, tmp_path: Path) -> None:
    said = differences(read((RECORDED / f"{group}.txt").read_text("utf-8")), records(group, tmp_path))
    more = [f"... and {len(said) - _SHOWN} more"] if len(said) > _SHOWN else []
    assert not said, "\n".join([
        "results changed:", *said[:_SHOWN], *more,
        f"If you meant this, record it anew and commit the file: python tests/guard/renew.py {group}",
    ])  # fmt: skip


def test_every_bundled_recipe_and_variant_is_guarded() -> None:
    root = Path(__file__).parents[2]
    recipes = {path.stem for path in (root / "recipes" / "recipe").glob("*.yaml")}
    variants = {(path.parent.name, f"variant={path.stem}") for path in (root / "recipes" / "variant").glob("*/*.yaml")}
    cases = [case for group in GROUPS.values() for case in group]
    assert recipes <= {case.recipe for case in cases if case.evaluated and not case.plugin}
    assert variants <= {(case.recipe, word) for case in cases for word in case.overrides}
    assert {path.stem for path in RECORDED.glob("*.txt")} == set(GROUPS)
