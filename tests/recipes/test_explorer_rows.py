"""In every bundled recipe, the page of a row says what the commands why and trace say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from once import Once

from benchbuilder.config import bundled_folder, load_recipe
from benchbuilder.core import Row
from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading.build_summaries import items_steps
from benchbuilder.explorer.reading.row_story import read_story, read_unit
from benchbuilder.pipeline import Inspector, Store, plan_build

RECIPES = sorted(path.stem for path in (bundled_folder("recipes") / "recipe").glob("*.yaml"))
ITEMS, LOST = 40, 4
"""So many items of each step that makes some, and so many lost rows of every step, are compared."""


@pytest.mark.full
@pytest.mark.parametrize("recipe", RECIPES)
def test_items_and_lost_rows_of_every_step_have_the_way_of_the_commands(once: Once, recipe: str) -> None:
    folder = once.after((f"recipe={recipe}",)) / "builds" / recipe
    build, store = BuildFolder(recipe, folder), Store(folder)
    inspector = Inspector.of_plan(plan_build(load_recipe([f"recipe={recipe}"]).recipe, store), store)
    items = [row for step in items_steps(build.recipe) for row in spread(store.rows(build.manifest(step)).ids(), ITEMS)]
    rows, units = lost_in(build)
    assert items
    assert rows
    assert different(build, inspector, [*items, *rows]) == []
    for unit in units:
        file, _, line = unit.rpartition(":")
        assert list(read_unit(build, file, int(line))[0]) == inspector.branches_of(unit)


def lost_in(build: BuildFolder) -> tuple[list[str], list[str]]:
    """Some of the rows, and of the units of files, that a step did not take further, for every step of a build."""
    rows, units = dict[str, None](), dict[str, None]()
    for manifest in build.manifests().values():
        lines = build.store.outcomes(manifest).to_pylist()
        lost = [line for line in lines if line["outcome"] in ("dropped", "failed", "not_applicable")]
        rows |= dict.fromkeys(spread([line["row"] for line in lost if line["row"]], LOST))
        units |= dict.fromkeys(spread([f"{line['file']}:{line['line']}" for line in lost if not line["row"]], LOST))
    return list(rows), list(units)


def spread(names: Sequence[str], most: int) -> Sequence[str]:
    """At most so many of the names, from the first to the last."""
    return names[:: max(1, -(-len(names) // most))]


def different(build: BuildFolder, inspector: Inspector, rows: list[str]) -> list[str]:
    """The rows of which the page says something else."""
    return [
        row for row in rows
        if way_on_the_page(build, row) != sorted(inspector.trace(row), key=by_id)
        or list(read_story(build, row).branches) != inspector.branches_of(row)
    ]  # fmt: skip


def way_on_the_page(build: BuildFolder, row: str) -> list[tuple[str, Row]]:
    story = read_story(build, row)
    ways = [(story.step, story.row), *((step.step, step.row) for step in (*story.line, *story.beside))]
    return sorted(ways, key=by_id)


def by_id(way: tuple[str, Row]) -> str:
    return way[1].id


@pytest.mark.full
def test_the_comparison_notices_another_way(once: Once) -> None:
    folder = once.after(("recipe=reading_en",)) / "builds" / "reading_en"
    build = BuildFolder("reading_en", Path(folder))
    manifests = build.manifests()
    inspector = Inspector.of_plan(plan_build(load_recipe(["recipe=reading_en"]).recipe, build.store), build.store)
    without = {name: manifest for name, manifest in manifests.items() if name != items_steps(build.recipe)[0]}
    shorter = Inspector(inspector.flow, without, build.store)
    row = build.store.rows(manifests["evidence"]).ids()[0]
    assert different(build, inspector, [row]) == []
    assert different(build, shorter, [row]) == [row]
