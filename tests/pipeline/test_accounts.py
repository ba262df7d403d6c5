"""The law: whatever a kind does wrong, nothing of the shard is committed."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_bench import Bench

from benchbuilder.core.errors import AccountingError

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
