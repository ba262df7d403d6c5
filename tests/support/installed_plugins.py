"""Wheels of this program and of plugins, installed into a fresh environment outside the checkout.

Nothing is downloaded: the libraries are those of the environment that runs the tests, by links; the program, the
plugin and whatever else is installed there in development mode are left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from patience import patience

ROOT = Path(__file__).resolve().parents[2]
_BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
_LACKING = """
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from packaging.requirements import Requirement
for name in sys.argv[1:]:
    for line in requires(name) or ():
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        try:
            if not wanted.specifier.contains(version(wanted.name), prereleases=True):
                print(f"{name} needs {wanted}, and here is {version(wanted.name)}")
        except PackageNotFoundError:
            print(f"{name} needs {wanted}")
"""


@dataclass(frozen=True)
class Environment:
    """A Python with the wheels installed, and an empty folder outside the checkout to work in."""

    python: Path
    folder: Path

    def run(self, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """The outcome of ``python arguments`` in the folder, without anything that leads back into the checkout."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BENCHBUILDER", "COV"))
        }
        home = {"HOME": str(self.folder), "PYTHONSAFEPATH": "1", "PYTHONUTF8": "1"}
        paths = {"PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"}
        return subprocess.run(
            [str(self.python), *arguments], cwd=folder or self.folder, env={**kept, **home, **paths},
            capture_output=True, text=True, encoding="utf-8", timeout=patience(1_800), check=False,
        )  # fmt: skip

    def benchbuild(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The outcome of the installed program."""
        return self.run(str(self.python.parent / "benchbuild"), *words)

    def test(self, plugin: Path) -> subprocess.CompletedProcess[str]:
        """The outcome of the tests of a plugin, which are copied into the folder without its code."""
        work = self.folder / plugin.name
        work.mkdir()
        shutil.copytree(plugin / "tests", work / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(plugin / "pyproject.toml", work)
        # a folder of their own, since pytest removes older ones beside its own; a short name, since sockets lie in it
        with TemporaryDirectory(prefix="bb-", ignore_cleanup_errors=True) as made:
            return self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", f"{made}/t", folder=work)


@cache
def wheel(project: Path, folder: Path) -> Path:
    """The wheel of a project, built in `folder` without the network."""
    before = set(folder.glob("*.whl"))
    code = [sys.executable, "-c", _BUILD, str(folder)]
    done = subprocess.run(code, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = set(folder.glob("*.whl")) - before
    return built


def environment(folder: Path, *wheels: Path) -> Environment:
    """A fresh environment in `folder` with `wheels`, whose requirements are checked."""
    home = folder / "venv"
    venv.create(home, symlinks=True, with_pip=False)
    python = home / "bin" / "python"
    _link_libraries(folder / "libraries")
    (site,) = home.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(f"{folder / 'libraries'}\n", encoding="utf-8")
    install = ["-m", "pip", f"--python={python}", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([sys.executable, *install, *map(str, wheels)], check=True, capture_output=True)
    (folder / "work").mkdir()
    made = Environment(python, folder / "work")
    names = [path.name.partition("-")[0].replace("_", "-") for path in wheels]
    lacking = made.run("-c", _LACKING, *names)
    assert (lacking.returncode, lacking.stdout) == (0, ""), lacking.stdout + lacking.stderr
    return made


def _link_libraries(folder: Path) -> None:
    """Links to all that is installed here, without what leads into the checkout."""
    folder.mkdir()
    own = re.compile(r"_*(editable_*)?_*(impl_*)?benchbuilder|.*\.pth$|__pycache__$|pip(-|$)")
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(place).iterdir():
            if not own.match(path.name) and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
