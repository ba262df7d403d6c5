"""The plugin for Ray works where only wheels are: its tests, its README, and the page that explains it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from doc_blocks import ROOT, blocks, script
from installed_plugins import Environment
from patience import patience

PAGE = ROOT / "docs" / "how-to" / "build" / "run-on-a-cluster.md"


@pytest.fixture(scope="module")
def installed(install_plugin: Callable[[str], tuple[Path, Environment]]) -> tuple[Path, Environment]:
    pytest.importorskip("ray", reason="Ray is needed for its plugin")
    plugin, environment = install_plugin("benchbuilder-ray")
    # libraries are linked there without their programs, and Ray starts workers with the Python that it runs with
    program = environment.python.parent / "ray"
    program.write_text(f"#!{environment.python}\nfrom ray.scripts.scripts import main\n\nmain()\n", encoding="utf-8")
    program.chmod(0o755)
    return plugin, environment


@pytest.mark.full
def test_its_tests_pass_from_its_wheel(installed: tuple[Path, Environment]) -> None:
    """On a cluster of three nodes."""
    plugin, environment = installed
    done = environment.test(plugin)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    "page", [ROOT / "plugins" / "benchbuilder-ray" / "README.md", PAGE], ids=lambda page: page.name
)
def test_the_commands_of_its_pages_run(page: Path, installed: tuple[Path, Environment], tmp_path: Path) -> None:
    _, environment = installed
    found = list(blocks(page))
    assert found
    paths = os.pathsep.join([str(environment.python.parent), os.environ["PATH"]])
    words = {"PATH": paths, "HOME": str(tmp_path), "LANG": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        ["bash", "-c", script(found, page)], cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=patience(900),
        env=words | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr}\n--- output\n{done.stdout[-3000:]}"
