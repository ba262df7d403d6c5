"""Fixtures: databases of each sort."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'votes.sqlite'}"
    return request.getfixturevalue("postgres_url")
