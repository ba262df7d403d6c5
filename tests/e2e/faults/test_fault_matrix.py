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
from patience import patience

MATRIX = yaml.safe_load((Path(__file__).parent / "matrix.yaml").read_text(encoding="utf-8"))
TELL_COSTS = ("README.md", "tables/", "report.", "results.", "results_tables/costs.")
SERVICE = {"resets": "drop_before", "hangs": "hang"}


def name(line: dict[str, Any]) -> str:
    return f"{line['fault']}-{line['command'].replace(' ', '_')}"


def first_of_each(lines: list[dict[str, Any]], key: str) -> list[Any]:
    """The lines as parameters: the first of those that have the same at `key` in `push`, the others in `full`."""
    seen, made = set[str](), list[Any]()
    for line in lines:
        early = line[key] not in seen and line.get("fault", "damage") in (*MATRIX["alone"], "damage")
        seen.add(line[key])
        made.append(pytest.param(line, marks=pytest.mark.push if early else pytest.mark.full))
    return made


@pytest.mark.parametrize("line", first_of_each(MATRIX["tried"], "fault"), ids=name)
def test_a_fault_loses_nothing(line: dict[str, Any], world: World, project: Callable[..., Project]) -> None:
    loses_nothing(line["command"], [(line, moment) for moment in line["moments"]], world, project)


@pytest.mark.push
@pytest.mark.parametrize("command", MATRIX["in_turn"])
def test_faults_of_every_sort_one_after_the_other_lose_nothing(
    command: str, world: World, project: Callable[..., Project]
) -> None:
    lines = {line["fault"]: line for line in MATRIX["tried"] if line["command"] == command}
    in_turn = [(lines[fault], moment) for step in MATRIX["in_turn"][command] for fault, moment in step.items()]
    assert {line["fault"] for line, _ in in_turn} == set(lines) - set(MATRIX["alone"])
    loses_nothing(command, in_turn, world, project)


def loses_nothing(
    command: str, in_turn: list[tuple[dict[str, Any], str]], world: World, project: Callable[..., Project]
) -> None:
    """Let the faults of some lines come at these moments of a command, one after the other, and let it end."""
    disturbed, known, seen = project(command), set[str](), 0
    changes_source = any(line["fault"] == "change_source" for line, _ in in_turn)
    if changes_source:
        lay_another_source(disturbed)
    for line, moment in in_turn:
        event = {key: value for key, value in MATRIX["moments"][command][moment].items() if key != "title"}
        ended = disturb(disturbed, command, line["fault"], event)
        assert ended.code == line["code"], f"{line['fault']}, {moment}: {ended}"
        assert line.get("says", "") in ended.said, f"{line['fault']}, {moment}: {ended}"
        assert "Traceback" not in ended.said
        disturbed.writable()
        disturbed.server.configure(rules=[])
        assert not known & disturbed.asked(seen), f"{moment}: what is in the journal was asked for again"
        known, seen = disturbed.journaled(), disturbed.server.stats()["requests"]
    ended = disturbed.run(command)
    assert ended.code == 0, ended.said
    assert not known & disturbed.asked(seen), "what is in the journal was asked for again"
    paid = [moment for line, moment in in_turn if moment.startswith("paid") and line["code"]]
    other_costs = bool(paid) or changes_source
    assert without(disturbed.made(command), other_costs) == without(world.made[command], other_costs)
    bought, once = disturbed.bought(), world.bought[command]
    assert bought.keys() >= once.keys()
    if not changes_source:
        assert (bought - once).total() <= IN_FLIGHT * len(paid)


@pytest.mark.parametrize(
    "line", first_of_each(MATRIX["damaged"], "command"), ids=lambda line: f"{line['command']}-{line['file']}"
)
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
            begun = ("build", *words(command)[-1:])
            shutil.rmtree(project.build / "store" / "steps" / "items")
        with project.stopped_at(begun[0], event, *begun[1:]) as first:
            second = project.run(command)
        said, _ = first.communicate(timeout=patience())
        assert first.returncode == 0, said
        return second
    if fault in SERVICE:  # it breaks after as many requests
        rule = {"when": {"after": event["nth"]}, "do": SERVICE[fault]}
        project.server.configure(rules=[rule])
        return project.run(command)
    return project.run(command, {**event, "do": fault})
