"""Random rows through random flows: everything balances, and every unit ends somewhere."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from engine_bench import Bench
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchbuilder.core.errors import RecipeError
from benchbuilder.pipeline.build import BuildReport

ENDS = {"item", "dropped", "not applicable", "failed", "unused", "used", "kept"}

words = st.sampled_from(["a", "bb", "drop", "zebra", "fail", "long long words here", "", "!bad", "c d"])
lines = st.lists(st.lists(words, max_size=3).map(" ".join), max_size=12)
SHAPES = ("t_upper", "t_faces", "t_words", "t_short", "t_unique", "t_flaky", "t_parent", "t_lookup", "t_join")


@st.composite
def flows(draw: st.DrawFn) -> tuple[dict[str, list[str]], dict[str, dict[str, Any]]]:
    """Sources, and steps that read what stands before them."""
    sources = {f"source{n}": draw(lines) for n in range(draw(st.integers(1, 2)))}
    known = [f"sources.{name}" for name in sources]
    above: dict[str, list[str]] = {name: [name] for name in known}
    steps: dict[str, dict[str, Any]] = {}
    for number in range(draw(st.integers(1, 6))):
        name, kind = f"step{number}", draw(st.sampled_from(SHAPES))
        each = draw(st.lists(st.sampled_from(known), min_size=1, max_size=2, unique=True))
        ports: dict[str, Any] = {"each": each}
        if kind == "t_parent":
            ports["first"] = [up for up in known if up.startswith("sources.")]
        elif kind in ("t_lookup", "t_join"):
            ports["known" if kind == "t_lookup" else "children"] = draw(st.sampled_from(known))
        steps[name] = {"kind": kind, "from": ports, "suffix": f"{number}", "at_most": draw(st.integers(0, 8))}
        known.append(name)
        above[name] = each
    return sources, steps


def check_books(bench: Bench, report: BuildReport) -> None:
    """The books of every step, counted again from its files."""
    for name, node in bench.plan().nodes.items():
        if name not in report.manifests:
            continue
        manifest = report.manifests[name]
        rows, outcomes = bench.store.rows(manifest), bench.store.outcomes(manifest).to_pylist()
        ids = rows.ids()
        assert len(ids) == len(set(ids)) == manifest.rows
        assert sorted(outcome["out"] for outcome in outcomes if outcome["outcome"] == "kept") == sorted(ids)
        assert all(
            bool(outcome["reason"]) == (outcome["outcome"] in ("dropped", "not_applicable", "unused"))
            for outcome in outcomes
        )
        branches = [(outcome["row"], outcome["slot"]) for outcome in outcomes if outcome["port"] == "each"]
        assert len(branches) == len(set(branches))
        if not node.inputs:
            places = [(outcome["file"], outcome["line"]) for outcome in outcomes]
            assert len(places) == len(set(places)) == len(bench.sources[name])
            continue
        each = [i for up in node.inputs["each"] for i in bench.store.rows(report.manifests[up]).ids()]
        assert {row for row, _ in branches} == set(each)
        if node.kind == "t_join":
            whole = {i for up in node.inputs["children"] for i in bench.store.rows(report.manifests[up]).ids()}
            unused = {outcome["row"] for outcome in outcomes if outcome["outcome"] == "unused"}
            used = {parent for parents in rows.column("parents") for parent in parents}
            assert whole <= unused | used | set(ids)


@pytest.mark.full
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(flow=flows(), shard_rows=st.integers(1, 5), failing=st.booleans())
def test_every_unit_ends_somewhere(
    flow: tuple[dict[str, list[str]], dict[str, dict[str, Any]]], shard_rows: int, failing: bool
) -> None:
    sources, steps = flow
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), sources, steps, list(steps)[-1], tolerated=1.0, run={"shard_rows": shard_rows})
        if failing:
            bench.store.workplace.mkdir(parents=True)
            (bench.store.workplace / "failing.txt").write_text("fail\na\nA0\n", encoding="utf-8")
        try:
            report = bench.build()
        except RecipeError as error:
            assert "the same row comes in twice" in str(error)  # noqa: PT017
            assume(False)
            return
        check_books(bench, report)
        inspector = bench.inspector()
        for name, units in sources.items():
            for line in range(1, len(units) + 1):
                branches = inspector.branches_of(f"{name}.txt:{line}")
                assert branches
                assert {branch.outcome for branch in branches} <= ENDS
        items = bench.store.rows(report.manifests[bench.items]).ids()
        for item in items:
            made = inspector.trace(item)
            assert made[-1][1].origin.file.removesuffix(".txt") in sources
            assert made[-1][0] in sources
        again = bench.build()
        assert set(again.built_steps) <= _partial(report)
        whole = Bench(Path(folder) / "whole", sources, steps, bench.items, tolerated=1.0)
        if not failing:
            whole.build()
            assert whole.digests() == bench.digests()
            assert whole.outputs() == bench.outputs()


def _partial(report: BuildReport) -> set[str]:
    return {name for name, manifest in report.manifests.items() if manifest.state == "incomplete"}


@pytest.mark.full
@settings(max_examples=25)
@given(
    rows=st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8),
    rounds=st.lists(st.sets(st.sampled_from("abcdefgh")), max_size=3),
    shard_rows=st.integers(1, 4),
)
def test_retries_come_to_what_one_run_gives(rows: list[str], rounds: list[set[str]], shard_rows: int) -> None:
    steps = {
        "ask": {"kind": "t_flaky", "from": "sources.lines"},
        "end": {"kind": "t_unique", "from": "ask"},
    }
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "a", {"lines": rows}, steps, "end", tolerated=1.0, run={"shard_rows": shard_rows})
        for failing in (*rounds, set[str]()):
            bench.store.workplace.mkdir(parents=True, exist_ok=True)
            (bench.store.workplace / "failing.txt").write_text("\n".join(sorted(failing)), encoding="utf-8")
            check_books(bench, bench.build())
        whole = Bench(Path(folder) / "b", {"lines": rows}, steps, "end")
        whole.build()
        assert whole.digests() == bench.digests()
        assert whole.outputs() == bench.outputs()
