"""What a build leaves behind: no copies, no half-made files, no memory; and what it says of files that are damaged."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import engine_kinds
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_bench import Bench, Quiet

from benchbuilder.core.errors import DataError, StoreError
from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA
from benchbuilder.pipeline.build import build_benchmark
from benchbuilder.pipeline.shards import worker
from benchbuilder.pipeline.shards.worker import ParentIndex, StoredTable
from benchbuilder.pipeline.store.folder import StepDraft


def _row(line: int, text: str = "") -> Passage:
    return Passage.build(
        base="b", document=str(line), text=text, partition="b", origin=Origin(file="f", line=line),
        produced_by=ProducedBy(rule="r"), language="en",
    )  # fmt: skip


def _large(count: int, pieces: int) -> pa.Table:
    """A table of which all pieces share one column of long texts."""
    texts = pa.array(["x" * 1_000_000] * count)
    tables: list[pa.Table] = []
    for piece in range(pieces):
        table = Table.of([_row(piece * count + n) for n in range(count)], Passage).arrow
        place = table.schema.get_field_index("text")
        tables.append(table.set_column(place, table.schema.field("text"), texts))
    return pa.concat_tables(tables)


def test_parents_are_found_without_a_copy_of_their_table() -> None:
    """2.5 GB of texts: more than a column in one piece can hold, and far more than a shard may take."""
    table = _large(5, 500)
    parents = ParentIndex(Table(table, Passage))
    assert table.nbytes > 2**31
    before = pa.total_allocated_bytes()
    child = _row(7).model_copy(update={"id": "passage-x", "parents": ("passage-y", _row(1203).id, _row(4).id)})
    found = parents.find([_row(2), child, _row(9999), _row(2)])
    assert [row and row.origin.line for row in found] == [2, 1203, None, 2]
    assert pa.total_allocated_bytes() - before < 50_000_000
    assert parents.find([]) == []


def test_copies_of_tables_do_not_outlive_a_build(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.build()
    whole = bench.outputs()
    monkeypatch.setattr(worker, "_FEW_ROWS", 0)
    copied: list[Path] = []
    monkeypatch.setattr(StoredTable, "_copy", _noting(copied))
    bench.build(refresh=("old", "new"))
    assert copied, "a parent port is copied"
    assert not [path for path in copied if path.exists()]
    assert not list(bench.store.cache.glob("*"))
    assert bench.outputs() == whole


def _noting(copied: list[Path]) -> Any:
    copy: Any = getattr(StoredTable, "_copy")  # noqa: B009 - it is nobody else's

    def noted(self: StoredTable, path: Path) -> None:
        copied.append(path)
        copy(self, path)

    return noted


def test_what_a_build_that_was_stopped_left_is_no_part_of_a_step(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source was read into small shards when the build was killed; now it is read into large ones."""
    monkeypatch.setattr(StepDraft, "commit_step", _killed)
    bench.run = {"shard_rows": 2}
    with pytest.raises(KeyboardInterrupt):
        bench.build()
    monkeypatch.undo()
    drafts = list(bench.store.steps.glob("*/*.draft"))
    assert len(list(drafts[0].glob("part-*"))) > 1
    (drafts[0] / "part-00003.tmp").write_bytes(b"half a file")
    bench.run = {}
    bench.build()
    for seal in bench.store.steps.glob("*/*/manifest.json"):
        assert sorted(path.name for path in seal.parent.iterdir()) == [
            "draft.json", "manifest.json", "outcomes-00000.parquet", "part-00000.parquet", "shard-00000.json",
        ]  # fmt: skip


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_retry_leaves_the_rows_that_it_tried_nowhere(tmp_path: Path) -> None:
    steps = {"tried": {"kind": "t_flaky", "from": "sources.lines"}}
    flaky = Bench(tmp_path, {"lines": ["good", "bad"]}, steps, "tried", tolerated=1.0)
    flaky.folder.mkdir(exist_ok=True)
    (flaky.folder / "out" / "annotation").mkdir(parents=True)
    (flaky.folder / "out" / "annotation" / "failing.txt").write_text("bad", encoding="utf-8")
    flaky.build()
    assert flaky.inspector().manifests["tried"].state == "incomplete"
    flaky.build()
    place = flaky.store.step_folder("tried", flaky.plan().nodes["tried"].key)
    assert not (place / "again.parquet").exists()


@pytest.mark.full
def test_what_a_step_opened_goes_with_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan lives as long as the build, or longer: the stages in it stay closed."""
    opened: list[weakref.ref[Any]] = []
    for kind in (engine_kinds.Upper, engine_kinds.Unknown, engine_kinds.Unique):
        monkeypatch.setattr(kind, "open", _remembering(kind.open, opened))
    bench.write()
    plan = bench.plan()
    (bench.store.workplace).mkdir(parents=True)
    build_benchmark(plan, bench.store, "", Quiet())
    gc.collect()
    assert len(opened) == 3
    assert [one() for one in opened] == [None] * 3
    assert not hasattr(plan.nodes["upper"].producer, "_words")


def _remembering(opens: Any, opened: list[weakref.ref[Any]]) -> Any:
    def remembered(self: Any, lookups: Any) -> None:
        opened.append(weakref.ref(self))
        opens(self, lookups)

    return remembered


@pytest.mark.parametrize("damage", [b"", None], ids=["cut", "gone"])
def test_a_large_table_that_is_damaged_is_named(tmp_path: Path, damage: bytes | None) -> None:
    folder = tmp_path / "step" / "key"
    folder.mkdir(parents=True)
    part = folder / "part-00000.parquet"
    pq.write_table(Table.of([_row(n) for n in range(3)], Passage).arrow, part)
    table = StoredTable(Passage, [part], tmp_path / "cache")
    if damage is None:
        part.unlink()
    else:
        part.write_bytes(damage)
    with pytest.raises(StoreError, match="step 'step' is damaged"):
        list(table.batches(["id"]))
    with pytest.raises(StoreError, match="step 'step' is damaged"):
        table.find(["passage-x"])


def test_a_receipt_that_is_damaged_is_named(tmp_path: Path) -> None:
    draft = StepDraft(tmp_path / "step" / "key", {})
    table = Table(schema_of(Passage).empty_table(), Passage)
    draft.commit_shard(0, worker.Shard(table, OUTCOME_SCHEMA.empty_table()))
    (draft.folder / "shard-00000.json").write_bytes(b"")
    with pytest.raises(StoreError, match="step 'step' is damaged") as caught:
        draft.load_shard(0, Passage)
    assert str(draft.folder) in caught.value.where


def _none(_: object) -> list[Any]:
    return []


def test_a_file_that_goes_while_a_source_is_read_is_missed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder or glob lists one file less than the key of the source was made of."""
    reader, read = engine_kinds.Lines, engine_kinds.Lines.read

    def meddled(self: engine_kinds.Lines) -> Any:
        yield from read(self)
        monkeypatch.setattr(reader, "files", _none)

    monkeypatch.setattr(reader, "read", meddled)
    with pytest.raises(DataError, match=r"left\.txt of 'left' changed while it was read"):
        bench.build()
