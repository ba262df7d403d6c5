from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from installed_plugins import ROOT, Environment, environment, wheel

Install = Callable[[str], tuple[Path, Environment]]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where wheels are built, each once."""
    pytest.importorskip("hatchling", reason="hatchling is needed to build wheels here")
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture(scope="session")
def install_plugin(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Installs the program and the plugin of a name, by wheels: its folder in the checkout, and where it is."""

    def install(name: str) -> tuple[Path, Environment]:
        plugin = ROOT / "plugins" / name
        built = wheel(ROOT, wheels), wheel(plugin, wheels)
        return plugin, environment(tmp_path_factory.mktemp(name), *built)

    return install
