from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from review_world import World, make_world

from benchbuilder.annotation.app import progress_cache


@pytest.fixture(autouse=True)
def fresh_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes a snapshot costly, and a costly one is kept: here each page takes a new one."""
    monkeypatch.setattr(progress_cache, "_COSTLY_SECONDS", 1000.0)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = make_world(f"sqlite:///{tmp_path / 'votes.db'}")
    yield made
    made.store.close()
