from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_models import GATEWAY_KINDS, Fake, Here

from benchbuilder.core import registry
from benchbuilder.models import Gateway


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The model kinds of this folder."""
    monkeypatch.setattr(registry, "BUILT_IN_KINDS", {**registry.BUILT_IN_KINDS, "model": GATEWAY_KINDS})
    registry.kinds_of_slot.cache_clear()
    Fake.forget()
    Here.batches.clear()
    Here.refuses.clear()
    yield
    registry.kinds_of_slot.cache_clear()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "store" / "replies.sqlite3"


@pytest.fixture
def gateway(journal: Path) -> Iterator[Gateway]:
    with Gateway(journal) as opened:
        yield opened
