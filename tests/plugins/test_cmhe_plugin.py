"""The plugin of CMHE passes its own tests where only wheels are, outside the repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from installed_plugins import Environment


@pytest.mark.slow
def test_its_tests_pass_from_its_wheel(install_plugin: Callable[[str], tuple[Path, Environment]]) -> None:
    plugin, environment = install_plugin("benchbuilder-cmhe")
    done = environment.test(plugin)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
