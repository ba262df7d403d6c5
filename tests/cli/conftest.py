from __future__ import annotations

import pytest
from tiers import QUICK, tier_of


@pytest.fixture(autouse=True)
def _unaudited_builds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Builds of the quick suite are not audited: that takes seconds, and tests of the audit do it."""
    if tier_of(request.node) == QUICK:
        monkeypatch.setattr("benchbuilder.api.building.build_auditor", lambda recipe: None)
