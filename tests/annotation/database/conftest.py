from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import postgres_server, postgres_url
from vote_world import World

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'votes.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def world(url: str) -> Iterator[World]:
    """An empty database with a clock that stands still until it is moved."""
    found = World(url)
    yield found
    found.store.close()
