"""The items of a build in any order, of which few are held at a time, and the names of those that ask the same."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from finished_build import finished

from benchbuilder.core import Table
from benchbuilder.exporters import shuffled_rows
from benchbuilder.publishing.release.fill import question_names
from benchbuilder.publishing.release.item_order import ChosenRows, chosen_items, items_in_order, items_of_material
from benchbuilder.publishing.release.items import shared_item
from benchbuilder.publishing.release.private_folder import PrivateFolder


@pytest.fixture
def material() -> Any:
    """Two tasks, each with half of the items of a build."""
    build = finished()
    table = build.tables[build.items]
    half = len(table) // 2
    halves = (Table(table.arrow.slice(0, half), table.row), Table(table.arrow.slice(half), table.row))
    tasks = [SimpleNamespace(loaded=SimpleNamespace(task=name), finished=SimpleNamespace(items="i", tables={"i": rows}))
             for name, rows in zip(("a", "b"), halves, strict=True)]  # fmt: skip
    return SimpleNamespace(tasks=tasks)


@pytest.mark.parametrize("few", [100, 1])
def test_items_of_all_tasks_follow_each_other_by_their_places(
    material: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(shuffled_rows, "_WINDOW_ROWS", 3)
    monkeypatch.setattr(shuffled_rows, "_FEW_WINDOWS", few)
    items = list(items_of_material(material))
    draw = random.Random(5)
    places = {item.id: draw.random() for item in draw.sample(items, 2 * len(items) // 3)}
    expected = sorted((item for item in items if item.id in places), key=lambda item: places[item.id])
    assert {item.task for item in expected} == {"a", "b"}
    assert list(items_in_order(material, places, tmp_path)) == expected
    assert not list(tmp_path.iterdir())


def test_chosen_rows_are_those_of_a_table_of_their_own(material: Any) -> None:
    task = material.tasks[0]
    table = task.finished.tables["i"]
    ids = table.ids()
    own, plain = chosen_items(task, set(ids[::2])), Table(table.arrow.take(np.arange(0, len(ids), 2)), table.row)
    assert isinstance(own, ChosenRows)
    assert (len(own), own.ids(), list(own)) == (len(plain), plain.ids(), list(plain))
    assert own.arrow.equals(plain.arrow)
    assert own.find(ids).ids() == own.ids()
    assert chosen_items(task, set(ids)) is table


def test_items_that_ask_the_same_are_named_by_their_place_among_the_ids(tmp_path: Path) -> None:
    private = PrivateFolder(tmp_path, b"a secret of a test, 32 bytes....")

    def names(*rows: tuple[str, str]) -> dict[str, str]:
        return question_names((shared_item({"id": name, "question": asked}, "", "") for name, asked in rows), private)

    found = names(("c", "Why?"), ("a", "Why?"), ("d", "How?"), ("b", "Why?"), ("e", ""), ("f", ""))
    assert len(set(found.values())) == 6
    assert found["a"] == names(("z", "Why?"))["z"]
    assert found == names(("f", ""), ("b", "Why?"), ("e", ""), ("a", "Why?"), ("d", "How?"), ("c", "Why?"))
    assert found["b"] == names(("a", "Why?"), ("b", "Why?"))["b"]
