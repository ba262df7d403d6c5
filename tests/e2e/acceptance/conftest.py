"""Fixtures: a server for the tests of a module, and what a build makes that nothing disturbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from acceptance_bench import Sample, behaviour

from benchbuilder.testing import FakeOpenAI, fake_openai_server


@pytest.fixture(scope="session")
def _server() -> Iterator[FakeOpenAI]:
    with fake_openai_server(behaviour()) as server:
        yield server


@pytest.fixture
def server(_server: FakeOpenAI) -> FakeOpenAI:
    """The service as it should be, with an empty log."""
    _server.configure(**behaviour(rules=[], tokens="bytes3", requests_per_minute=None, max_in_flight=None, usage=True))
    _server.reset()
    return _server


@pytest.fixture
def sample(tmp_path: Path, server: FakeOpenAI, warm_folder: Path) -> Callable[..., Sample]:
    """Makes builds of the sample in folders of their own."""

    def make(name: str = "build", *more: str) -> Sample:
        return Sample(tmp_path / name, server, warm_folder / "benchbuild", more)

    return make
