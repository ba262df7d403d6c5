"""An unchanged command says again what it said without the libraries; after any change it goes the whole way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from own_rules import write_own_recipe

from benchbuilder.config import bundled_folder

PROGRAM = """
import sys
from benchbuilder.cli import remember
from benchbuilder.cli.dispatch import main
remember._SLACK_NS = -10**18  # its files were written just now
code = main()
print("whole way" if "pyarrow" in sys.modules else "again", file=sys.stderr)
sys.exit(code)
"""
LEAN = PROGRAM.replace("from benchbuilder.cli import remember\n", "").replace("remember._SLACK_NS", "slack")
WORDS = [
    "recipe=own", "annotation=none", "source=[medqa,textbook]", "paths.medqa=data/medqa", "paths.words=data/words.txt",
    "audit.gate=none",
]  # fmt: skip


def say(folder: Path, cache: str, program: str = PROGRAM, **environment: str) -> tuple[str, str]:
    """What the command says in `folder`, and whether it went the whole way."""
    done = subprocess.run(
        [sys.executable, "-c", program, *WORDS], cwd=folder, capture_output=True, text=True, check=True,
        env={**os.environ, "BENCHBUILDER_CACHE": str(folder / cache), **environment},
    )  # fmt: skip
    return done.stdout, done.stderr.strip()


def module_folders() -> dict[str, int]:
    """When a name came or went in the folders of modules, which other tests of this run may write into."""
    return {folder: os.stat(folder).st_mtime_ns for folder in sys.path if os.path.isdir(folder)}  # noqa: PTH112, PTH116


def say_twice(folder: Path) -> tuple[tuple[str, str], tuple[str, str]]:
    """What an unchanged command says, and says again without the libraries, while the folders of modules stay."""
    for _ in range(5):
        before = module_folders()
        said = say(folder, "cache"), say(folder, "cache", LEAN)
        if module_folders() == before:
            return said
    raise AssertionError("other tests write into the folders of modules all the time")


def test_an_unchanged_command_and_each_change(tmp_path: Path) -> None:
    write_own_recipe(tmp_path)
    sample = bundled_folder("recipes") / "recipe/care_mi"
    shutil.copytree(sample / "sample/medqa", tmp_path / "data/medqa")
    shutil.copy(sample / "words.txt", tmp_path / "data/words.txt")
    source = next((tmp_path / "data/medqa").glob("*.jsonl"))
    changes = {
        tmp_path / "recipes/recipe/own.yaml": lambda text: text.replace("\nseed: ", "\nseed: 1"),
        source: lambda text: text.rpartition("\n")[0].rpartition("\n")[0] + "\n",
        tmp_path / "data/words.txt": lambda text: text.rstrip("\n").rpartition("\n")[0] + "\n",
    }
    say(tmp_path, "cache")
    for path, change in changes.items():
        unchanged, again = say_twice(tmp_path)
        assert unchanged[1] == "whole way", path
        assert again == (unchanged[0], "again"), path
        text = path.read_text("utf-8")
        path.write_text(change(text), "utf-8")
        assert path.read_text("utf-8") != text
        assert say(tmp_path, "cache", LEAN)[1] == "whole way", path
        assert say(tmp_path, "cache")[0] == say(tmp_path, "another cache")[0], path
    say(tmp_path, "cache")
    assert say(tmp_path, "cache", LEAN, HF_HUB_OFFLINE="1")[1] == "whole way"
