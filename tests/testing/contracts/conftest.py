from __future__ import annotations

from collections.abc import Iterator

import pytest
from kind_sample import Sample, built_sample

from benchbuilder.core import registry


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The sample, built once per process."""
    registry.kinds_of_slot.cache_clear()
    return built_sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture
def sample(built: Sample) -> Iterator[Sample]:
    """The sample, with the kinds that are installed."""
    registry.kinds_of_slot.cache_clear()
    yield built
    registry.kinds_of_slot.cache_clear()
