"""Workers of this machine, and work and tables that travel to other processes and machines."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engine_bench import Bench
from held_work import Held, opened

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.executors.local import LocalExecutor
from benchbuilder.pipeline.node_inputs import port_files, step_job_of
from benchbuilder.pipeline.shards.work import ShardTask, plan_shards
from benchbuilder.pipeline.shards.worker import TableFiles

# --- workers ---------------------------------------------------------------------------------------------------------


@pytest.fixture(name="executor", scope="module")
def _executor() -> Iterator[LocalExecutor]:
    with contextlib.closing(LocalExecutor(KindSpec(kind="local"), 2)) as executor:
        yield executor


def _pool(executor: LocalExecutor) -> Any:
    return getattr(executor, "_pool")  # noqa: B009


def test_workers_release_a_finished_step(executor: LocalExecutor, tmp_path: Path) -> None:
    assert list(executor.map(Held("one", slow=0.3), range(4), tmp_path)) == [0, 1, 2, 3]
    made = {(tmp_path / str(index)).read_text(encoding="utf-8") for index in range(4)}
    assert made == {f"{process} [1]" for process in executor.processes()}
    held = dict(_pool(executor).map(opened, range(2)))
    assert held == {process: [] for process in executor.processes()}


def test_one_shard_runs_in_a_worker_if_there_are_any(executor: LocalExecutor, tmp_path: Path) -> None:
    """What a step loads is gone when the workers end, and the audit has the memory."""
    list(executor.map(Held("many"), range(2), tmp_path))
    assert list(executor.map(Held("one more"), [7], tmp_path)) == [7]
    assert int((tmp_path / "7").read_text(encoding="utf-8").split()[0]) in executor.processes()
    alone = LocalExecutor(KindSpec(kind="local"), 2)
    assert list(alone.map(Held("one"), [8], tmp_path)) == [8]
    assert (tmp_path / "8").read_text(encoding="utf-8").split()[0] == str(os.getpid())
    assert not alone.processes()
    assert list(alone.map(Held("none"), [], tmp_path)) == []


def test_an_error_stops_the_others_soon_and_the_workers_go_on(executor: LocalExecutor, tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="no shard 1"):
        list(executor.map(Held("two", slow=0.05, bad=1), range(200), tmp_path))
    assert len(list(tmp_path.glob("begun-*"))) < 20
    assert len(list(executor.map(Held("three"), range(5), tmp_path))) == 5


@pytest.mark.push
def test_an_interrupt_does_not_wait_for_the_shards_at_work(executor: LocalExecutor, tmp_path: Path) -> None:
    def interrupt() -> None:
        while len(list(tmp_path.glob("begun-*"))) < 2:
            time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    main = threading.get_ident()
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        list(executor.map(Held("slow", slow=60), range(4), tmp_path))
    assert not executor.processes()
    assert list(executor.map(Held("again"), range(3), tmp_path)) == [0, 1, 2]


# --- moved work ------------------------------------------------------------------------------------------------------


@pytest.mark.push
def test_work_is_done_where_its_files_lie(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    word_file = here / "words.txt"
    word_file.write_text("three", encoding="utf-8")
    steps = {
        "upper": {
            "kind": "t_upper",
            "from": "sources.lines",
            "words": {"path": "words.txt", "resolved_path": str(word_file)},
        },
        "first": {"kind": "t_parent", "from": {"each": "upper", "first": "upper"}},
    }
    bench = Bench(here / "bench", {"lines": ["one", "two", "three", "four"]}, steps, "first")
    bench.build()
    plan, store, manifests = bench.plan(), bench.store, bench.inspector().manifests
    for name in steps:
        node = plan.nodes[name]
        files = port_files(node, "each", store, manifests)
        job = step_job_of(node, store, manifests)
        scratch = here / "rehearsal" / "cache"  # a rehearsal keeps the copies of its tables in a place of its own
        job = replace(job, ports={port: replace(one, cache=scratch) for port, one in job.ports.items()})
        work = ShardTask(job, plan_shards(files.row, files.parts, 3))
        needed = {*work.shared, *(path for index in range(len(work.cut)) for path in work.inputs(index))}
        places = {work.cache: tmp_path / f"there-{name}" / "cache"}
        for number, path in enumerate(sorted(needed)):
            places[path] = tmp_path / f"there-{name}" / f"{number}{path.suffix}"
            places[path].parent.mkdir(exist_ok=True)
            shutil.copy(path, places[path])
        moved = pickle.loads(pickle.dumps(work.relocated(places)))
        assert str(here) not in repr([moved.shared, moved.cache, [one.cache for one in moved.job.ports.values()]])
        outcome: list[dict[str, bytes]] = []
        for one, folder in ((work, tmp_path / f"{name}-here"), (moved, tmp_path / f"{name}-there")):
            folder.mkdir()
            if one is moved:
                here.rename(tmp_path / "gone")
            names = [file for index in range(len(one.cut)) for file in one.make_shard(index, folder)]
            outcome.append({file: (folder / file).read_bytes() for file in names})
        (tmp_path / "gone").rename(here)
        assert outcome[0] == outcome[1]
        assert len(outcome[0]) == 3 * len(work.cut)


@pytest.mark.push
def test_files_of_tables_are_those_of_the_ports(tmp_path: Path) -> None:
    """What is to be moved is told whole: nothing but the parts is read."""
    bench = Bench(tmp_path, {"lines": ["one", "two"]}, {"upper": {"kind": "t_upper", "from": "sources.lines"}}, "upper")
    bench.build()
    (part,) = port_files(bench.plan().nodes["upper"], "each", bench.store, bench.inspector().manifests).parts
    assert TableFiles("passage", (part,)).load().column("text") == ["one", "two"]


# --- tables travel ---------------------------------------------------------------------------------------------------

READ = (
    "import pickle, sys; from benchbuilder.core.records.payloads import Fact, Triple;"
    "table = pickle.load(sys.stdin.buffer); assert table.row is Fact[Triple];"
    "print([row.payload.head for row in table])"
)


def one_fact() -> Table[Fact[Triple]]:
    def generic() -> type[Fact[Triple]]:
        return Fact[Triple]

    row = generic().build(
        origin=Origin(file="x", line=1), produced_by=ProducedBy(rule="x"), language="en", partition="x",
        payload=Triple(head="Earth", relation="orbits", tail="Sun"),
    )  # fmt: skip
    return Table.of([row], generic())


@pytest.mark.push
def test_rows_with_a_payload_travel() -> None:
    data = pickle.dumps(one_fact())
    done = subprocess.run([sys.executable, "-c", READ], input=data, capture_output=True, check=False)
    assert done.stdout.decode().strip() == "['Earth']", done.stderr.decode()


@pytest.mark.push
def test_plain_rows_come_back_as_they_are() -> None:
    table = Table(schema_of(Passage).empty_table(), Passage)
    again = pickle.loads(pickle.dumps(table))
    assert again.row is Passage
    assert again.arrow.equals(table.arrow)
