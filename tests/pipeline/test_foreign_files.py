"""A build writes over no file that it did not write, and no output takes the name of a file of the program."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engine_kinds
import pytest
from engine_bench import Bench, Quiet

from benchbuilder.config import trusting
from benchbuilder.config.links import check_links
from benchbuilder.core import StoreError, file_checksum, seal_json
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.foreign_files import check_owner
from benchbuilder.pipeline.outputs import is_as_written
from benchbuilder.pipeline.store.folder import Store


@pytest.fixture
def small(tmp_path: Path) -> Bench:
    return Bench(
        tmp_path, {"left": ["a cat", "a dog"]}, {"upper": {"kind": "t_upper", "from": "sources.left"}}, "upper"
    )


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", ["items.txt", "recipe.yaml", "ledger.tsv", "run.jsonl"])
def test_a_file_of_mine_stops_a_first_build_before_any_step(small: Bench, name: str) -> None:
    out = small.folder / "out"
    out.mkdir()
    (out / name).write_text("mine")
    for _ in range(2):  # a refused build does not make the folder its own
        with pytest.raises(StoreError, match=name.replace(".", r"\.")):
            small.build()
    assert files(out) == {name: b"mine"}
    assert not (out / "store/steps").exists()


def test_a_link_in_the_place_of_an_output_is_mine_too(small: Bench) -> None:
    (small.folder / "out").mkdir()
    (small.folder / "out/items.txt").symlink_to("/nowhere")
    with pytest.raises(StoreError, match="which no build wrote"):
        small.build()


def test_other_files_of_mine_stay_beside_a_build(small: Bench) -> None:
    (small.folder / "out").mkdir()
    (small.folder / "out/notes.md").write_text("mine")
    small.build()
    small.exporter = "notes.md"
    with pytest.raises(StoreError, match=r"notes\.md, which no build wrote"):
        small.build()
    small.exporter = "more.txt"
    report = small.build()
    assert [file.name for file in report.removed_files] == ["items.txt"], "a build removes its own outputs"
    assert (small.folder / "out/notes.md").read_text() == "mine"


def test_a_folder_that_is_a_file(small: Bench) -> None:
    (small.folder / "file").write_text("mine")
    plan, store = small.plan(), type(small.store)(small.folder / "file")
    with pytest.raises(StoreError, match="is a file, not a folder"):
        build_benchmark(plan, store, "name: bench\n", Quiet())


@pytest.mark.parametrize("lost", ["store/outputs.json", "store"])
def test_a_build_that_lost_its_list_stays_usable_with_a_note(small: Bench, lost: str) -> None:
    small.build()
    out, before = small.folder / "out", files(small.folder / "out")
    shutil.rmtree(out / lost) if (out / lost).is_dir() else (out / lost).unlink()
    assert not small.build().removed_files
    notes = [note for _, note in small.watcher.said if "no list of what builds wrote" in note]
    assert len(notes) == 1
    assert "items.txt" in notes[0]
    after = files(out)
    assert {**after, "run.jsonl": b""} == {**before, "run.jsonl": b""}
    assert after["run.jsonl"].startswith(before["run.jsonl"]), "the run log goes on"
    small.build()
    assert not [note for _, note in small.watcher.said if "no list" in note]


@pytest.mark.parametrize("name", ["replies.sqlite", "Ledger.TSV", "store/outputs.json", "../above", "annotation/x"])
def test_an_exporter_cannot_write_files_of_the_program(
    small: Bench, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.build()
    journal = small.folder / "out/replies.sqlite"
    journal.write_text("paid replies")
    before = files(small.folder / "out")

    def write(self: Any, finished: Any, folder: Path) -> list[Path]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("over it")
        return [folder / name]

    monkeypatch.setattr(engine_kinds.Texts, "write", write)
    small.sources["left"].append("a bird")
    with pytest.raises(StoreError, match="an output cannot be written as"):
        small.build()
    assert {**files(small.folder / "out"), "run.jsonl": b""} == {**before, "run.jsonl": b""}


def test_the_journal_is_never_removed_as_outdated(small: Bench) -> None:
    out = small.folder / "out"
    (out / "store").mkdir(parents=True)
    (out / "replies.sqlite").write_text("paid replies")
    (small.folder / "above.txt").write_text("mine")
    # as an earlier version allowed, or a stranger put it there
    marks = {"replies.sqlite": "", "old.txt": "", "../above.txt": ""}
    (out / "old.txt").write_text("outdated")
    (out / "store/outputs.json").write_bytes(seal_json({"state": "", "files": marks}))
    assert [file.name for file in small.build().removed_files] == ["old.txt"]
    assert (out / "replies.sqlite").read_text() == "paid replies"
    assert (small.folder / "above.txt").read_text() == "mine"


def test_the_folder_of_another_recipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x/store").mkdir(parents=True)
    recipe = tmp_path / "x/recipe.yaml"
    recipe.write_text("schema: 1\nname: x\n")
    mark = {"state": "", "files": {"recipe.yaml": file_checksum(recipe)}}
    (tmp_path / "x/store/outputs.json").write_bytes(seal_json(mark))
    check_owner(tmp_path / "x", "x", builds=True)
    check_owner(tmp_path / "x/evaluation", "x", builds=False)
    for folder, name, builds in (("x", "y", True), ("x/store/a", "y", False), ("x/evaluation", "x", True)):
        with pytest.raises(StoreError) as caught:
            check_owner(tmp_path / folder, name, builds=builds)
        assert "run.dir=FOLDER" in caught.value.next
    recipe.write_text("schema: 1\nname: damaged\n")  # names nobody
    check_owner(tmp_path / "x", "y", builds=True)


def test_a_changed_output_is_known_by_its_checksum(small: Bench) -> None:
    small.build()
    file = small.folder / "out/items.txt"
    assert is_as_written(file)
    file.write_text(file.read_text() + " ")
    assert is_as_written(file) is False
    assert is_as_written(Path(shutil.copy(file, small.folder / "copy.txt"))) is None


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """A working folder that somebody else made, and a folder of mine outside it."""
    folder, mine = tmp_path / "theirs", tmp_path / "mine"
    folder.mkdir()
    mine.mkdir()
    (mine / "notes.txt").write_text("mine", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield folder, mine
    assert files(mine) == {"notes.txt": b"mine"}
    assert [path.name for path in mine.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("link", [
    "builds", "builds/own", "builds/own/store", "builds/own/store/checksums.json", "builds/own/store/steps",
    "builds/own/run.jsonl", "builds/own/workbench",
])  # fmt: skip
def test_a_link_out_of_the_working_folder_is_refused(stranger: tuple[Path, Path], link: str) -> None:
    folder, mine = stranger
    place = folder / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(mine / "notes.txt" if place.suffix else mine)
    with pytest.raises(StoreError, match="is a link that leads out of this folder") as caught:
        check_links(Path("builds/own"))
    with pytest.raises(StoreError, match="is a link"), Store(Path("builds/own")).lock():
        pass
    assert ("benchbuild trust" in str(caught.value.next)) == (not place.suffix)  # which takes folders only


def test_a_link_that_stays_or_is_trusted_or_that_the_user_named_is_followed(
    stranger: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, _ = stranger
    large, other = tmp_path / "large", tmp_path / "other"
    for place in (large, other, folder / "inner"):
        place.mkdir()
    (folder / "builds").symlink_to(folder / "inner")
    with Store(Path("builds/own")).lock():
        pass
    (folder / "more").symlink_to(large)
    with Store(large / "own").lock():  # as run.dir names it
        pass
    with trusting([str(large)]), Store(Path("more/own")).lock():
        pass
    (large / "own" / "out").symlink_to(other)
    with pytest.raises(StoreError, match="out is a link"), Store(large / "own").lock():
        pass


def test_what_a_killed_process_left_a_day_ago_is_removed(tmp_path: Path) -> None:
    store = Store(tmp_path / "own")
    with store.lock():
        pass
    old, fresh = (tmp_path / "own" / "store" / f"a.{sign * 16}.tmp" for sign in "ab")
    for path in (old, fresh):
        path.touch()
    os.utime(old, (0, 0))
    with store.lock():
        pass
    assert (old.exists(), fresh.exists()) == (False, True)
