"""The skeleton of a plugin, built and installed in a folder of its own: its tests pass as they are."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from clone_world import run

from benchbuilder.authoring.clone.plugin_skeleton import SKELETON_SLOTS, plugin_skeleton_files
from benchbuilder.core.registry import SLOTS as ALL_SLOTS


def in_folder(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def installed(folder: Path) -> None:
    """A wheel of the plugin, unpacked where the plugin's own tests find it."""
    pytest.importorskip("hatchling", reason="hatchling is needed to build the wheel here")
    built = in_folder(folder, "-c", "from hatchling.build import build_wheel; build_wheel('dist')")
    assert built.returncode == 0, built.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")


@pytest.mark.full
def test_the_tests_of_a_plugin_with_every_kind_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "--plugin", "night_sky", "--kind", ",".join(SKELETON_SLOTS)) == 0
    folder = tmp_path / "benchbuilder-night-sky"
    installed(folder)
    done = in_folder(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "of_plugin"))
    assert done.returncode == 0, done.stdout[-3000:]
    assert "failed" not in done.stdout
    listed = in_folder(folder, "-c", "from benchbuilder.cli.dispatch import main; main(['ls', '--kinds'])")
    assert listed.stdout.count("benchbuilder-night-sky 0.1.0") == len(SKELETON_SLOTS)
    ruff = in_folder(folder, "-m", "ruff", "check", "--isolated", "--line-length", "120", "--select", "E,F,I,UP",
                     "benchbuilder_night_sky", "tests")  # fmt: skip
    assert ruff.returncode == 0, ruff.stdout


def test_a_plugin_brings_what_is_asked_for() -> None:
    files = plugin_skeleton_files("sky", ["tokenizer", "source"])
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["name"] == "benchbuilder-sky"
    assert project["entry-points"] == {
        "benchbuilder.source": {"sky": "benchbuilder_sky.source:SkySource"},
        "benchbuilder.tokenizer": {"sky": "benchbuilder_sky.tokenizer:SkyTokenizer"},
    }
    assert {name for name in files if name.startswith("tests/")} == {
        "tests/test_plugin.py", "tests/test_source.py", "tests/test_tokenizer.py",
    }  # fmt: skip
    assert "${" not in "".join(files.values())


def test_every_slot_has_a_skeleton_or_is_left_out_on_purpose() -> None:
    assert set(ALL_SLOTS) - set(SKELETON_SLOTS) == {"model", "annotation", "executor", "verifier"}


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benchbuilder-sky").mkdir()
    assert run("new", "--plugin", "sky") == 2
    assert list((tmp_path / "benchbuilder-sky").iterdir()) == []


def test_a_kind_that_is_there_already_is_not_claimed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "--plugin", "sql") == 2
    assert "benchbuilder has a source kind of this name" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert run("new", "--plugin", "sql", "--kind", "step") == 0
