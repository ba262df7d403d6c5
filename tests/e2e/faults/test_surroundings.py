"""Every command that writes ends with a message and loses nothing where streams, locale, home or disk are odd."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from once import EVALUATED, Once
from patience import patience

MATRIX = yaml.safe_load((Path(__file__).parent / "matrix.yaml").read_text(encoding="utf-8"))["surroundings"]
COMMANDS: dict[str, str] = MATRIX["commands"]
SURROUNDINGS: dict[str, str] = MATRIX["shells"]


@pytest.mark.parametrize("where", SURROUNDINGS)
def test_commands_end_as_ever(once: Once, tmp_path: Path, warm_folder: Path, where: str) -> None:
    for name, words in COMMANDS.items():
        here = once.copied(EVALUATED, tmp_path / name)
        # the warm program hands streams on, and needs them
        program = "benchbuild" if ">&-" in SURROUNDINGS[where] else str(warm_folder / "benchbuild")
        line = ["bash", "-c", SURROUNDINGS[where], "bash", program, *words.split()]
        done = subprocess.run(line, cwd=here, capture_output=True, check=False, timeout=patience())
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        assert "Traceback" not in said, f"{name}: {said}"
        if where == "standard output goes to a full device":
            assert done.returncode in (0, 3), f"{name}: {done.returncode} {said}"
        else:
            assert done.returncode == 0, f"{name}: {done.returncode} {said}"
        shutil.rmtree(here)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A file system in memory, and how to say how many bytes are free on it."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", place], check=True)

    def leave_free(free: int) -> Path:
        used = shutil.disk_usage(place).used
        subprocess.run(["mount", "-o", f"remount,size={used + free}", place], check=True)
        return place

    yield leave_free
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only a superuser mounts a file system")
@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in MATRIX["writes_nothing"]])
def test_a_disk_that_becomes_full_loses_nothing(
    once: Once, warm_folder: Path, small_disk: Callable[[int], Path], command: str
) -> None:
    here = once.copied(EVALUATED, small_disk(400_000_000) / "here")
    line = [str(warm_folder / "benchbuild"), *COMMANDS[command].split()]
    items = (here / "builds" / "care_mi" / "items.jsonl").read_bytes()
    for free in MATRIX["free_bytes"]:
        small_disk(free)
        done = subprocess.run(line, cwd=here, capture_output=True, check=False, encoding="utf-8", timeout=patience())
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode in (0, 3), done.stderr
        if done.returncode == 3:
            assert "disk" in done.stderr or "space" in done.stderr, done.stderr
    small_disk(300_000_000)
    done = subprocess.run(line, cwd=here, capture_output=True, check=False, encoding="utf-8", timeout=patience())
    # what one of the first runs made counts: a version is there, a person is invited, a recipe is copied
    assert done.returncode == 0 or "there already" in done.stderr or "already" in done.stderr, done.stderr
    if command != "build":
        assert (here / "builds" / "care_mi" / "items.jsonl").read_bytes() == items
