"""Fixtures: a service, a program that has composed the recipes already, and the undisturbed world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fault_world import RESULTS, Project, World, words
from once import Once
from warm import composed

from benchbuilder.testing import fake_openai_server

ANSWERS = str(Path(__file__).parents[1] / "acceptance" / "answers.py")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, once: Once, warm_folder: Path) -> Iterator[World]:
    """What nothing disturbs."""
    with fake_openai_server({"plugin": ANSWERS, "keep_bodies": True}) as server:
        compositions = [words(command) for command in RESULTS]
        with composed(tmp_path_factory.mktemp("faults"), warm_folder, *compositions) as program:
            made = World(once.folder / "faults", program / "benchbuild", server)
            made.begin()
            yield made


@pytest.fixture
def project(world: World, tmp_path: Path) -> Callable[..., Project]:
    """Makes the project of a test, in which a command can run, or has `finished`."""
    return lambda command, **more: world.project(command, tmp_path / "project", **more)
