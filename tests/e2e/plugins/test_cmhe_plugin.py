"""The plugin of CMHE works where only wheels are, outside the repository: its own tests, and what its README shows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from doc_blocks import blocks, script
from installed_plugins import Environment
from patience import patience
from published_tables import published_rows


@pytest.fixture(scope="module")
def installed(install_plugin: Callable[[str], tuple[Path, Environment]]) -> tuple[Path, Environment]:
    return install_plugin("benchbuilder-cmhe")


@pytest.mark.full
def test_its_tests_pass_from_its_wheel(installed: tuple[Path, Environment]) -> None:
    """All of them, once: among them the contract suite over every kind that it brings."""
    plugin, environment = installed
    done = environment.test(plugin)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "test_every_kind_keeps_its_contract" not in done.stdout, "neither failed nor skipped"


@pytest.mark.full
def test_the_commands_of_its_readme_run(installed: tuple[Path, Environment], tmp_path: Path) -> None:
    plugin, environment = installed
    page = plugin / "README.md"
    found = list(blocks(page))
    assert len(found) >= 3
    paths = os.pathsep.join([str(environment.python.parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script(found, page)], cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=patience(900),
        env={"PATH": paths, "HOME": str(tmp_path), "LANG": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONSAFEPATH": "1"},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr}\n--- output\n{done.stdout[-3000:]}"


@pytest.mark.full
def test_the_published_tables_come_from_their_commands(installed: tuple[Path, Environment], tmp_path: Path) -> None:
    _, environment = installed

    @cache
    def run(words: tuple[str, ...]) -> str:
        done = environment.run("-m", "benchbuilder", *words, folder=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(("recipe=cmhe",))
    lacking = {row.name: row.missing(tmp_path / "builds" / "cmhe", run) for row in published_rows("cmhe")}
    assert len(lacking) >= 9
    assert not any(lacking.values()), lacking
