"""The memory of a build on systems without `/proc`, one of which has no module `resource`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchbuilder.pipeline import memory

WITHOUT = """
import sys
for name in ("resource", "fcntl"):
    sys.modules[name] = None
import importlib, pathlib, benchbuilder
for room in pathlib.Path(benchbuilder.__file__).parent.glob("*/__init__.pyi"):
    face = importlib.import_module(f"benchbuilder.{room.parent.name}")
    if face.__name__ in ("benchbuilder.pipeline", "benchbuilder.api"):
        [getattr(face, name) for name in face.__all__]
"""


def test_without_proc_and_resource_the_peak_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_peak_kb", lambda process: None)
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory.peak_memory_mb([1]) == 0.0


@pytest.mark.full
def test_a_build_imports_no_module_that_windows_lacks() -> None:
    assert subprocess.run([sys.executable, "-c", WITHOUT], check=False).returncode == 0
