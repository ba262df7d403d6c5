"""What the wheel holds: one package, the recipes and prompts inside it, and nothing of the user's."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GIT = ["git", "-C", str(ROOT)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of a copy of the tree that holds a private file, built without the network."""
    pytest.importorskip("hatchling", reason="hatchling is needed to build the wheel here")
    folder = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run([*GIT, "ls-files", "-z"], capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    (folder / "recipes/local/default.yaml").write_text("# mine\n")
    code = "from hatchling.build import build_wheel; print(build_wheel('dist'))"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    (built,) = (folder / "dist").glob("*.whl")
    return built


def test_top_level_and_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"benchbuilder", "benchbuilder-0.1.0.dist-info"}
    inside = "benchbuilder/bundled/"
    for needed in ("recipes/benchbuild.yaml", "recipes/recipe/care_mi.yaml", "recipes/recipe/care_mi/words.txt",
                   "recipes/recipe/care_mi/sample/votes/a.csv", "prompts/zh/qa2d.j2"):  # fmt: skip
        assert inside + needed in names
    assert inside + "recipes/local/README.md" in names
    assert inside + "recipes/local/default.yaml" not in names
    assert not [name for name in names if name.endswith((".pyc", ".tmp"))]


def test_every_folder_of_recipes_travels() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"])
    groups = {f"recipes/{path.name}" for path in (ROOT / "recipes").iterdir() if path.name != "local"}
    assert listed == groups | {"recipes/local/README.md", "prompts"}


def test_an_installed_wheel_works_inside_a_checkout(wheel: Path, tmp_path: Path) -> None:
    """The first command of the README runs the installed program in the clone that it was installed from."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import benchbuilder, sys; print(benchbuilder.__file__);"
        " from benchbuilder.cli.dispatch import main; sys.exit(main())"
    )
    for folder in (ROOT, tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", code, "check", "recipe=care_mi"],
            cwd=folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONSAFEPATH": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert str(tmp_path / "site") in done.stdout
        assert "files are fine" in done.stdout
