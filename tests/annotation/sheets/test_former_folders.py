"""Builds whose folders have the names of earlier versions: ``packets`` and ``votes``."""

import pytest
from judged_world import World


def yes(person, row, evidence, question):
    return 1


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_filled_sheets_of_a_former_folder_are_still_read(world):
    world.waiting()
    world.votes(yes, where="votes")
    stage = world.stage()
    assert sorted(stage.external_inputs()) == [f"annotation/votes/{name}.csv" for name in ("a", "b", "meta")]
    assert len(world.run(stage)[0]) == 5


def test_votes_of_both_folders_count(world):
    world.waiting()
    world.votes(yes, where="votes", only=("a",))
    world.votes(yes, where="filled", only=("b",))
    assert len(world.run()[0]) == 5


def test_former_sheets_to_fill_are_replaced_unless_somebody_filled_them(world):
    world.waiting()
    annotation = world.folder / "annotation"
    (annotation / "to_fill").rename(annotation / "packets")
    changed = next((annotation / "packets").glob("a-*.csv"))
    changed.write_bytes(changed.read_bytes() + b"\r\n")
    waiting = world.waiting()
    assert [file.name for file in (annotation / "packets").iterdir()] == [changed.name]
    assert f"{changed.name} in annotation/packets changed since written" in waiting.why
    assert len(list((annotation / "to_fill").glob("*.csv"))) == 2
