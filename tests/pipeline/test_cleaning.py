"""Cleaning a store: what is in use stays, what no recipe needs goes, whatever happens meanwhile."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from engine_bench import Bench

from benchbuilder.core.errors import StoreError
from benchbuilder.pipeline.cleaning import OUTPUTS_STATE, StoreContents, read_contents, remove_older
from benchbuilder.pipeline.store.verify import check_store

OLDER = 'upper: suffix: "." -> "!"'
BEHIND = ["faces", "join", "new", "old", "unique", "upper", "words"]
"""The step that changes, and all behind it."""


def contents(bench: Bench) -> StoreContents:
    return read_contents(bench.store, {"now": bench.plan()})


def states(bench: Bench) -> dict[str, list[str]]:
    return {state.label: sorted(step.name for step in state.steps) for state in contents(bench).states}


def clean(bench: Bench, *, indices: bool = False) -> int:
    return remove_older(bench.store, contents(bench), {"now": bench.plan()}, indices=indices)


def change(bench: Bench, suffix: str) -> None:
    bench.steps["upper"] = {**bench.steps["upper"], "suffix": suffix}


def lasting_files(bench: Bench) -> dict[str, bytes]:
    """What lies beside the steps and their indices."""
    folder = bench.folder / "out"
    passing = (bench.store.steps, bench.store.cache, bench.store.checksums)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not any(path.is_relative_to(place) for place in passing) and path.name != "run.jsonl"
    }


@pytest.fixture
def changed(bench: Bench) -> Bench:
    """Built, changed and built again; with paid replies and people's work beside it."""
    bench.build()
    change(bench, "!")
    bench.build()
    folder = bench.folder / "out"
    (folder / "replies.sqlite").write_bytes(b"paid for")
    (folder / "annotation" / "filled").mkdir(parents=True)
    (folder / "annotation" / "filled" / "a.csv").write_text("1", encoding="utf-8")
    (folder / "judges" / "ridge").mkdir(parents=True)
    (folder / "judges" / "ridge" / "weights").write_bytes(b"learnt")
    return bench


def test_a_build_needs_all_its_steps(bench):
    bench.build()
    assert states(bench) == {"now": sorted(bench.plan().nodes)}
    assert clean(bench) == 0


@pytest.mark.push
def test_an_older_state_is_named_by_what_differs_and_goes(changed):
    assert states(changed) == {"now": sorted(changed.plan().nodes), OLDER: BEHIND}
    held, lasting, size = contents(changed), lasting_files(changed), sum(step.size for step in contents(changed).older)
    assert [state.needed for state in held.states] == [True, False]
    assert held.states[0].built > held.states[1].built
    assert clean(changed) == size > 0
    assert states(changed) == {"now": sorted(changed.plan().nodes)}
    assert lasting_files(changed) == lasting
    assert "annotation/filled/a.csv" in lasting
    check = check_store(changed.folder / "out")
    assert (check.damaged, check.steps) == ({}, len(changed.plan().nodes))
    assert set(changed.why().values()) == {"reused"}


@pytest.mark.push
def test_a_removed_state_is_built_again_with_the_same_rows(bench):
    bench.build()
    before, outputs = bench.digests(), bench.outputs()
    change(bench, "!")
    bench.build()
    clean(bench)
    change(bench, ".")
    assert "run" in bench.why()["upper"]
    bench.build()
    assert (bench.digests(), bench.outputs()) == (before, outputs)


@pytest.mark.push
def test_a_step_of_several_older_states_is_listed_with_the_latest(changed):
    change(changed, "?")
    changed.build()
    change(changed, "!")
    changed.steps["short"] = {**changed.steps["short"], "at_most": 19}
    changed.build()
    assert {label: len(steps) for label, steps in states(changed).items() if label != "now"} == {
        'short: at_most: 20 -> 19; upper: suffix: "?" -> "!"': 8, "short: at_most: 20 -> 19": 7,
        'short: at_most: 20 -> 19; upper: suffix: "." -> "!"': 7,
    }  # fmt: skip
    clean(changed)
    assert list(states(changed)) == ["now"]


@pytest.mark.push
def test_what_the_outputs_were_made_of_stays(changed):
    change(changed, ".")  # back in the recipe, not built again
    assert states(changed) == {"now": sorted(changed.plan().nodes), OUTPUTS_STATE: BEHIND}
    assert clean(changed) == 0


@pytest.mark.push
def test_several_recipes_may_be_in_use(changed):
    plans = {"now": changed.plan()}
    change(changed, ".")
    plans["other"] = changed.plan()
    held = read_contents(changed.store, plans)
    assert [(state.label, state.needed, len(state.steps)) for state in held.states] == [
        ("now", True, len(plans["now"].nodes)), ("other", True, len(BEHIND)),
    ]  # fmt: skip


