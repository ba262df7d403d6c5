from __future__ import annotations

from collections.abc import Iterator

import pytest
from filelock import FileLock
from kind_sample import Sample, built_sample
from once import BUILT, Once

from benchbuilder.core import registry


@pytest.fixture(scope="session")
def built(once: Once) -> Sample:
    """The sample, built once for all processes: whoever comes later finds every step made."""
    registry.kinds_of_slot.cache_clear()
    folder = once.folder / "contracts"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            once.copied(BUILT, folder)
        return built_sample(folder)


@pytest.fixture
def sample(built: Sample) -> Iterator[Sample]:
    """The sample, with the kinds that are installed."""
    registry.kinds_of_slot.cache_clear()
    yield built
    registry.kinds_of_slot.cache_clear()
