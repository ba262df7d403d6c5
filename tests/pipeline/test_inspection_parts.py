"""Looking into steps of several files: what is told is the same, and no more is read than it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from engine_bench import Bench

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline import inspector as trace
from benchbuilder.pipeline import step_tables
from benchbuilder.pipeline.inspector import Inspector
from benchbuilder.pipeline.shards import worker
from benchbuilder.pipeline.shards.worker import StoredTable
from benchbuilder.pipeline.step_tables import StepTables

STEPS = {
    "faces": {"kind": "t_faces", "from": "sources.lines"},
    "join": {"kind": "t_join", "from": {"each": "sources.lines", "children": "faces"}},
}


def looking(folder: Path, rows: int) -> Inspector:
    bench = Bench(folder, {"lines": ["one", "two words", "three", "four", "five"]}, STEPS, "faces")
    bench.run = {"shard_rows": rows}
    bench.build()
    return Inspector.of_plan(bench.plan(), bench.store)


@pytest.mark.push
def test_every_row_is_found_in_whatever_file_it_stands(tmp_path: Path) -> None:
    many, one = looking(tmp_path / "many", 2), looking(tmp_path / "one", 100)
    for name, manifest in one.manifests.items():
        assert many.manifests[name].digest == manifest.digest
        for row in one.store.rows(manifest).ids():
            assert [str(branch) for branch in many.branches_of(row)] == [str(branch) for branch in one.branches_of(row)]
            assert many.trace(row) == one.trace(row)
        assert many.first_rows(name, 3)[1] == one.first_rows(name, 3)[1] == list(one.store.rows(manifest))[:3]
    for line in range(1, 6):
        assert many.branches_of(f"lines.txt:{line}") == one.branches_of(f"lines.txt:{line}")


def test_peeking_reads_no_file_beyond_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inspector, read = looking(tmp_path, 2), list[tuple[str, int]]()
    plain = trace.read_slice

    def counted(path: Path, schema: Any, start: int, count: int) -> Any:
        read.append((path.name, count))
        return plain(path, schema, start, count)

    monkeypatch.setattr(trace, "read_slice", counted)
    assert len(inspector.first_rows("lines", 3)[1]) == 3
    assert read == [("part-00000.parquet", 3), ("part-00001.parquet", 1)]


def test_whether_a_table_is_there_is_known_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inspector = looking(tmp_path, 2)
    tables = StepTables(inspector.store, inspector.manifests)

    def refuse(*_: object) -> None:
        pytest.fail("it was read")

    monkeypatch.setattr(StepTables, "__getitem__", refuse)
    assert "lines" in tables
    assert "nothing" not in tables


def test_tables_beyond_what_is_held_in_memory_stay_in_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspector = looking(tmp_path, 2)
    held = StepTables(inspector.store, inspector.manifests)
    assert not any(isinstance(table, StoredTable) for table in held.values())
    monkeypatch.setattr(step_tables, "_HELD_BYTES", 1)
    few = StepTables(inspector.store, inspector.manifests)
    assert all(isinstance(table, StoredTable) for table in few.values())
    assert {name: list(table) for name, table in few.items()} == {name: list(table) for name, table in held.items()}


def test_rows_are_found_by_id_in_memory_and_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        Passage.build(
            base="b", document=str(n), title="", text="x", produced_by=ProducedBy(rule="r"), language="en",
            partition="p", origin=Origin(file="f", line=n),
        ) for n in range(6)
    ]  # fmt: skip
    parts = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for part, some in zip(parts, (rows[:4], rows[4:]), strict=True):
        pq.write_table(Table.of(some, Passage).arrow, part)
    wanted = [rows[1], rows[5]]
    for table in (Table.of(rows, Passage), StoredTable(Passage, parts, tmp_path / "cache")):
        assert list(table.find({row.id for row in wanted} | {"passage-none"})) == wanted
        assert list(table.find(set())) == []
        assert list(table) == rows
        assert [piece.num_rows for piece in table.batches(["id"])] in ([6], [4, 2])
    assert not (tmp_path / "cache").exists(), "nothing was copied"
    monkeypatch.setattr(worker, "read_columns", _not_read)
    assert list(StoredTable(Passage, parts, tmp_path / "cache").find({"a-row-before", "statement-0"})) == []


def _not_read(*_: object) -> None:
    pytest.fail("ids were read that no wanted row can have")