@pytest.mark.push
def test_what_became_needed_meanwhile_stays(changed):
    plans, shown = {"now": changed.plan()}, contents(changed)
    assert shown.older
    change(changed, ".")
    changed.build()  # somebody builds the older state while the question stands
    assert remove_older(changed.store, shown, plans) == 0
    assert set(changed.why().values()) == {"reused"}


@pytest.mark.push
def test_a_build_at_work_is_not_disturbed(changed):
    with changed.store.lock(), pytest.raises(StoreError, match="another build holds"):
        clean(changed)
    assert OLDER in states(changed)


@pytest.mark.push
def test_the_pointer_of_a_step_names_what_is_there(changed):
    change(changed, ".")
    changed.build()
    clean(changed)  # the latest that were built from nothing are gone
    for step in BEHIND:
        assert changed.store.latest(step) is not None
    del changed.steps["words"], changed.steps["old"], changed.steps["new"]
    changed.steps["join"] = {**changed.steps["join"], "from": {"each": "unique", "children": ["faces"]}}
    changed.build()
    assert "words is no step now" in "".join(states(changed))
    clean(changed)
    assert not (changed.store.steps / "words").exists()
    assert set(changed.why().values()) == {"reused"}


@pytest.mark.push
def test_unfinished_foreign_and_damaged_steps(changed):
    store, plan = changed.store, changed.plan()
    store.draft("upper", "f" * 64, {"rows": 1})
    store.draft("join", plan.nodes["join"].key, {"rows": 1})
    of_older = {step.name: step.folder for step in contents(changed).older if step.manifest is not None}
    (of_older["unique"] / "manifest.json").write_text("{}", encoding="utf-8")
    (of_older["faces"] / "manifest.json").write_text("{", encoding="utf-8")
    found = states(changed)
    assert found["never finished"] == ["upper"]
    assert found["built by another version of benchbuilder"] == ["unique"]
    assert found["damaged"] == ["faces"]
    assert found["now"].count("join") == 2
    clean(changed)
    assert list(states(changed)) == ["now"]
    assert list(store.steps.glob("join/*.draft"))


@pytest.mark.push
def test_indices_go_on_request_only(changed):
    changed.store.cache.mkdir(exist_ok=True)
    (changed.store.cache / "bm25-0").mkdir()
    (changed.store.cache / "bm25-0" / "weights.bin").write_bytes(b"x" * 100)
    (changed.store.cache / ".bm25-0.lock").touch()
    clean(changed)
    assert list(contents(changed).indices.values()) == [100]
    assert clean(changed, indices=True) == 100
    assert contents(changed).indices == {}


KILLED = """
import json, os, signal, sys
from pathlib import Path
import engine_bench, shutil
from benchbuilder.pipeline import cleaning
from benchbuilder.pipeline.cleaning import read_contents, remove_older

engine_bench.register()
given = json.loads(sys.stdin.read())
left = given.pop("moves")
bench = engine_bench.Bench(Path(given.pop("folder")), **given)
move, remove = cleaning.move_into_place, shutil.rmtree

def counted(*paths):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    move(*paths)

def killed_midway(path, **options):
    for file in [each for each in Path(path).rglob("*") if each.is_file()][:5]:
        file.unlink()
    os.kill(os.getpid(), signal.SIGKILL)

cleaning.move_into_place, shutil.rmtree = counted, killed_midway
plans = {"now": bench.plan()}
remove_older(bench.store, read_contents(bench.store, plans), plans)
"""


@pytest.mark.push
@pytest.mark.parametrize("moves", [0, 3, 99], ids=["at once", "midway", "while the files are removed"])
def test_a_killed_cleaning_leaves_a_store_that_opens(changed, moves):
    outputs = changed.outputs()
    given = {**json.loads(changed.as_json()), "moves": moves}
    ended = subprocess.run(
        [sys.executable, "-c", KILLED], input=json.dumps(given), text=True, check=False, cwd=Path(__file__).parent
    )
    assert ended.returncode == -signal.SIGKILL
    assert check_store(changed.folder / "out").damaged == {}
    left = states(changed)
    assert left["now"] == sorted(changed.plan().nodes)
    assert len(left.get(OLDER, ())) <= len(BEHIND) - min(moves, len(BEHIND))
    held = contents(changed)
    assert (held.remains > 0) == (moves > 0)
    assert clean(changed) == held.remains + sum(step.size for step in held.older)
    assert not list((changed.folder / "out" / "store").glob("scratch-*"))
    assert list(states(changed)) == ["now"]
    assert all(changed.store.latest(step) is not None for step in BEHIND)
    changed.build()
    assert changed.outputs() == outputs
