"""Every fault of the matrix at every moment, in the commands themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from fault_world import IN_FLIGHT, Ended, Project, World

MATRIX = yaml.safe_load((Path(__file__).parent / "matrix.yaml").read_text(encoding="utf-8"))
TELL_COSTS = ("README.md", "report.html", "results.", "results_tables/costs.")
SERVICE = {"resets": "drop_before", "hangs": "hang"}


def name(line: dict[str, Any]) -> str:
    return f"{line['fault']}-{line['command'].replace(' ', '_')}"


@pytest.mark.parametrize("line", MATRIX["tried"], ids=name)
def test_a_fault_loses_nothing(line: dict[str, Any], world: World, project: Callable[[str], Project]) -> None:
    command, disturbed = line["command"], project(line["command"])
    for moment in line["moments"]:
        event = {key: value for key, value in MATRIX["moments"][command][moment].items() if key != "title"}
        ended = disturb(disturbed, command, line["fault"], event)
        assert ended.code == line["code"], f"{moment}: {ended}"
        assert line.get("says", "") in ended.said, f"{moment}: {ended}"
        assert "Traceback" not in ended.said
        disturbed.writable()
        disturbed.server.configure(rules=[])
    ended = disturbed.run(command)
    assert ended.code == 0, ended.said
    died = line["code"] != 0 and "paid" in line["moments"]
    assert without(disturbed.made(command), died) == without(world.made[command], died)
    bought, once = disturbed.bought(), world.bought[command]
    assert bought.keys() == once.keys()
    assert (bought - once).total() <= (IN_FLIGHT if died else 0)


def without(made: dict[str, str], costs: bool) -> dict[str, str]:
    """What was made, without the pages that tell of `costs`: replies on their way may be on the bill."""
    return {file: digest for file, digest in made.items() if not costs or not file.startswith(TELL_COSTS)}


def disturb(project: Project, command: str, fault: str, event: dict[str, Any]) -> Ended:
    """Let a fault come in a command; how it ended, or the other one if there were two."""
    if fault == "two_at_once":
        with project.stopped_at(command, event) as first:
            second = project.run(command)
        said, _ = first.communicate(timeout=60)
        assert first.returncode == 0, said
        return second
    if fault in SERVICE:
        rule = {"when": {"after": event["nth"]}, "do": SERVICE[fault]}
        project.server.configure(rules=[rule])
        return project.run(command)
    return project.run(command, {**event, "do": fault})
