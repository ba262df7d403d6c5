"""The scorecard of a build."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.api.opened_recipe import words_of
from benchbuilder.config import LoadedRecipe, load_recipe, trusting
from benchbuilder.core import write_atomically
from benchbuilder.publishing import SCORECARD_FILE, Scorecard, read_scorecard


@dataclass(frozen=True)
class ScorecardReport:
    """The `scorecard` of a build, and the `file` that holds it."""

    scorecard: Scorecard
    file: Path


def scorecard(
    recipe: str, overrides: Sequence[str] = (), *, recipes: Sequence[str] | None = None, trust: Sequence[str] = ()
) -> ScorecardReport:
    """Fill the scorecard of a build, as ``benchbuild scorecard`` does, and write it.

    Args:
        recipe: The name of the recipe.
        overrides: Overrides as on the command line.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.

    Raises:
        RecipeError: The recipe answers a criterion that does not exist.
        DataError: The build is not finished with these settings.
    """
    with trusting(trust):
        return scorecard_of(load_recipe(words_of(recipe, overrides), recipes=recipes), Path.cwd())


def scorecard_of(loaded: LoadedRecipe, cwd: Path) -> ScorecardReport:
    """Fill the scorecard of the build of a loaded recipe, and write it into the folder of the build."""
    card = read_scorecard(loaded, cwd)
    file = loaded.whole.build_folder(cwd) / SCORECARD_FILE
    text = json.dumps(card.as_json(), ensure_ascii=False, indent=1) + "\n"
    return ScorecardReport(card, write_atomically(file, text))
