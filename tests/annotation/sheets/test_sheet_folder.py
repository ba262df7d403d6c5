from __future__ import annotations

import pytest
from judged_world import World

from benchbuilder.annotation.sheets.folder import sync_sheet_folder


def put(folder, sheets):
    return sync_sheet_folder(folder, {name: lambda content=content: content for name, content in sheets.items()})


def names(folder):
    return sorted(file.name for file in folder.iterdir() if not file.name.startswith("."))


def test_earlier_sheets_go_unless_people_changed_them(tmp_path):
    folder = tmp_path / "to_fill"
    assert put(folder, {"a-1.csv": b"one", "b-1.csv": b"two"}) == []
    (folder / "b-1.csv").write_bytes(b"two, filled in")
    (folder / "mine.xlsx").write_bytes(b"something else")
    assert put(folder, {"a-2.csv": b"three"}) == ["b-1.csv", "mine.xlsx"]
    assert names(folder) == ["a-2.csv", "b-1.csv", "mine.xlsx"]
    assert (folder / "b-1.csv").read_bytes() == b"two, filled in"


def test_a_current_sheet_that_people_filled_in_place_is_not_overwritten(tmp_path):
    folder = tmp_path / "to_fill"
    put(folder, {"a-1.csv": b"one"})
    (folder / "a-1.csv").write_bytes(b"one, filled in")
    assert put(folder, {"a-1.csv": b"one"}) == ["a-1.csv"]
    assert (folder / "a-1.csv").read_bytes() == b"one, filled in"


def test_nothing_to_ask_leaves_no_folder(tmp_path):
    folder = tmp_path / "to_fill"
    assert put(folder, {}) == []
    assert not folder.exists()
    put(folder, {"a-1.csv": b"one"})
    assert put(folder, {}) == []
    assert not folder.exists()


def test_a_call_after_an_interruption_completes_it(tmp_path):
    folder = tmp_path / "to_fill"
    put(folder, {"a-1.csv": b"one", "b-1.csv": b"two"})
    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    (folder / "b-1.csv").unlink()
    assert put(folder, {"a-1.csv": b"one", "b-1.csv": b"two"}) == []
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == whole


def test_existing_files_are_not_made_again(tmp_path):
    def never():
        raise AssertionError("it lies there")

    put(tmp_path, {"a-1.csv": b"one"})
    assert sync_sheet_folder(tmp_path, {"a-1.csv": never}) == []
    assert names(tmp_path) == ["a-1.csv"]


def test_killed_while_writing(tmp_path):
    def killed():
        raise KeyboardInterrupt

    put(tmp_path, {"a-1.csv": b"one"})
    with pytest.raises(KeyboardInterrupt):
        sync_sheet_folder(tmp_path, {"a-2.csv": lambda: b"two", "b-2.csv": killed})
    assert put(tmp_path, {"a-2.csv": b"two", "b-2.csv": b"three"}) == []
    assert names(tmp_path) == ["a-2.csv", "b-2.csv"]


def test_what_an_interrupted_call_left_is_removed(tmp_path):
    put(tmp_path, {"a-1.csv": b"one"})
    (tmp_path / f"a-1.csv.{'0' * 16}.tmp").write_bytes(b"o")
    assert put(tmp_path, {"a-2.csv": b"two"}) == []
    assert names(tmp_path) == ["a-2.csv"]


def yes(person, row, evidence, question):
    return 1


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_filled_sheets_of_a_former_folder_are_still_read(world):
    world.waiting()
    world.votes(yes, where="votes")
    step = world.stage()
    assert sorted(step.external_inputs()) == [f"annotation/votes/{name}.csv" for name in ("a", "b", "meta")]
    assert len(world.run(step)[0]) == 5


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
