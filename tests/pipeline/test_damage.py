"""Flipped bits, cut and missing files in a build's folder: found before they are believed, and repaired."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine_kinds
import pytest
from engine_bench import Bench

from benchbuilder.core.errors import DamagedError, DataError, StoreError
from benchbuilder.core.sealed_json import file_checksum, seal_json, unseal_json
from benchbuilder.pipeline.shards import worker
from benchbuilder.pipeline.shards.files import read_part
from benchbuilder.pipeline.shards.worker import StoredTable, TableFiles
from benchbuilder.pipeline.store.verify import check_store


def flip(path: Path, bit: int) -> None:
    """Flip one bit of a file."""
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def _place(bench: Bench, step: str) -> Path:
    return bench.store.step_folder(step, bench.plan().nodes[step].key)


def _notes(bench: Bench) -> list[str]:
    return [text for step, text in bench.watcher.said if not step]


DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: path.unlink(),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-9]),
    "empty": lambda path: path.write_bytes(b""),
    "flipped": lambda path: flip(path, 8 * (path.stat().st_size // 2) + 3),
    "other": lambda path: path.write_bytes(b"PAR1 something else PAR1"),
}


@pytest.mark.push
@pytest.mark.parametrize("damage", sorted(DAMAGE))
@pytest.mark.parametrize("name", ["part-00000.parquet", "outcomes-00000.parquet", "shard-00000.json", "manifest.json"])
def test_a_damaged_step_is_made_again(bench: Bench, name: str, damage: str) -> None:
    bench.build()
    before, digests = bench.outputs(), bench.digests()
    DAMAGE[damage](_place(bench, "upper") / name)
    assert bench.why()["upper"].startswith("run: damaged in the store: ")
    with pytest.raises(DamagedError, match="step 'upper' is damaged in the store") as caught:
        bench.texts("upper")
    assert caught.value.where == str(_place(bench, "upper"))
    bench.steps["unique"]["suffix"] = "changed"
    assert bench.build().built_steps[:2] == ["upper", "unique"]
    assert "step 'upper' is damaged in the store" in _notes(bench)[0]
    assert "it is made again" in _notes(bench)[0]
    del bench.steps["unique"]["suffix"]
    assert bench.build().built_steps == []
    assert _notes(bench) == []
    assert (bench.outputs(), bench.digests()) == (before, digests)


def test_a_manifest_of_another_version_is_built_again(bench: Bench) -> None:
    bench.build()
    manifest = _place(bench, "upper") / "manifest.json"
    manifest.write_bytes(seal_json({**unseal_json(manifest.read_bytes()), "of_tomorrow": 1}))
    assert bench.why()["upper"] == "run: built by another version of benchbuilder"
    assert bench.build().built_steps == ["upper"]
    assert bench.build().built_steps == []


@pytest.mark.full
def test_any_flipped_bit_is_repaired(bench: Bench) -> None:
    """Some bits of all files of a store; each is followed by a build that reads most steps, and one that reads none."""
    bench.build()
    before, chance = bench.outputs(), random.Random(5)
    files = [
        path for path in sorted((bench.folder / "out" / "store").rglob("*")) if path.is_file() and path.stat().st_size
    ]
    files += [bench.folder / "out" / name for name in before]
    for number in range(24):
        path = chance.choice([path for path in files if path.exists()])
        flip(path, chance.randrange(8 * path.stat().st_size))
        if number % 2:
            bench.build(refresh=("short", "unique"))
        bench.build()
        assert bench.outputs() == before, path


def test_a_flipped_bit_of_a_page_is_an_error_even_without_the_store(bench: Bench) -> None:
    """The file was compared, and is damaged before a step reads it."""
    bench.build()
    part = _place(bench, "upper") / "part-00000.parquet"
    rows, data, found = bench.store.rows(bench.inspector().manifests["upper"]).arrow, part.read_bytes(), 0
    for match in re.finditer(b"ZEBRA", data):  # in the page, and in the statistics of page and footer
        flip(part, 8 * match.start())
        try:
            assert read_part(part, rows.schema).equals(rows)
        except DamagedError:
            found += 1
        part.write_bytes(data)
    assert found == 1


@pytest.mark.push
def test_a_damaged_shard_of_a_stopped_build_is_made_again(bench: Bench) -> None:
    bench.run = {"shard_rows": 3}
    bench.build()
    before, place = bench.outputs(), _place(bench, "upper")
    whole = file_checksum(place / "part-00001.parquet")
    draft = place.rename(place.with_name(place.name + ".draft"))
    times = {path.name: path.stat().st_mtime_ns for path in draft.glob("part-*")}
    assert len(times) >= 3
    flip(draft / "part-00001.parquet", 700)
    flip(draft / "shard-00002.json", 70)
    assert bench.build().built_steps == ["upper"]
    assert bench.outputs() == before
    assert file_checksum(place / "part-00001.parquet") == whole
    again = {path.name for path in place.glob("part-*") if path.stat().st_mtime_ns != times[path.name]}
    assert again == {"part-00001.parquet", "part-00002.parquet"}


def test_an_altered_output_is_written_again(bench: Bench) -> None:
    report = bench.build()
    before = bench.outputs()
    for file in report.written_files:
        flip(file, 77)
        notes = bench.build().notes
        assert [file.name in note and "is not as it was written" in note for note in notes] == [True]
    assert bench.outputs() == before
    assert bench.build().notes == []


def test_outputs_of_a_damaged_store_are_written_again(bench: Bench) -> None:
    """The outputs are just what a build wrote, but of a part that was damaged."""
    report = bench.build()
    before, mark = bench.outputs(), bench.folder / "out" / "store" / "outputs.json"
    for file in report.written_files:
        flip(file, 77)
    state = unseal_json(mark.read_bytes())
    mark.write_bytes(
        seal_json({**state, "files": {name: file_checksum(bench.folder / "out" / name) for name in before}})
    )
    assert bench.build().notes == []
    flip(_place(bench, "upper") / "part-00000.parquet", 900)
    bench.build()
    assert bench.outputs() == before


@pytest.mark.push
def test_a_build_that_fails_leaves_the_outputs_as_they_were(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.build()
    before = bench.outputs()
    bench.steps["unique"]["suffix"] = "changed"

    def failing(*_: object) -> None:
        raise DataError("an exporter cannot go on")

    monkeypatch.setattr(engine_kinds.Texts, "write", failing)
    with pytest.raises(DataError, match="cannot go on"):
        bench.build()
    assert bench.outputs() == before
    assert not list((bench.folder / "out" / "store").glob("scratch-*"))


@pytest.mark.push
def test_a_whole_folder_is_compared(bench: Bench) -> None:
    bench.build()
    bench.steps["upper"]["suffix"] = "!"
    bench.build()
    folder = bench.folder / "out"
    check = check_store(folder)
    assert (check.steps, check.damaged, check.other_versions) == (17, {}, ())
    victims = [_place(bench, "upper") / "shard-00000.json", folder / "items.txt"]
    bench.steps["upper"]["suffix"] = "."
    victims += [_place(bench, "upper") / "part-00000.parquet"]
    faces, manifest = _place(bench, "faces"), _place(bench, "join") / "manifest.json"
    victims += [folder / "store" / "checksums.json"]
    for path in victims:
        flip(path, 99)
    manifest.write_bytes(b"{}")
    (faces / "manifest.json").unlink()
    check = check_store(folder)
    assert set(check.damaged) == {*victims, faces}
    assert check.other_versions == (manifest.parent,)


@pytest.fixture
def votes(tmp_path: Path) -> Bench:
    """A build whose votes are in."""
    steps = {"counted": {"kind": "t_vote", "from": "sources.lines"}}
    made = Bench(tmp_path, {"lines": ["yes", "no"]}, steps, "counted")
    (tmp_path / "out" / "annotation").mkdir(parents=True)
    (tmp_path / "out" / "annotation" / "votes.txt").write_text("yes", encoding="utf-8")
    assert not made.build().waiting
    return made


def test_a_damaged_count_of_votes_is_made_of_the_same_votes_only(votes: Bench) -> None:
    before = votes.outputs()
    flip(_place(votes, "counted") / "part-00000.parquet", 500)
    assert votes.build().built_steps == ["counted"]
    assert votes.outputs() == before
    file = votes.folder / "out" / "annotation" / "votes.txt"
    file.write_text("no", encoding="utf-8")
    assert votes.build().built_steps == []
    part = _place(votes, "counted") / "part-00000.parquet"
    flip(part, 500)
    damaged = part.read_bytes()
    with pytest.raises(StoreError, match="step 'counted' is damaged") as caught:
        votes.build()
    assert "it cannot be made again as it was" in caught.value.why
    assert "--refresh counted" in caught.value.next
    assert part.read_bytes() == damaged
    assert votes.build(refresh=("counted",)).built_steps == ["counted"]


def test_lost_counts_of_votes_are_named(votes: Bench) -> None:
    flip(_place(votes, "counted") / "manifest.json", 500)
    assert votes.build().built_steps == ["counted"]
    assert "with all votes that there are now" in _notes(votes)[0]


def test_a_damaged_copy_of_a_table_is_made_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_FEW_ROWS", 0)
    bench.build()
    manifest = bench.inspector().manifests["upper"]

    def load() -> Any:
        return TableFiles(manifest.row, bench.store.parts(manifest), bench.store.cache).load()

    texts = load().arrow.column("text").to_pylist()
    copy = next(bench.store.cache.glob("table-*.arrow"))
    flip(copy, 8 * copy.read_bytes().index(b"ZEBRA"))
    again = load()
    assert isinstance(again, StoredTable)
    assert again.arrow.column("text").to_pylist() == texts
    again.release()  # what was read is read again
    assert again.arrow.column("text").to_pylist() == again.column("text") == texts


def test_a_sealed_object_shows_any_flipped_bit() -> None:
    sealed = seal_json({"text": "采血", "list": [1, None]})
    assert unseal_json(sealed) == {"text": "采血", "list": [1, None]}
    assert set(json.loads(sealed)) == {"text", "list", "checksum"}
    for bit in range(8 * len(sealed)):
        data = bytearray(sealed)
        data[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError, match="checksum"):
            unseal_json(bytes(data))
    for size in range(len(sealed)):
        with pytest.raises(ValueError, match="checksum"):
            unseal_json(sealed[:size])
