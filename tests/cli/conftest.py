from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _unaudited_builds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Builds of the quick suite are not audited: that takes seconds, and tests of the audit do it."""
    if request.node.get_closest_marker("e2e") is None:
        monkeypatch.setattr("benchbuilder.api.building.build_auditor", lambda recipe: None)
