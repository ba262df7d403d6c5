"""When the facts behind released items were checked, and which were checked again since the version before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.config import LoadedRecipe
from benchbuilder.core import escape_cell
from benchbuilder.pipeline import BuiltBenchmark, Checksums, ItemDays, days_of_build, make_plan, read_checks

CHECKED_FILE = "items_checked.tsv"
_COLUMNS = ("item", "checked_on", "recheck_by", "checked_again", "canary")


@dataclass(frozen=True)
class ItemChecks:
    """How many items name a day of their last check, were checked after the release before, and are due again."""

    dated: int
    again: int
    due: int


def days_of_items(loaded: LoadedRecipe, cwd: Path) -> list[ItemDays]:
    """The days of all items of the last build of a recipe.

    Raises:
        DataError: There is no finished build, or a file cannot be read.
    """
    recipe = loaded.whole
    built = BuiltBenchmark(recipe.build_folder(cwd))
    checksums = Checksums(built.store.checksums)
    plan = make_plan(recipe, built.store, checksums.sha256_of)
    checksums.save()
    log = recipe.release.checks
    return list(days_of_build(recipe, plan, built, read_checks(None if log is None else log.file)))


def says_days(loaded: LoadedRecipe) -> bool:
    """Whether a recipe says when facts were checked."""
    recipe = loaded.whole
    return recipe.release.checks is not None or any(spec.updating is not None for spec in recipe.sources.values())


def write_item_checks(
    folder: Path, days: Sequence[ItemDays], public: Collection[str], since: str, on: str, canary: str
) -> ItemChecks | None:
    """Write the days of the public items of a release made on the day `on`; none of items without a day.

    `since` is the day of the release before (empty: there is none). What was checked after it was checked again. The
    counts include private items.
    """
    dated = [one for one in days if one.days.checked_on or one.days.recheck_by]
    if not dated:
        return None
    again = {one.item for one in dated if since and one.days.checked_on > since}
    rows = [
        (one.item, one.days.checked_on, one.days.recheck_by, "yes" if one.item in again else "no", canary)
        for one in dated
        if one.item in public
    ]
    lines = ["\t".join(map(escape_cell, row)) for row in [_COLUMNS, *sorted(rows)]]
    (folder / CHECKED_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return ItemChecks(len(dated), len(again), sum(one.is_due(on) for one in dated))
