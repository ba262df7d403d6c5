"""The index of ids gives the same pages as reading whole steps, and never stands in the way of a page."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchbuilder.core import DataError
from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading import step_indexes
from benchbuilder.explorer.reading.row_story import read_story
from benchbuilder.explorer.reading.step_indexes import (
    IdFile,
    index_file,
    remove_old_indexes,
    wait_for_indexes,
    write_index,
)

MONTH = 31 * 86_400


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, in which each step of a build has an index, made in several passes."""
    monkeypatch.setenv("BENCHBUILDER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(step_indexes, "LARGE_STEP", 0)
    monkeypatch.setattr(step_indexes, "_ROWS_AT_ONCE", 50)
    monkeypatch.setattr(step_indexes, "_maker", step_indexes._IndexMaker())
    return tmp_path / "cache" / "ids"


def some_rows(build: BuildFolder) -> list[str]:
    steps = ("items", "state_choice", "evidence", "cpubmed")
    return [row for step in steps for row in build.store.rows(build.manifest(step)).ids()[::60]]


@pytest.mark.full
def test_pages_by_the_index_are_those_without_it(
    care_mi: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    build = BuildFolder("care_mi", care_mi)
    rows = some_rows(build)
    plain = [read_story(build, row) for row in rows]
    wait_for_indexes()
    made = {file.name for file in cache.iterdir()}
    assert {index_file(build.manifest(step), "id").name for step in ("items", "evidence", "medqa")} <= made
    monkeypatch.setattr(step_indexes, "_columns", None)
    assert [read_story(build, row) for row in rows] == plain
    monkeypatch.setattr(step_indexes, "_maker", step_indexes._IndexMaker())
    assert [read_story(build, row) for row in rows] == plain, "opened by another server"
    with pytest.raises(DataError, match="no row of this build"):
        read_story(build, "fact-00000000000000000000")


@pytest.mark.push
def test_read_only_and_folders_that_cannot_be_written_leave_the_pages_as_they_are(
    care_mi: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    looking = BuildFolder("care_mi", care_mi, keeps_indexes=False)
    row = some_rows(looking)[0]
    story = read_story(looking, row)
    wait_for_indexes()
    assert not cache.exists()
    cache.parent.write_text("a file stands in the way")
    blocked = BuildFolder("care_mi", care_mi)
    assert read_story(blocked, row) == story
    wait_for_indexes()
    assert read_story(blocked, row) == story
    cache.parent.unlink()
    monkeypatch.setattr(step_indexes, "_maker", step_indexes._IndexMaker())
    file = index_file(looking.manifest("items"), "id")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"bbids001 but cut off")
    assert read_story(looking, row) == story


def test_an_index_that_nobody_used_for_a_month_is_removed(cache: Path) -> None:
    cache.mkdir(parents=True)
    for name, age in (("old.ids", MONTH), ("new.ids", 60), ("killed.ids.123.tmp", MONTH)):
        (cache / name).touch()
        os.utime(cache / name, (time.time() - age,) * 2)
    remove_old_indexes(cache)
    assert [file.name for file in cache.iterdir()] == ["new.ids"]


@pytest.mark.parametrize("passes", [1, 7])
def test_an_index_finds_each_id_wherever_it_is(tmp_path: Path, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [(number * 0x9E3779B97F4A7C15F39C) % (1 << 80) for number in range(700)]
    ids = [f"{'fact' if number % 3 else 'statement'}-{number:020x}" for number in numbers]
    ids[5] = ids[600] = ""
    ids[650] = ids[7]
    ids[8] = f"{ids[9][:-1]}{'0' if ids[9][-1] != '0' else '1'}"
    monkeypatch.setattr(step_indexes, "_ROWS_AT_ONCE", 100 if passes > 1 else 1000)
    column: Any = pa.array(["x", *ids], pa.string()).slice(1)
    write_index(tmp_path / "a.ids", len(ids), lambda: (column.slice(0, 300), column.slice(300, 0), column.slice(300)))
    index = IdFile(tmp_path / "a.ids")
    for place, row in enumerate(ids):
        alike = [at for at, other in enumerate(ids) if other and other[-20:-4] == row[-20:-4]]
        assert index.places(row) == (alike if row else []), place
    assert index.places("fact-zz") == index.places("fact-1111111111111111111") == []
    (tmp_path / "cut.ids").write_bytes((tmp_path / "a.ids").read_bytes()[:-1])
    with pytest.raises(ValueError, match="not a whole index"):
        IdFile(tmp_path / "cut.ids")
