"""A recipe of the user's own in a folder: the bundled sample with rules that may be written."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchbuilder.config import bundled_folder

RULES = "own_claims"


def write_own_recipe(folder: Path) -> Path:
    """Write the recipe ``own`` and its rules below `folder`; gives the file of rules."""
    bundled = bundled_folder("recipes")
    text = (bundled / "recipe" / "care_mi.yaml").read_text("utf-8")
    text = text.replace("\nname: care_mi\n", "\nname: own\n").replace(
        "zh_claims]\n  - override /source", f"{RULES}]\n  - override /source"
    )
    recipes = folder / "recipes"
    shutil.copytree(bundled / "recipe" / "care_mi", recipes / "recipe" / "care_mi")
    (recipes / "recipe" / "own.yaml").write_text(text, "utf-8")
    rules = recipes / "rules" / f"{RULES}.yaml"
    rules.parent.mkdir()
    rules.write_bytes((bundled / "rules" / "zh_claims.yaml").read_bytes())
    return rules
