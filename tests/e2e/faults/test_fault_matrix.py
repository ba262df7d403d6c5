"""Every fault of the matrix at every moment, in the commands themselves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fault_world import IN_FLIGHT, Ended, Project, World, words

MATRIX = yaml.safe_load((Path(__file__).parent / "matrix.yaml").read_text(encoding="utf-8"))
TELL_COSTS = ("README.md", "report.html", "results.", "results_tables/costs.")
SERVICE = {"resets": "drop_before", "hangs": "hang"}


def name(line: dict[str, Any]) -> str:
    return f"{line['fault']}-{line['command'].replace(' ', '_')}"


@pytest.mark.parametrize("line", MATRIX["tried"], ids=name)
def test_a_fault_loses_nothing(line: dict[str, Any], world: World, project: Callable[..., Project]) -> None:
    command, disturbed = line["command"], project(line["command"])
    if line["fault"] == "change_source":
        lay_another_source(disturbed)
    known, seen = set[str](), 0
    for moment in line["moments"]:
        event = {key: value for key, value in MATRIX["moments"][command][moment].items() if key != "title"}
        ended = disturb(disturbed, command, line["fault"], event)
        assert ended.code == line["code"], f"{moment}: {ended}"
        assert line.get("says", "") in ended.said, f"{moment}: {ended}"
        assert "Traceback" not in ended.said
        disturbed.writable()
        disturbed.server.configure(rules=[])
        assert not known & disturbed.asked(seen), f"{moment}: what is in the journal was asked for again"
        known, seen = disturbed.journaled(), disturbed.server.stats()["requests"]
    ended = disturbed.run(command)
    assert ended.code == 0, ended.said
    assert not known & disturbed.asked(seen), "what is in the journal was asked for again"
    paid = [moment for moment in line["moments"] if moment.startswith("paid")] if line["code"] else []
    other_costs = bool(paid) or line["fault"] == "change_source"
    assert without(disturbed.made(command), other_costs) == without(world.made[command], other_costs)
    bought, once = disturbed.bought(), world.bought[command]
    assert bought.keys() >= once.keys()
    if line["fault"] != "change_source":
        assert (bought - once).total() <= IN_FLIGHT * len(paid)


@pytest.mark.parametrize("line", MATRIX["damaged"], ids=lambda line: f"{line['command']}-{line['file']}")
def test_damage_is_made_good_or_named(line: dict[str, Any], world: World, project: Callable[..., Project]) -> None:
    command, disturbed = line["command"], project(line["command"], finished=True)
    for how in line["hows"]:
        (file,) = disturbed.build.glob(MATRIX["files"][line["file"]]["path"])
        whole = file.read_bytes()
        damage(file, whole, how)
        ended = disturbed.run(command)
        assert ended.code == line["code"], f"{how}: {ended}"
        assert line.get("says", "") in ended.said, f"{how}: {ended}"
        assert "Traceback" not in ended.said
        if line.get("then") == "backup":
            file.write_bytes(whole)
        elif line.get("then") == "build":
            assert disturbed.run("build").code == 0
        if ended.code:
            assert disturbed.run(command).code == 0
        assert disturbed.made(command) == world.made[command], how
    assert disturbed.server.stats()["requests"] == 0


def damage(file: Path, whole: bytes, how: str) -> None:
    """Damage a file that has these bytes."""
    half = len(whole) // 2
    if how == "gone":
        file.unlink()
    else:
        file.write_bytes(whole[:half] + (bytes([whole[half] ^ 1]) + whole[half + 1 :] if how == "flipped" else b""))


def lay_another_source(project: Project) -> None:
    """Give a project another file of a source at first, and lay its own file beside it, for the fault to put there."""
    file = project.folder / "mlecqa" / "Clinic_train.json"
    file.with_name(f"{file.name}.changed").write_bytes(file.read_bytes())
    file.write_text(json.dumps(json.loads(file.read_bytes())[:-1], ensure_ascii=False), encoding="utf-8")


def without(made: dict[str, str], costs: bool) -> dict[str, str]:
    """What was made, without the pages that tell of `costs`: replies on their way may be on the bill."""
    return {file: digest for file, digest in made.items() if not costs or not file.startswith(TELL_COSTS)}


def disturb(project: Project, command: str, fault: str, event: dict[str, Any]) -> Ended:
    """Let a fault come in a command; how it ended, or the other one if there were two."""
    if fault in ("two_at_once", "build_at_work"):
        event, begun = dict(event), (command,)
        if fault == "build_at_work":  # it makes a step anew that the command must not take
            begun = ("build", *words(command, project.server.base_url)[-1:])
            shutil.rmtree(project.build / "store" / "steps" / "items")
        with project.stopped_at(begun[0], event, *begun[1:]) as first:
            second = project.run(command)
        said, _ = first.communicate(timeout=60)
        assert first.returncode == 0, said
        return second
    if fault in SERVICE:  # it breaks after as many requests
        rule = {"when": {"after": event["nth"]}, "do": SERVICE[fault]}
        project.server.configure(rules=[rule])
        return project.run(command)
    return project.run(command, {**event, "do": fault})
