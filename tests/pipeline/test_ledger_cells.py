from __future__ import annotations

import csv
import io
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchbuilder.pipeline import ledger as dropped_rows
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA
from benchbuilder.pipeline.ledger import _cell
from benchbuilder.pipeline.store.manifest import Manifest, sorted_counts


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


@settings(deadline=None)
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
