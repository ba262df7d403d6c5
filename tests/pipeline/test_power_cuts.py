"""Power cuts: whatever a file system leaves of a build, the next build ends as if nothing had happened.

All states by hand: ``BENCHBUILDER_POWER_CUTS=all pytest -m full tests/pipeline/test_power_cuts.py``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking_kinds import Loud, LoudSpec, asked
from engine_bench import Bench
from power_cut import Cut, Recorder, all_cuts, marks_before, record, restore

from benchbuilder.core import registry

_STATES = 30
"""States of a build that a run of this test tries; there are some thousand."""
LINES = ["cat", "dog", "ox", "zebra", "cat again", "late night"]


@pytest.fixture(autouse=True)
def _asking_kinds() -> Iterator[None]:
    registry.BUILT_IN_KINDS["step"]["t_ask"] = "asking_kinds:Ask"
    registry.BUILT_IN_KINDS["model"]["t_loud"] = "asking_kinds:Loud"
    registry.kinds_of_slot.cache_clear()
    yield
    del registry.BUILT_IN_KINDS["step"]["t_ask"], registry.BUILT_IN_KINDS["model"]["t_loud"]
    registry.kinds_of_slot.cache_clear()


def _bench(folder: Path, log: Path, suffix: str = ".") -> Bench:
    spec = LoudSpec(kind="t_loud", name="loud", log=str(log))
    steps: dict[str, dict[str, Any]] = {
        "upper": {"kind": "t_upper", "from": "sources.lines", "suffix": suffix},
        "loud": {"kind": "t_ask", "from": "upper", "model": spec},
        "unique": {"kind": "t_unique", "from": "loud"},
    }
    return Bench(folder, {"lines": LINES}, steps, "unique", run={"shard_rows": 3})


def _chosen(recorder: Recorder) -> list[Cut]:
    cuts = list(all_cuts(recorder, seeds=4))
    if os.environ.get("BENCHBUILDER_POWER_CUTS") == "all":
        return cuts
    return random.Random(17).sample(cuts, _STATES)


def _check(recorder: Recorder, bench: Bench, log: Path, whole: dict[str, bytes]) -> None:
    """Build on from each state: the outputs are those of an undisturbed build, and no kept reply is asked for again."""
    cuts, lost = _chosen(recorder), list[str]()
    for cut in cuts:
        restore(recorder, cut)
        log.unlink(missing_ok=True)
        kept = set(marks_before(recorder, cut))
        try:
            bench.build()
        except Exception as error:  # noqa: BLE001 - all are listed
            lost.append(f"{cut}: {type(error).__name__} {error}")
            continue
        again = {f"{text.partition(': ')[2].upper()}!" for text in asked(log)}
        if again & kept:
            lost.append(f"{cut}: paid twice: {again & kept}")
        outputs = _outputs(bench)
        if names := [name for name in {*whole, *outputs} if outputs.get(name) != whole.get(name)]:
            lost.append(f"{cut}: {names} differ")
    assert not lost, f"{len(lost)} of {len(cuts)} states\n" + "\n".join(lost[:20])
    print(f"{len(cuts)} states of {len(recorder.operations) - recorder.start} operations")


def _outputs(bench: Bench) -> dict[str, bytes]:
    """The outputs; the journal, which holds times, is compared by what is asked again."""
    return {name: content for name, content in bench.outputs().items() if "sqlite" not in name}


def _noting(recorder: Recorder) -> Any:
    read = Loud.read

    def noted(self: Loud, body: str) -> Any:
        recorder.mark(body)  # a body is read once it is kept
        return read(self, body)

    return noted


@pytest.mark.parametrize("former", [
    pytest.param(None, marks=pytest.mark.push, id="first build"), pytest.param("former recipe", marks=pytest.mark.full),
    pytest.param("same recipe", marks=pytest.mark.full),
])  # fmt: skip
def test_a_power_cut_changes_no_byte(tmp_path: Path, former: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first build of a folder; another recipe's build of it; a step that is made again in its place."""
    world, log = (tmp_path / "world").resolve(), tmp_path / "log.txt"
    world.mkdir()
    bench = _bench(world / "b", log)
    bench.write()
    if former is not None:
        (_bench(world / "b", log, suffix="?") if former == "former recipe" else bench).build()
    with record(world) as recorder:
        monkeypatch.setattr(Loud, "read", _noting(recorder))
        bench.build(refresh=("upper",) if former == "same recipe" else ())
    monkeypatch.undo()
    _check(recorder, bench, log, _outputs(bench))
