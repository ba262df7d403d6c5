from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import postgres_server, postgres_url
from vote_world import World

from benchbuilder.annotation.database.store import AnnotationStore

__all__ = ["postgres_server", "postgres_url"]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'votes.db'}"
    return request.getfixturevalue("postgres_url")


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty SQLite database with all tables: a copy of it is open at once."""
    path = tmp_path_factory.mktemp("migrated") / "votes.db"
    AnnotationStore.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def world(url: str, tmp_path: Path, migrated_file: Path) -> Iterator[World]:
    """An empty database with a clock that stands still until it is moved."""
    if url.startswith("sqlite"):
        shutil.copy(migrated_file, tmp_path / "votes.db")
    world = World(url)
    yield world
    world.store.close()
