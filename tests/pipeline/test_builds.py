"""Builds from end to end: what comes out, what is reused, what is said of it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import engine_kinds
import pytest
from engine_bench import Bench, Quiet

from benchbuilder.core.errors import DataError, RecipeError, StoreError, TooManyFailures
from benchbuilder.pipeline.build import build_benchmark

NODES = ["left", "right", "short", "upper", "unique", "faces", "words", "old", "new", "join"]


def test_first_build_makes_everything_in_order(bench: Bench) -> None:
    report = bench.build()
    assert report.built_steps == NODES
    assert not report.reused_steps
    assert [name for name, _ in bench.watcher.said] == NODES
    assert bench.texts("upper") == ["THE CAT SAT.", "ZEBRA.", "ONE TWO THREE FOUR.", "SHORT.", "DOG ZOO.",
                                    "THE CAT SAT.", "RIGHT SIDE.", "X."]  # fmt: skip
    assert bench.texts("unique") == ["THE CAT SAT.", "ZEBRA.", "ONE TWO THREE FOUR.", "SHORT.", "DOG ZOO.",
                                     "RIGHT SIDE.", "X."]  # fmt: skip
    assert bench.texts("old")[:3] == ["THE<the cat sat", "CAT<the cat sat", "SAT.<the cat sat"]
    assert bench.texts("join")[0] == "THE CAT SAT.+THE+SAT.+THE<the cat sat+CAT<the cat sat+SAT.<the cat sat"
    assert sorted(path.name for path in report.written_files) == ["items.txt", "ledger.tsv", "recipe.yaml"]


def test_second_build_makes_nothing_and_touches_no_output(bench: Bench) -> None:
    bench.build()
    times = {path: path.stat().st_mtime_ns for path in (bench.folder / "out").rglob("*") if path.is_file()}
    report = bench.build()
    assert not report.built_steps
    assert report.reused_steps == NODES
    changed = {path.name for path, time in times.items() if path.stat().st_mtime_ns != time}
    assert changed <= {"run.jsonl", "checksums.json", "lock"}
    assert all(why == "reused" for why in bench.why().values())


@pytest.mark.push
def test_a_changed_source_reruns_what_depends_on_it(bench: Bench) -> None:
    bench.build()
    bench.sources["right"].append("new line")
    why = bench.why()
    assert why["left"] == "reused"
    assert why["right"] == "run: file right.txt changed"
    assert why["short"] == "run: right changed"
    assert bench.build().built_steps == [name for name in NODES if name != "left"]


def test_a_change_without_consequence_stops_where_nothing_differs(bench: Bench) -> None:
    bench.build()
    bench.sources["right"].append("a line that is too long for the filter")
    report = bench.build()
    # keys are known ahead, so all that depends on the file has a new key; what comes out is the same
    assert "short" in report.built_steps
    assert [n for _, _, reason, n in report.manifests["short"].counts if reason == "too_long"] == [2]


def test_a_changed_step_reruns_what_depends_on_it(bench: Bench) -> None:
    bench.build()
    before = bench.digests()
    bench.steps["words"]["suffix"] = "unused"
    assert bench.why()["words"] == 'run: suffix: "" -> "unused"'
    report = bench.build()
    assert report.built_steps == ["words", "old", "new", "join"]
    assert bench.digests() == before


@pytest.mark.push
def test_going_back_finds_what_was_made_before(bench: Bench) -> None:
    bench.build()
    bench.steps["upper"]["suffix"] = "!"
    assert "join" in bench.build().built_steps
    bench.steps["upper"]["suffix"] = "."
    assert not bench.build().built_steps


@pytest.mark.push
def test_a_word_list_counts_by_content(bench: Bench) -> None:
    words = bench.folder / "words.txt"
    words.write_text("zebra\n", encoding="utf-8")
    bench.steps["upper"]["words"] = {"path": "words.txt", "resolved_path": str(words)}
    bench.build()
    words.write_text("zebra\n", encoding="utf-8")
    assert not bench.build().built_steps
    words.write_text("zebra short\n", encoding="utf-8")
    assert bench.why()["upper"] == "run: file words (words.txt) changed"
    assert bench.build().built_steps == NODES[3:]
    elsewhere = bench.folder / "moved" / "words.txt"
    elsewhere.parent.mkdir()
    words.rename(elsewhere)
    bench.steps["upper"]["words"] = {"path": "words.txt", "resolved_path": str(elsewhere)}
    assert not bench.build().built_steps


def test_a_knob_and_the_run_are_in_no_key(bench: Bench) -> None:
    bench.build()
    bench.steps["upper"]["pace"] = 1
    bench.run = {"workers": 2, "shard_rows": 3}
    assert not bench.build().built_steps


def test_the_seed_is_in_every_step_and_no_source(bench: Bench) -> None:
    bench.build()
    bench.seed = 8
    assert bench.build().built_steps == NODES[2:]


@pytest.mark.full
def test_digests_do_not_depend_on_shards(bench: Bench, tmp_path: Path) -> None:
    bench.build()
    for rows in (1, 2, 3):
        other = Bench(tmp_path / f"by{rows}", bench.sources, bench.steps, bench.items, run={"shard_rows": rows})
        other.build()
        assert other.digests() == bench.digests()
        assert other.outputs() == bench.outputs()


@pytest.mark.push
def test_the_union_keeps_its_order(bench: Bench) -> None:
    bench.build()
    bench.steps["short"]["from"] = ["sources.right", "sources.left"]
    assert bench.why()["short"] == "run: order of port each: left right -> right left"
    bench.build()
    assert bench.texts("short")[0] == "the cat sat"
    assert bench.texts("short")[1] == "right side"


def test_a_row_that_comes_in_twice_is_a_wrong_recipe(bench: Bench) -> None:
    bench.steps["upper"]["from"] = ["short", "sources.left"]
    with pytest.raises(RecipeError) as caught:
        bench.build()
    assert "steps.upper.from.each: the same row comes in twice" in str(caught.value)
    assert "short, left" in str(caught.value)


def test_steps_without_a_source_are_left_out(bench: Bench) -> None:
    bench.steps["claims"] = {"kind": "t_upper", "from": "sources.triple"}
    bench.steps["more"] = {"kind": "t_upper", "from": "claims"}
    bench.steps["words"]["from"] = ["unique", "more"]
    assert bench.build().built_steps == NODES
    bench.items = "more"
    with pytest.raises(RecipeError, match="1 problem") as caught:
        bench.build()
    assert "items: no rows of the chosen sources reach the items" in str(caught.value)


def test_a_port_without_a_source_is_a_wrong_recipe(bench: Bench) -> None:
    bench.steps["new"]["from"] = {"each": "old", "known": "sources.triple"}
    with pytest.raises(RecipeError) as caught:
        bench.build()
    assert "steps.new.from.known: no rows of the chosen sources reach this port" in str(caught.value)


def test_an_error_in_a_stage_keeps_what_was_made(bench: Bench) -> None:
    words = bench.folder / "words.txt"
    words.write_text("broken", encoding="utf-8")
    bench.steps["upper"]["words"] = {"path": "words.txt", "resolved_path": str(words)}
    with pytest.raises(DataError, match="the word list is broken"):
        bench.build()
    words.write_text("fine", encoding="utf-8")
    assert bench.build().reused_steps == ["left", "right", "short"]


def test_outputs_that_are_gone_are_written_again(bench: Bench) -> None:
    bench.build()
    before = bench.outputs()
    (bench.folder / "out" / "items.txt").unlink()
    report = bench.build()
    assert not report.built_steps
    assert bench.outputs() == before


def test_outputs_of_another_recipe_do_not_stay(bench: Bench) -> None:
    bench.build()
    bench.exporter = "renamed.txt"
    bench.build()
    assert sorted(bench.outputs()) == ["ledger.tsv", "recipe.yaml", "renamed.txt"]


def test_the_run_log_holds_times_and_nothing_else_does(bench: Bench) -> None:
    bench.build()
    bench.build()
    runs = [json.loads(line) for line in (bench.folder / "out" / "run.jsonl").read_text().splitlines()]
    assert [len(run["steps"]) for run in runs] == [10, 0]
    assert runs[1]["reused"] == NODES
    for manifest in (bench.folder / "out" / "store").rglob("manifest.json"):
        assert runs[0]["started"][:10] not in manifest.read_text()


# --- failures


@pytest.fixture
def flaky(tmp_path: Path) -> Bench:
    steps = {
        "ask": {"kind": "t_flaky", "from": "sources.lines"},
        "end": {"kind": "t_upper", "from": "ask"},
    }
    return Bench(tmp_path, {"lines": list("abcdefghij")}, steps, "end", run={"shard_rows": 4})


def _fail(bench: Bench, *texts: str) -> None:
    workplace = bench.store.workplace
    workplace.mkdir(parents=True, exist_ok=True)
    (workplace / "failing.txt").write_text("\n".join(texts), encoding="utf-8")
    (workplace / "asked.txt").unlink(missing_ok=True)


def _asked(bench: Bench) -> list[str]:
    asked = bench.store.workplace / "asked.txt"
    return asked.read_text(encoding="utf-8").split() if asked.exists() else []


@pytest.mark.push
def test_failed_rows_are_tried_again_alone(flaky: Bench, tmp_path: Path) -> None:
    _fail(flaky, "c", "h")
    with pytest.raises(TooManyFailures, match="2 of 10 branches of step 'ask' failed") as caught:
        flaky.build()
    assert caught.value.exit_code == 5
    assert flaky.why() == {
        "lines": "reused",
        "ask": "retry: 2 branches failed last time",
        "end": "run: never built here",
    }
    _fail(flaky, "h")
    with pytest.raises(TooManyFailures, match="1 of 10"):
        flaky.build()
    assert _asked(flaky) == ["c"]
    _fail(flaky)
    assert flaky.build().built_steps == ["ask", "end"]
    assert _asked(flaky) == ["h"]
    assert flaky.texts("ask") == [f"{letter}?" for letter in "abcdefghij"]
    never = Bench(tmp_path / "never", flaky.sources, flaky.steps, "end", run={"shard_rows": 4})
    never.build()
    assert never.digests() == flaky.digests()
    assert never.outputs() == flaky.outputs()
    assert not flaky.build().built_steps


def test_tolerated_failures_go_on_and_are_tried_again(flaky: Bench) -> None:
    flaky.tolerated = 0.2
    _fail(flaky, "c", "h")
    report = flaky.build()
    assert report.manifests["ask"].state == "incomplete"
    assert len(flaky.texts("end")) == 8
    assert [row["row"] for row in _ledger(flaky) if row["outcome"] == "failed"]
    again = flaky.build()
    assert again.built_steps == ["ask"]  # tried again; what came out is the same, so the rest stands
    _fail(flaky)
    assert flaky.build().built_steps == ["ask", "end"]
    assert len(flaky.texts("end")) == 10


def test_a_killed_retry_keeps_the_seal(flaky: Bench) -> None:
    flaky.tolerated = 0.5
    _fail(flaky, "c")
    flaky.build()
    before = flaky.digests()["ask"]
    node = flaky.plan().nodes["ask"]
    flaky.store.draft("ask", node.key, {"retry of": before})
    manifest = flaky.store.manifest("ask", node.key)
    assert manifest is not None
    assert manifest.digest == before
    assert len(flaky.store.rows(manifest)) == 9


def test_a_gather_with_failed_rows_runs_whole(tmp_path: Path) -> None:
    steps = {"ask": {"kind": "t_flaky_gather", "from": "sources.lines"}}
    bench = Bench(tmp_path, {"lines": list("abc")}, steps, "ask", tolerated=0.5)
    _fail(bench, "b")
    assert bench.build().manifests["ask"].state == "incomplete"
    _fail(bench)
    assert bench.build().built_steps == ["ask"]
    assert bench.texts("ask") == ["a", "b", "c"]


# --- people


@pytest.fixture
def voting(tmp_path: Path) -> Bench:
    steps = {
        "up": {"kind": "t_upper", "from": "sources.lines"},
        "vote": {"kind": "t_vote", "from": "up"},
        "after": {"kind": "t_upper", "from": "vote"},
        "beside": {"kind": "t_words", "from": "up"},
    }
    return Bench(tmp_path, {"lines": ["a b", "c"]}, steps, "after")


def _vote(bench: Bench, text: str) -> None:
    (bench.store.workplace / "votes.txt").write_text(text, encoding="utf-8")


def test_waiting_builds_what_does_not_depend_on_people(voting: Bench) -> None:
    report = voting.build()
    assert report.waiting["vote"].missing == {"votes": 2}
    assert report.waiting["vote"].exit_code == 75
    assert report.blocked_steps == ["after"]
    assert report.built_steps == ["lines", "up", "beside"]
    assert sorted(voting.outputs()) == ["ledger.tsv", "recipe.yaml"]
    _vote(voting, "yes")
    report = voting.build()
    assert not report.waiting
    assert report.built_steps == ["vote", "after"]
    assert (voting.folder / "out" / "items.txt").exists()


def test_a_vote_that_comes_in_while_votes_are_counted_is_late(voting: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    gather = engine_kinds.Vote.gather

    def overtaken(self: engine_kinds.Vote, tables: Any) -> Any:
        gathered = gather(self, tables)
        (self.context.workplace / "votes.txt").write_text("changed my mind", encoding="utf-8")
        return gathered

    voting.build()
    (voting.store.workplace / "votes.txt").write_text("yes", encoding="utf-8")
    monkeypatch.setattr(engine_kinds.Vote, "gather", overtaken)
    voting.build()
    monkeypatch.undo()
    assert voting.build().notes == ["votes.txt changed since vote was committed: --refresh vote counts it"]


def test_late_votes_are_noted_and_counted_when_asked_for(voting: Bench) -> None:
    voting.build()
    _vote(voting, "yes")
    voting.build()
    assert not voting.build().notes
    _vote(voting, "no")
    report = voting.build()
    assert not report.built_steps
    assert report.notes == ["votes.txt changed since vote was committed: --refresh vote counts it"]
    assert voting.texts("after") == ["A B=YES", "C=YES"]
    report = voting.build(refresh=("vote",))
    assert report.built_steps == ["vote", "after"]
    assert voting.texts("after") == ["A B=NO", "C=NO"]
    assert not voting.build().notes


def test_items_that_wait_again_do_not_leave_old_items(voting: Bench) -> None:
    voting.build()
    _vote(voting, "yes")
    voting.build()
    (voting.store.workplace / "votes.txt").unlink()
    voting.sources["lines"].append("d")
    report = voting.build()
    assert report.waiting
    assert sorted(voting.outputs()) == ["ledger.tsv", "recipe.yaml"]


def test_refresh_runs_a_map_again(flaky: Bench) -> None:
    flaky.build()
    _fail(flaky)
    report = flaky.build(refresh=("ask",))
    assert report.built_steps == ["ask"]
    assert _asked(flaky) == list("abcdefghij")


def test_refresh_of_no_step(bench: Bench) -> None:
    with pytest.raises(RecipeError) as caught:
        bench.build(refresh=("wrods",))
    assert "command line: --refresh wrods" in str(caught.value)
    assert "did you mean 'words'?" in str(caught.value)


# --- the store


def test_one_build_holds_the_store(bench: Bench) -> None:
    with bench.store.lock(), pytest.raises(StoreError, match="another build holds") as caught:
        build_benchmark(bench.plan(), bench.store, "", Quiet())
    assert caught.value.exit_code == 3
    assert "run.dir=" in caught.value.next
    assert bench.build().built_steps == NODES


def _place(bench: Bench, step: str) -> Path:
    return bench.store.step_folder(step, bench.plan().nodes[step].key)


def test_a_deleted_step_is_made_again(bench: Bench) -> None:
    bench.build()
    before = bench.outputs()
    for path in _place(bench, "upper").iterdir():
        path.unlink()
    _place(bench, "upper").rmdir()
    assert bench.why()["upper"] == "run: never built here"
    assert bench.build().built_steps == ["upper"]
    assert bench.outputs() == before


def test_a_kill_between_two_seals_is_mended(bench: Bench) -> None:
    bench.build()
    place = _place(bench, "upper")
    place.rename(place.with_name(place.name + ".old"))
    assert not bench.build().built_steps


# --- looking in


def _ledger(bench: Bench) -> list[dict[str, str]]:
    text = (bench.folder / "out" / "ledger.tsv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


def test_the_ledger_has_every_ticket_that_was_not_kept(bench: Bench) -> None:
    report = bench.build()
    rows = _ledger(bench)
    lost = {
        name: sum(n for _, outcome, _, n in m.counts if outcome != "kept") + sum(n for *_, n in m.unused)
        for name, m in report.manifests.items()
    }
    assert {name: sum(row["step"] == name for row in rows) for name in NODES} == lost
    assert rows[0] == {
        "step": "left", "outcome": "dropped", "reason": "malformed", "detail": "!broken", "partition": "left",
        "file": "left.txt", "line": "3", "row": "", "slot": "", "port": "file",
    }  # fmt: skip


def test_no_cell_of_the_ledger_is_a_formula(bench: Bench) -> None:
    bench.sources["left"] = ["=drop()", "@drop", "fine"]
    bench.build()
    assert {row["detail"] for row in _ledger(bench) if row["reason"] == "unwanted"} == {"'=drop()", "'@drop", "drop"}


def test_why_says_a_line_a_branch(bench: Bench) -> None:
    bench.build()
    inspector = bench.inspector()
    assert [str(b) for b in inspector.branches_of("left.txt:3")] == ["left: dropped (malformed) - No good.: !broken"]
    assert [str(b) for b in inspector.branches_of("right.txt:3")] == [
        "right > short: dropped (too_long) - It is too long.: 23"
    ]
    assert [str(b) for b in inspector.branches_of("left.txt:2")] == [
        "left > short > upper: dropped (unwanted) - Nobody wants it.: a drop falls"
    ]
    branches = inspector.branches_of("left.txt:4")
    outcomes = {(b.path[-2:], b.outcome, b.reason) for b in branches}
    assert (("faces", "join"), "unused", "has_z") in outcomes
    assert (("unique", "faces"), "not applicable", "no_back") in outcomes
    assert (("unique", "join"), "item", "") in outcomes
    row = bench.store.rows(inspector.manifests["words"]).ids()[0]
    (branch,) = inspector.branches_of(row)
    assert branch.path == ("words", "old", "new", "join")
    assert branch.outcome == "used"


def test_why_of_what_is_not_there(bench: Bench) -> None:
    with pytest.raises(DataError, match="nothing is built"):
        bench.inspector()
    bench.build()
    with pytest.raises(DataError, match=r"no unit|has a unit|no source") as caught:
        bench.inspector().branches_of("left.txt:99")
    assert "left.txt, right.txt" in caught.value.why
    with pytest.raises(DataError, match="no row of this build has the id 'fact-0'"):
        bench.inspector().branches_of("fact-0")


def test_why_says_what_is_not_built_yet(voting: Bench) -> None:
    voting.build()
    assert "lines > up > vote: not built yet" in [str(b) for b in voting.inspector().branches_of("lines.txt:1")]


def test_trace_goes_back_to_the_source(bench: Bench) -> None:
    bench.build()
    inspector = bench.inspector()
    item = bench.store.rows(inspector.manifests["join"]).ids()[0]
    steps = [step for step, _ in inspector.trace(item)]
    assert steps[0] == "join"
    assert {"upper", "left", "faces", "words", "old"} <= set(steps)
    origin = inspector.trace(item)[-1][1].origin
    assert (origin.file, origin.line) == ("left.txt", 1)


def test_peek_shows_the_first_rows(bench: Bench) -> None:
    bench.build()
    manifest, rows = bench.inspector().first_rows("upper", 2)
    assert manifest.rows == 8
    assert [getattr(row, "text", "") for row in rows] == ["THE CAT SAT.", "ZEBRA."]
    with pytest.raises(DataError, match="no step or source 'uper'") as caught:
        bench.inspector().first_rows("uper", 2)
    assert caught.value.next == "did you mean 'upper'?"
