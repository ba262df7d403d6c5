"""A recipe of the user's own in a folder: the bundled sample with rules that may be written."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchbuilder.config import bundled_folder

RULES = "own_claims"


def write_own_recipe(folder: Path) -> Path:
    """Write the recipe ``own`` and its rules below `folder`; gives the file of rules."""
    rules = _write_recipe(folder, "care_mi", f"{RULES}]") / "rules" / f"{RULES}.yaml"
    rules.parent.mkdir()
    rules.write_bytes((bundled_folder("recipes") / "rules" / "zh_claims.yaml").read_bytes())
    return rules


def write_recipe_with_bundled_rules(folder: Path, origin: str = "care_mi") -> Path:
    """Write the recipe ``own`` below `folder`, with the bundled rules of `origin`; gives the folder."""
    return _write_recipe(folder, origin, "zh_claims]")


def _write_recipe(folder: Path, origin: str, rules: str) -> Path:
    bundled, recipes = bundled_folder("recipes"), folder / "recipes"
    text = (bundled / "recipe" / f"{origin}.yaml").read_text("utf-8")
    text = text.replace(f"\nname: {origin}\n", "\nname: own\n").replace(
        "zh_claims]\n  - override /source", f"{rules}\n  - override /source"
    )
    shutil.copytree(bundled / "recipe" / origin, recipes / "recipe" / origin)
    (recipes / "recipe" / "own.yaml").write_text(text, "utf-8")
    return recipes
