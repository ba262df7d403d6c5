from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from lead_world import disputed_world
from review_world import World, copy_world, make_world

from benchbuilder.annotation.app import progress_cache


@pytest.fixture(autouse=True)
def fresh_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes a snapshot costly, and a costly one is kept: here each page takes a new one."""
    monkeypatch.setattr(progress_cache, "_COSTLY_SECONDS", 1000.0)


@pytest.fixture(scope="session")
def empty_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Three projects on which nobody has worked; closed, to be copied."""
    world = make_world(f"sqlite:///{tmp_path_factory.mktemp('empty_world') / 'votes.db'}")
    world.store.close()
    return world


@pytest.fixture(scope="session")
def closed_disputes(tmp_path_factory: pytest.TempPathFactory) -> World:
    """What `disputed_world` makes; closed, to be copied."""
    world = disputed_world(tmp_path_factory.mktemp("closed_disputes"))
    world.store.close()
    return world


@pytest.fixture
def world(empty_world: World, tmp_path: Path) -> Iterator[World]:
    copy = copy_world(empty_world, tmp_path)
    yield copy
    copy.store.close()


@pytest.fixture
def disputes(closed_disputes: World, tmp_path: Path) -> Iterator[World]:
    copy = copy_world(closed_disputes, tmp_path)
    yield copy
    copy.store.close()
