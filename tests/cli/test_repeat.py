"""An unchanged build says again what it said; whatever changed, the whole way is gone."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from once import Once

import benchbuilder
from benchbuilder.cli import dispatch, remember, repeat
from benchbuilder.config import bundled_folder, read_cached
from benchbuilder.core import FileStamps, stamp_files

pytestmark = pytest.mark.push

WORDS = ["recipe=care_mi", "annotation=none", "source=[medqa,textbook]"]


class Built:
    """A folder with a build, after a command that made nothing; `told` is what that said."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.folder, self.words = folder, words
        self.build = folder / "builds/care_mi"
        self.told = ""

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.build / "run.jsonl").read_text("utf-8").splitlines()]

    def repeats(self, words: list[str] | None = None) -> bool:
        return repeat.repeat_build(repeat.given_command(words or self.words))

    def kept(self) -> dict[str, Any]:
        kept = read_cached(repeat.given_command(self.words).file)
        assert kept is not None
        return kept


@pytest.fixture(scope="module")
def built(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    home = tmp_path_factory.mktemp("home")
    once.copied((" ".join(WORDS),), home / "project")
    (home / "plugins").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHBUILDER_CACHE", str(home / "cache"))
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        patch.chdir(home / "project")
        patch.syspath_prepend(str(home / "plugins"))
        patch.setattr(repeat, "_OF_SHELLS", repeat._OF_SHELLS | {"PYTEST_CURRENT_TEST"})  # pyright: ignore[reportPrivateUsage]
        # its files were written just now
        patch.setattr(remember, "_SLACK_NS", -(10**18))
        patch.setattr("benchbuilder.api.building.build_auditor", lambda recipe: None)
        made = Built(home / "project", WORDS)
        lines: list[str] = []
        patch.setattr("benchbuilder.cli.terminal.Console.print", lambda self, *text, **options: lines.extend(text))
        assert dispatch._run_command_line(list(WORDS), is_process=True) == 0  # pyright: ignore[reportPrivateUsage]
        made.told = "".join(f"{line}\n" for line in lines)
        yield made


@pytest.mark.push
def test_nothing_changed(built: Built, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = built.log()
    monkeypatch.setattr(dispatch, "_dispatch", None)
    for _ in range(2):
        assert dispatch._run_command_line(list(WORDS), is_process=True) == 0  # pyright: ignore[reportPrivateUsage]
        assert capsys.readouterr().out == built.told
    assert "items in builds/care_mi:" in built.told
    *earlier, last, again, once_more = built.log()
    assert [*earlier, last] == before
    assert last.keys() == again.keys()
    assert list(again)[:2] == ["started", "seconds"]
    for run in (again, once_more):
        assert {**run, "started": last["started"], "seconds": last["seconds"]} == last


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _write(name: str, text: str = "") -> Callable[[Built], object]:
    def write(built: Built) -> None:
        path = built.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


CHANGES: dict[str, Callable[[Built], object]] = {
    "a file of an output is gone": lambda built: (built.build / "items.jsonl").unlink(),
    "an output is damaged": lambda built: _flip(built.build / "items.tsv"),
    "the report is empty": lambda built: (built.build / "report.html").write_text(""),
    "rows of a step are damaged": lambda built: _flip(next(built.build.glob("store/steps/items/*/part-00000.parquet"))),
    "a manifest is gone": lambda built: next(built.build.glob("store/steps/items/*/manifest.json")).unlink(),
    "the list of outputs is damaged": lambda built: _flip(built.build / "store/outputs.json"),
    "another recipe was built": lambda built: (built.build / "store/last_command.json").write_text("{}"),
    "a killed build left something": _write("builds/care_mi/store/scratch-1/recipe.yaml"),
    "somebody put a file beside": _write("builds/care_mi/items.csv"),
    "people voted": _write("builds/care_mi/annotation/filled/votes.csv"),
    "the folder lies in another build": _write("builds/recipe.yaml", "name: other\n"),
    "there are recipes in the folder": _write("recipes/local/mine.yaml", "seed: 3\n"),
    "there are prompts in the folder": _write("prompts/zh/mine.j2"),
    "the user has settings": _write("../config/benchbuilder/user/mine.yaml"),
    "the user trusts a folder": _write("../config/benchbuilder/trusted_folders.txt", "/tmp\n"),
    "a plugin was installed": _write("../plugins/mine-1.dist-info/entry_points.txt", "[benchbuilder.step]\n"),
    "a module stands before others": _write("../plugins/yaml.py"),
}


@pytest.fixture
def unchanged(built: Built) -> Iterator[dict[str, Any]]:
    """What was kept, as if the files were as old as they are now; what a test changes is undone."""
    home = built.folder.parent
    known = set(home.rglob("*"))
    texts = {path: path.read_bytes() for path in known if path.is_file()}
    kept = built.kept()
    now = stamp_files(kept["files"], kept["trees"])
    assert now is not None
    yield {**kept, "stamps": now.digest}
    for path in sorted(set(home.rglob("*")) - known, reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    for path, text in texts.items():
        if not path.is_file() or path.read_bytes() != text:
            path.write_bytes(text)


@pytest.mark.push
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_goes_the_whole_way(built: Built, unchanged: dict[str, Any], change: str) -> None:
    assert repeat.is_unchanged(unchanged)
    CHANGES[change](built)
    assert not repeat.is_unchanged(unchanged)


@pytest.mark.push
@pytest.mark.parametrize("path", ["items.jsonl", "store/steps/items"])
def test_damage_is_found_whatever_the_times_say(
    built: Built, unchanged: dict[str, Any], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As today: what a build wrote is compared with its checksums by every build."""
    (file,) = [found for found in [built.build / path, *built.build.glob(f"{path}/*/part-*")] if found.is_file()]
    monkeypatch.setattr(repeat, "stamp_files", lambda files, trees: FileStamps(unchanged["stamps"], 0))
    assert repeat.is_unchanged(unchanged)
    _flip(file)
    assert not repeat.is_unchanged(unchanged)


@pytest.mark.push
def test_every_sort_of_file_that_a_build_looks_at_is_known(built: Built) -> None:
    """The files of the program, which a test cannot change, are below a folder or in the list as well."""
    kept = built.kept()
    looked_at = [
        bundled_folder("recipes") / "recipe/care_mi.yaml",
        bundled_folder("recipes") / "recipe/care_mi/sample/medqa/dev.jsonl",
        bundled_folder("recipes") / "words",
        bundled_folder("prompts") / "zh",
        Path(benchbuilder.__file__).parent / "steps/state_choice.py",
        Path(benchbuilder.__file__).parent / "core/text/strings/en.yaml",
        Path(sys.modules["pyarrow"].__file__ or ""),
        Path(sys.modules["rich"].__file__ or "").parent.parent,
    ]
    tops = [Path(top) for top in kept["trees"]]
    unknown = [path for path in looked_at if str(path) not in kept["files"]
               and not any(path.is_relative_to(top) for top in tops)]  # fmt: skip
    assert [path for path in looked_at if not path.exists()] == []
    assert unknown == []


@pytest.mark.push
def test_another_command_is_another_question(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    def same() -> bool:
        return repeat.given_command(built.words).file == file

    file = repeat.given_command(built.words).file
    monkeypatch.setenv("SHLVL", "7")
    assert same()
    assert repeat.given_command([*WORDS, "seed=1"]).file != file
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not same()
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert same()
    monkeypatch.syspath_prepend("/somewhere")
    assert not same()
    monkeypatch.undo()


@pytest.mark.push
def test_tabs_are_printed_as_blanks_and_not_kept(built: Built) -> None:
    report: Any = SimpleNamespace(built_steps=[], waiting={}, removed_files=[])
    nothing: Any = SimpleNamespace(report=report)
    remember.remember_build(repeat.given_command(["run.dir=a\tb"]), nothing, nothing, "in a\tb:\n")
    assert not repeat.given_command(["run.dir=a\tb"]).file.exists()


@pytest.mark.push
def test_a_link_is_no_lock(built: Built) -> None:
    """A build refuses it, and writes nothing to where it leads."""
    lock = built.build / "store/lock"
    lock.rename(lock.with_name("other"))
    lock.symlink_to("other")
    try:
        with pytest.raises(OSError, match="symbolic links"), repeat._held(str(lock)):  # pyright: ignore[reportPrivateUsage]
            raise AssertionError
    finally:
        lock.unlink()
        lock.with_name("other").rename(lock)


@pytest.mark.push
def test_a_build_at_work_is_not_passed_over(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    handle = os.open(built.build / "store/lock", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        assert not built.repeats()
    finally:
        os.close(handle)
    assert not capsys.readouterr().out
