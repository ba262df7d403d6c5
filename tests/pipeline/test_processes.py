"""Other processes: workers give the same bytes, and a killed build goes on where it stopped."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from engine_bench import Bench
from patience import patience

import benchbuilder
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.shards.work import plan_shards

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join((str(HERE), str(Path(benchbuilder.__file__).parents[1])))}

STEPS = {
    "short": {"kind": "t_short", "from": "sources.lines", "at_most": 8, "pace": 20},
    "upper": {"kind": "t_upper", "from": "short", "suffix": ".", "pace": 4},
    "faces": {"kind": "t_faces", "from": "upper"},
    "first": {"kind": "t_parent", "from": {"each": "faces", "first": "upper"}},
    "unique": {"kind": "t_unique", "from": "upper"},
    "join": {"kind": "t_join", "from": {"each": "unique", "children": "first"}},
}
LINES = [f"{'drop' if n % 7 == 0 else 'line'} {n}" if n % 3 else str(n) for n in range(90)]


@pytest.fixture
def slow(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "slow", {"lines": LINES}, STEPS, "join", run={"shard_rows": 6})


@pytest.mark.full
def test_workers_give_the_same_bytes(slow: Bench, tmp_path: Path) -> None:
    slow.build()
    both = Bench(tmp_path / "both", slow.sources, slow.steps, "join", run={"shard_rows": 6, "workers": 2})
    both.build()
    assert both.digests() == slow.digests()
    assert both.outputs() == slow.outputs()
    files = {path.relative_to(both.folder): path.read_bytes() for path in both.store.steps.rglob("*.parquet")}
    assert files == {path.relative_to(slow.folder): path.read_bytes() for path in slow.store.steps.rglob("*.parquet")}


@pytest.mark.full
def test_an_error_in_a_worker_keeps_its_words(slow: Bench) -> None:
    slow.folder.mkdir()
    words = slow.folder / "words.txt"
    words.write_text("broken", encoding="utf-8")
    slow.steps = {**STEPS, "upper": {**STEPS["upper"], "words": {"path": "words.txt", "resolved_path": str(words)}}}
    slow.run = {"shard_rows": 30, "workers": 2}
    with pytest.raises(DataError, match="the word list is broken") as caught:
        slow.build()
    assert caught.value.next == "mend it"


def _start(bench: Bench) -> subprocess.Popen[bytes]:
    bench.write()
    process = subprocess.Popen(
        [sys.executable, str(HERE / "engine_bench.py")], stdin=subprocess.PIPE, env=ENVIRONMENT, start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(bench.as_json().encode())
    process.stdin.close()
    return process


@pytest.mark.full
def test_ten_kills_change_no_byte(slow: Bench, tmp_path: Path) -> None:
    slow.build()
    killed = Bench(tmp_path / "killed", slow.sources, slow.steps, "join", run={"shard_rows": 6})
    chance = random.Random(5)
    for _ in range(10):
        enough = len(_files(killed)) + chance.randint(1, 12)
        process = _start(killed)
        while len(_files(killed)) < enough and process.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.02))
        assert process.poll() is None, "the build is too short to be killed ten times"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert _start(killed).wait() == 0
    assert killed.outputs() == slow.outputs()
    assert killed.digests() == slow.digests()
    assert not list(killed.store.steps.rglob("*.tmp"))


def _files(bench: Bench) -> list[Path]:
    # `os.walk` passes over folders that a build renames meanwhile
    found = (Path(folder, name) for folder, _, names in os.walk(bench.store.steps) for name in names)
    return [path for path in found if "-0" in path.name]


@pytest.mark.full
def test_a_build_goes_on_after_the_shards_it_has(slow: Bench) -> None:
    """Committed shards of a killed build are not run again: the half of them that is there stays as it is."""
    slow.build()
    node = slow.plan().nodes["upper"]
    place = slow.store.step_folder("upper", node.key)
    shards = sorted(place.glob("shard-*"))
    (place / "manifest.json").unlink()
    for shard in shards[2:]:
        shard.unlink()
    draft = place.rename(place.with_name(place.name + ".draft"))
    times = {path.name: path.stat().st_mtime_ns for path in draft.glob("part-*")}
    assert slow.build().built_steps == ["upper"]
    after = {path.name: path.stat().st_mtime_ns for path in place.glob("part-*")}
    assert [name for name in sorted(times) if times[name] == after[name]] == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    assert slow.watcher.done["upper"] == slow.inspector().manifests["short"].rows


@pytest.mark.full
def test_shards_of_another_size_are_not_mixed(slow: Bench) -> None:
    slow.build()
    before = slow.outputs()
    place = slow.store.step_folder("upper", slow.plan().nodes["upper"].key)
    (place / "manifest.json").unlink()
    place.rename(place.with_name(place.name + ".draft"))
    slow.run = {"shard_rows": 5}
    assert slow.build().built_steps == ["upper"]
    assert slow.outputs() == before


@pytest.mark.full
def test_a_killed_build_leaves_no_workers_and_no_lock(slow: Bench) -> None:
    slow.run = {"shard_rows": 6, "workers": 2}
    slow.steps = {**STEPS, "upper": {**STEPS["upper"], "pace": 50}}
    process = _start(slow)
    deadline = time.monotonic() + patience()
    while not list(slow.store.steps.glob("upper/*.draft/shard-*")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    workers = _session(process.pid)
    assert len(workers) >= 3
    process.send_signal(signal.SIGKILL)
    process.wait()
    while left := [pid for pid in _session(process.pid) if pid in workers]:
        assert time.monotonic() < deadline, f"workers {left} live on"
        time.sleep(0.1)
    slow.run = {"shard_rows": 6}
    assert "join" in slow.build().built_steps


def _session(leader: int) -> list[int]:
    """The living processes of a session, from /proc."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(folder.name))
    return found


def _row(line: int, text: str) -> Passage:
    envelope: Any = {"origin": Origin(file="f", line=line), "produced_by": ProducedBy(rule="r"), "language": "en"}
    return Passage.build(base="b", document=str(line), text=text, partition="b", **envelope)


def test_shards_are_read_without_the_rest_of_the_file(tmp_path: Path) -> None:
    """A shard is cut from files: of a large one no more is read than the groups of rows that hold it."""
    parts = [tmp_path / "part-00000.parquet", tmp_path / "part-00001.parquet"]
    rows = [_row(n, f"text {n}") for n in range(10)]
    for path, few in zip(parts, (rows[:7], rows[7:]), strict=True):
        pq.write_table(Table.of(few, Passage).arrow, path, row_group_size=2)
    shards = plan_shards("passage", parts, 4)
    assert [shards.rows(index) for index in range(len(shards))] == [4, 4, 2]
    assert [(piece.start, piece.count) for piece in shards.shards[1]] == [(4, 3), (0, 1)]
    assert [name for index in range(3) for name in Table(shards.table(index), Passage).ids()] == [
        row.id for row in rows
    ]
    assert [row.id for row in Table(shards.table(1), Passage)] == [row.id for row in rows[4:8]]


def test_long_rows_make_small_shards(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    rows = [_row(n, str(n) * 5000) for n in range(10, 60)]
    pq.write_table(Table.of(rows, Passage).arrow, path)
    shards = plan_shards("passage", [path], 1000, 50_000)
    assert 5 < len(shards) < 25
    assert shards.total() == 50
