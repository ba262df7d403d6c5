"""Row accounting: a faulty kind commits nothing, and the ledger lists each branch that was not kept."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_bench import Bench
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.core.errors import AccountingError
from benchbuilder.pipeline import ledger as dropped_rows
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA
from benchbuilder.pipeline.ledger import _cell
from benchbuilder.pipeline.store.manifest import Manifest, sorted_counts

# --- accounts --------------------------------------------------------------------------------------------------------

LINES = ["one", "two words", "three"]


def rogue(folder: Path, kind: str, how: str) -> Bench:
    wired: object = {"each": "sources.lines", "children": "faces"} if kind == "t_rogue_gather" else "sources.lines"
    steps = {
        "faces": {"kind": "t_faces", "from": "sources.lines"},
        "rogue": {"kind": kind, "from": wired, "how": how},
    }
    return Bench(folder, {"lines": LINES}, steps, "rogue")


CASES = {
    ("t_rogue", "none"): "branches ['a']",
    ("t_rogue", "slot"): "branches ['a', 'c']",
    ("t_rogue", "twice"): "branches ['a', 'a']",
    ("t_rogue", "reason"): "undeclared reason 'mood'",
    ("t_rogue", "branch"): "undeclared reason 'mood'",
    ("t_rogue", "detail"): "the detail 3",
    ("t_rogue", "error"): "the detail 3",
    ("t_rogue", "class"): "became a Statement",
    ("t_rogue", "lineage"): "became passage-x",
    ("t_rogue", "parents"): "as the one that it comes from",
    ("t_rogue", "same"): "passage-same",
    ("t_rogue_many", "none"): "has no branch",
    ("t_rogue_many", "twice"): "two outcomes in one slot",
    ("t_rogue_filter", "short"): "3 rows but 2 results",
    ("t_rogue_filter", "details"): "one result per row",
    ("t_rogue_filter", "reason"): "undeclared reasons ['mood']",
    ("t_rogue_filter", "empty"): "undeclared reasons ['']",
    ("t_rogue_filter", "detail"): "the detail 3",
    ("t_rogue_gather", "lost"): "1 rows of port each",
    ("t_rogue_gather", "strange"): "passage-x",
    ("t_rogue_gather", "twice"): "1 id occurs twice",
    ("t_rogue_gather", "none"): "has no branch",
    ("t_rogue_gather", "vanish"): "1 rows of port children vanish",
    ("t_rogue_gather", "unknown"): "passage-x",
    ("t_rogue_gather", "reason"): "undeclared reasons ['mood']",
    ("t_rogue_gather", "both"): "used or unknown",
    ("t_rogue_gather", "port"): "ports ['each'] have unused rows",
}


@pytest.mark.parametrize(("kind", "how"), CASES)
def test_a_kind_that_breaks_the_law_commits_nothing(tmp_path: Path, kind: str, how: str) -> None:
    bench = rogue(tmp_path, kind, how)
    with pytest.raises(AccountingError) as caught:
        bench.build()
    assert CASES[kind, how] in str(caught.value)
    assert "'rogue'" in str(caught.value)
    assert caught.value.exit_code == 70
    place = bench.plan().nodes["rogue"]
    assert bench.store.manifest("rogue", place.key) is None
    assert bench.store.manifest("faces", bench.plan().nodes["faces"].key) is not None
    committed = list((bench.store.steps / "rogue").rglob("shard-*"))
    assert not committed or how == "same"  # across shards, only the seal can see it
    assert not (tmp_path / "out" / "items.txt").exists()


def test_a_good_row_of_the_same_kind_is_committed(tmp_path: Path) -> None:
    bench = rogue(tmp_path, "t_rogue", "")
    assert bench.build().manifests["rogue"].counts == (("lines", "dropped", "fine", 6),)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("lost", "accounts for 2 units of lines.txt, which has 3"),
        ("twice", "names a unit of lines.txt twice"),
        ("reason", "undeclared reason 'mood'"),
        ("origin", "rows of other units than those that it keeps"),
        ("end", "which has no end"),
    ],
)
def test_a_source_accounts_for_every_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, told: str) -> None:
    monkeypatch.setenv("T_WRONG", how)
    bench = rogue(tmp_path, "t_rogue", "")
    bench.source_kind = "t_wrong_lines"
    with pytest.raises(AccountingError, match=told):
        bench.build()
    assert bench.store.manifest("lines", bench.plan().nodes["lines"].key) is None


def test_tickets_balance_in_every_seal(bench: Bench) -> None:
    report = bench.build()
    for name, node in bench.plan().nodes.items():
        manifest = report.manifests[name]
        branches = sum(n for _, _, _, n in manifest.counts)
        if not node.inputs:
            assert branches == len(bench.sources[name])
            continue
        rows = sum(report.manifests[up].rows for up in node.inputs["each"])
        if node.kind == "t_faces":
            assert branches == 2 * rows
        elif node.kind != "t_words":
            assert branches == rows
        kept = sum(n for _, outcome, _, n in manifest.counts if outcome == "kept")
        assert kept == manifest.rows
    join = report.manifests["join"]
    children = sum(report.manifests[up].rows for up in ("faces", "new"))
    assert join.unused
    used = {parent for parents in bench.store.rows(join).column("parents") for parent in parents}
    whole = {i for up in ("faces", "new") for i in bench.store.rows(report.manifests[up]).ids()}
    assert sum(n for _, _, _, n in join.unused) + len(used & whole) == children


def test_units_are_counted_by_file_and_reason(bench: Bench) -> None:
    report = bench.build()
    assert report.manifests["left"].units == (
        ("left.txt", "dropped", "duplicate", 1),
        ("left.txt", "dropped", "malformed", 1),
        ("left.txt", "kept", "", 6),
    )


def test_a_parent_port_must_be_wired_to_an_ancestor(tmp_path: Path) -> None:
    steps = {"old": {"kind": "t_parent", "from": {"each": "sources.one", "first": "sources.two"}}}
    bench = Bench(tmp_path, {"one": ["a"], "two": ["b"]}, steps, "old")
    with pytest.raises(AccountingError, match="has no ancestor in port 'first'"):
        bench.build()


# --- ledger cells ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\nb", "a\\nb"),
        ("=1\x00", "'=1\\x00"),
        (3, 3),
        ("宫缩", "宫缩"),
    ],
)
def test_control_characters_are_written_as_codes(value, cell):
    assert _cell(value) == cell


MARKS = ["a", '"', "\\", "\n", "=", "-", "'", "＝", "\x00", "\u200b", "\x85", "中", "^", "]"]
CELL = st.text(st.sampled_from(MARKS), max_size=4)


class OneStepStore:
    """A store with the outcomes of one step in files."""

    def __init__(self, folder, outcomes, rows):
        self.folder = folder
        self.parts = []
        for start in range(0, len(outcomes), rows):
            self.parts.append(folder / f"outcomes-{start}.parquet")
            pq.write_table(pa.Table.from_pylist(outcomes[start : start + rows], schema=OUTCOME_SCHEMA), self.parts[-1])

    def outcome_parts(self, manifest):
        return tuple(self.parts)

    def step_folder(self, step, key):
        return self.folder


def outcome(number, name, reason, detail=""):
    return {"port": "each", "row": f"row-{number}", "slot": "", "outcome": name, "reason": reason, "detail": detail,
            "out": "", "partition": "p", "file": "f", "line": number}  # fmt: skip


def manifest_of(outcomes):
    counts = Counter((f["partition"], f["outcome"], f["reason"]) for f in outcomes if f["outcome"] != "unused")
    unused = Counter((f["port"], f["partition"], f["reason"]) for f in outcomes if f["outcome"] == "unused")
    return Manifest(step="s", kind="k", row="r", key="key", key_inputs={}, inputs={}, digest="", outcomes="", rows=0,
                    shards=1, counts=sorted_counts(counts), unused=sorted_counts(unused))  # fmt: skip


def written(folder, outcomes, rows=100):
    path = folder / "ledger.tsv"
    dropped_rows.write_ledger({"step": manifest_of(outcomes)}, OneStepStore(folder, outcomes, rows), path)
    return path.read_bytes().decode()


@pytest.mark.push
@given(st.lists(st.tuples(st.sampled_from(["kept", "dropped", "failed", "unused"]), CELL, CELL), max_size=6))
def test_lines_are_written_as_csv_writes_them(tmp_path_factory, cases):
    outcomes = [outcome(n, name, reason, detail) for n, (name, reason, detail) in enumerate(cases)]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(dropped_rows.LEDGER_COLUMNS)
    for line in outcomes:
        if line["outcome"] != "kept":
            writer.writerow(["step", *(_cell(line[name]) for name in dropped_rows.LEDGER_COLUMNS[1:])])
    assert written(tmp_path_factory.mktemp("ledger"), outcomes) == stream.getvalue()


def test_of_many_tickets_with_one_reason_the_first_are_named_and_the_others_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(dropped_rows, "MAX_LEDGER_LINES", 3)
    outcomes = [outcome(n, "dropped", "off_topic") for n in range(1, 8)] + [
        outcome(8, "dropped", "rare"),
        outcome(9, "failed", ""),
    ]
    lines = list(csv.reader(io.StringIO(written(tmp_path, outcomes, rows=2)), delimiter="\t"))[1:]
    assert [(line[1], line[2], line[7]) for line in lines] == [
        ("dropped", "off_topic", "row-1"), ("dropped", "off_topic", "row-2"), ("dropped", "off_topic", "row-3"),
        ("dropped", "rare", "row-8"), ("failed", "", "row-9"), ("dropped", "off_topic", ""),
    ]  # fmt: skip
    assert lines[-1][3].startswith("and 4 more: `benchbuild why ROW` explains each")


def test_files_are_read_no_further_than_the_lines_go(tmp_path, monkeypatch):
    monkeypatch.setattr(dropped_rows, "MAX_LEDGER_LINES", 2)
    outcomes = [outcome(n, "dropped", "off_topic") for n in range(6)]
    read = []
    plain = dropped_rows.read_columns
    monkeypatch.setattr(dropped_rows, "read_columns", lambda part, names: read.append(part.name) or plain(part, names))
    written(tmp_path, outcomes, rows=2)
    assert read == ["outcomes-0.parquet"]
