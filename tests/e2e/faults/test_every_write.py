"""Commands that write are disturbed at their first write, their second, their fourth, and so on to their last."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from injected_faults import VARIABLE
from once import BUILT, EVALUATED, Once
from patience import patience

MATRIX = yaml.safe_load((Path(__file__).parent / "matrix.yaml").read_text(encoding="utf-8"))
DISTURBED: dict[str, dict[str, Any]] = MATRIX["every_write"]["commands"]
_WHEN = re.compile(rb"20[0-9]{2}-[01][0-9]-[0-3][0-9](?:[T ][0-9:.]+(?:Z|[+]00:00)?)?")
_OF_RUNS = ("lock", ".tmp", ".sqlite-wal", ".sqlite-shm", "run.jsonl", "checksums.json")


@dataclass(frozen=True)
class Place:
    """A folder in which commands run, disturbed or not."""

    folder: Path
    program: Path

    def run(self, words: str, fault: str = "", nth: int = 1) -> tuple[int, str, bool]:
        """Exit code, what was said, and whether the fault came: at the write number `nth` below the folder."""
        mark = self.folder.with_name(f"{self.folder.name}.mark")
        mark.unlink(missing_ok=True)
        environ = os.environ | {"COLUMNS": "200"}
        if fault:
            said = {"event": "open", "path": f"{self.folder}/*", "nth": nth, "do": fault}
            environ[VARIABLE] = json.dumps({**said, "mark": str(mark), "place": str(self.folder)})
        done = subprocess.run(
            [self.program, *_named(words, self.folder)], cwd=self.folder, env=environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=patience(), check=False,
        )  # fmt: skip
        for folder, _, files in os.walk(self.folder):
            Path(folder).chmod(0o755)
            for name in files:
                Path(folder, name).chmod(0o644)
        return done.returncode, done.stdout, mark.exists()

    def files(self) -> dict[str, str]:
        """The digest of each file, days and times apart, and of a database how many rows its tables have.

        Locks, notes of runs and what a killed command was writing are left out.
        """
        paths = [path.relative_to(self.folder) for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return {
            path.as_posix(): _digest(self.folder / path)
            for path in paths
            if not path.name.endswith(_OF_RUNS) and not any(part.endswith(".tmp") for part in path.parts)
        }


def _digest(path: Path) -> str:
    if path.suffix != ".sqlite":
        return hashlib.sha256(_WHEN.sub(b"", path.read_bytes())).hexdigest()
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return json.dumps({name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone() for (name,) in tables})


def _named(words: str, folder: Path) -> list[str]:
    """The words of a command, with the names of what is there."""
    for name, pattern in (("{item}", "releases/*/*/tf/test.jsonl"), ("{erratum}", "errata.jsonl")):
        if name in words:
            words = words.replace(name, next(folder.glob(pattern)).read_text(encoding="utf-8").split('"', 4)[3])
    return words.split()


def _fill_a_sheet(folder: Path) -> None:
    """Write the first sheet of an annotator, with 1 in each cell that asks for a judgement."""
    for sheet in sorted(folder.glob("builds/*/annotation/to_fill/li-*.csv"))[:1]:
        header, *rows = csv.reader(sheet.read_text(encoding="utf-8-sig").splitlines(keepends=True))
        asked = [place for place, title in enumerate(header) if "[q:" in title]
        for row in rows:
            for place in asked:
                row[place] = row[place] or "1"
        with (folder / "filled.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([header, *rows])


@pytest.fixture
def prepared(once: Once, tmp_path: Path, warm_folder: Path) -> Callable[[str, str], Place]:
    """A new folder in which a command can run."""

    def prepare(command: str, name: str) -> Place:
        folder = tmp_path / name
        begun = tmp_path / "begun"
        if not begun.exists():
            once.copied(EVALUATED if DISTURBED[command].get("after") == "evaluate" else BUILT, begun)
            for words in DISTURBED[command].get("first", ()):
                code, said, _ = Place(begun, warm_folder / "benchbuild").run(words)
                assert code in (0, 75), said
            _fill_a_sheet(begun)
        return Place(Path(shutil.copytree(begun, folder)), warm_folder / "benchbuild")

    return prepare


@pytest.mark.parametrize("fault", MATRIX["every_write"]["faults"])
@pytest.mark.parametrize("command", DISTURBED)
def test_a_fault_at_any_write_loses_nothing(command: str, fault: str, prepared: Callable[[str, str], Place]) -> None:
    words = DISTURBED[command]["words"]
    whole = prepared(command, "whole")
    code, said, _ = whole.run(words)
    assert code == 0, said
    nth, came = 1, True
    while came:
        place = prepared(command, f"{fault}-{nth}")
        (code, said, came), done = place.run(words, fault, nth), False
        assert "Traceback" not in said, f"{nth}: {said}"
        if came:
            assert code in (0, MATRIX["every_write"]["faults"][fault]), f"{nth}: {code} {said}"
            code, said, _ = place.run(words)
            done = DISTURBED[command].get("again", "\n\n\n") in said
            assert code == 0 or done, f"{nth}: {code} {said}"
        assert done or place.files() == whole.files(), nth
        shutil.rmtree(place.folder)
        nth *= 2
    assert nth > 2, "the command wrote nothing"
