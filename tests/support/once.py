"""Builds that many tests begin with: made once for all workers of a run, copied by whoever changes something."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

BUILT = ("recipe=care_mi",)
EVALUATED = (*BUILT, "evaluate recipe=care_mi")
JUDGED = (*BUILT, "judge train recipe=care_mi", "evaluate recipe=care_mi", "judge report recipe=care_mi")
"""What `Once` runs, one after the other."""


class Once:
    """Folders in which commands ran, by these commands."""

    def __init__(self, factory: pytest.TempPathFactory, program: Path) -> None:
        base = factory.getbasetemp()
        self.folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once"
        self.folder.mkdir(exist_ok=True)
        self.program = program

    def after(self, commands: tuple[str, ...]) -> Path:
        """A folder, not to be changed, in which `commands` (words of `benchbuild`, split at blanks) ran."""
        place = self.folder / hashlib.sha256("\n".join(commands).encode()).hexdigest()[:16]
        with FileLock(f"{place}.lock"):
            if not place.exists():
                begun = place.with_suffix(".new")
                shutil.rmtree(begun, ignore_errors=True)
                if commands[:-1]:
                    shutil.copytree(self.after(commands[:-1]), begun)
                else:
                    begun.mkdir()
                words = [self.program, *commands[-1].split()]
                subprocess.run(words, cwd=begun, check=True, stdout=subprocess.DEVNULL)
                begun.rename(place)
        return place

    def copied(self, commands: tuple[str, ...], folder: Path) -> Path:
        """`folder` with what lies in such a folder."""
        return shutil.copytree(self.after(commands), folder, dirs_exist_ok=True)
