from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from explorer_browser import ExplorerBrowser
from once import BUILT, Once

from benchbuilder.explorer import BuildFolder


@pytest.fixture(scope="session")
def care_mi(once: Once) -> Path:
    """The folder of the bundled sample's build; not to be changed."""
    return once.after(BUILT) / "builds" / "care_mi"


@pytest.fixture(scope="session")
def browser(care_mi: Path) -> ExplorerBrowser:
    return ExplorerBrowser(BuildFolder("care_mi", care_mi))
