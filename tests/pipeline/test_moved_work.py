"""Work that is done where files lie elsewhere, as on another machine: the same bytes."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

from engine_bench import Bench

from benchbuilder.pipeline.node_inputs import port_files, step_job_of
from benchbuilder.pipeline.shards.work import ShardTask, plan_shards
from benchbuilder.pipeline.shards.worker import TableFiles


def test_work_is_done_where_its_files_lie(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    words = here / "words.txt"
    words.write_text("three", encoding="utf-8")
    steps = {
        "upper": {
            "kind": "t_upper",
            "from": "sources.lines",
            "words": {"path": "words.txt", "resolved_path": str(words)},
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


def test_files_of_tables_are_those_of_the_ports(tmp_path: Path) -> None:
    """What is to be moved is told whole: nothing but the parts is read."""
    bench = Bench(tmp_path, {"lines": ["one", "two"]}, {"upper": {"kind": "t_upper", "from": "sources.lines"}}, "upper")
    bench.build()
    (part,) = port_files(bench.plan().nodes["upper"], "each", bench.store, bench.inspector().manifests).parts
    assert TableFiles("passage", (part,)).load().column("text") == ["one", "two"]
