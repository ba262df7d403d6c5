"""The items whose facts must be checked again: what is due, the sheet for experts, and what they said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchbuilder.api.opened_recipe import words_of
from benchbuilder.config import LoadedRecipe, load_recipe, trusting
from benchbuilder.core import write_atomically
from benchbuilder.pipeline import ItemDays
from benchbuilder.publishing import ReadChecks, days_of_items, due_sheet, read_due_sheet


@dataclass(frozen=True)
class DueItems:
    """The items of a build and the days of their facts, as ``benchbuild due`` lists them.

    Attributes:
        loaded: The recipe.
        on: The day that counts as today.
        items: All items, due or not.
    """

    loaded: LoadedRecipe
    on: date
    items: tuple[ItemDays, ...]

    @property
    def due(self) -> tuple[ItemDays, ...]:
        """The items that are due, the earliest day first: their time has come, or a row of a source changed."""
        due = (one for one in self.items if one.is_due(self.on.isoformat()))
        return tuple(sorted(due, key=lambda one: one.days.recheck_by))

    def write_sheet(self, file: str | Path) -> Path:
        """Write a sheet (CSV) with a row for each fact that is due, on which experts say whether it still holds."""
        facts = {one.fact: one for one in reversed(self.due)}
        return write_atomically(Path(file), due_sheet(list(reversed(facts.values()))))

    def read_sheet(self, file: str | Path) -> ReadChecks:
        """Take over what experts said on such a sheet, all of it or nothing, as checked on the day `on`.

        A fact that still holds goes into the log of checks, an item that does not is reported as outdated.

        Raises:
            RecipeError: The recipe names no log of checks, or no log of errata and an item is out of date.
            DataError: Rows of the sheet cannot be used; all are listed.
        """
        return read_due_sheet(self.loaded, Path.cwd(), Path(file), self.on)


def due(
    recipe: str, overrides: Sequence[str] = (), *, on: date | None = None, recipes: Sequence[str] | None = None,
    trust: Sequence[str] = (),
) -> DueItems:  # fmt: skip
    """What of the last build of a recipe is due to be checked again.

    Args:
        recipe: The name of the recipe.
        overrides: Overrides as on the command line.
        on: The day that counts as today (default: today).
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.

    Raises:
        RecipeError: A setting is wrong.
        DataError: There is no finished build, or a file cannot be read.
    """
    with trusting(trust):
        return due_items(load_recipe(words_of(recipe, overrides), recipes=recipes), on or date.today())


def due_items(loaded: LoadedRecipe, on: date) -> DueItems:
    """The same for a recipe that is loaded."""
    return DueItems(loaded, on, tuple(days_of_items(loaded, Path.cwd())))
