"""``benchbuild clean`` as a user gives it: it shows first, asks at a terminal, and frees what no recipe needs."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from once import EVALUATED, Once

from benchbuilder.cli.dispatch import main
from benchbuilder.cli.terminal import Terminal

RECIPE = "recipe=care_mi"
STRICT = ["retriever.top_k=2", "annotation.min_evidence=2"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, once: Once) -> Path:
    """A folder in which the sample was built and evaluated, then built with other settings."""
    folder = once.copied(EVALUATED, tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("benchbuilder.api.building.build_auditor", lambda recipe: None)
        assert main([RECIPE, *STRICT]) == 0
    (folder / "builds/care_mi/annotation/filled").mkdir(parents=True, exist_ok=True)
    (folder / "builds/care_mi/annotation/filled/remarks.md").write_text("Two experts.", encoding="utf-8")
    return folder


@pytest.fixture
def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return home


def lines(told: str) -> list[str]:
    return [" ".join(line.split()) for line in told.splitlines() if line.strip()]


def stored(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.glob("builds/care_mi/store/steps/*/*/manifest.json")}


@pytest.mark.push
def test_it_shows_what_is_in_use_and_removes_nothing(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = stored(at_home)
    assert main(["clean", RECIPE, *STRICT, "--steps"]) == 0
    told = lines(capsys.readouterr().out)
    state = next(line for line in told if line.startswith("in use 34 "))
    assert state.endswith("recipe=care_mi retriever.top_k=2 annotation.min_evidence=2")
    older = next(line for line in told if line.startswith("older 2 "))
    assert older.endswith("evidence: retriever.top_k: 3 -> 2; items: annotation.min_evidence: 3 -> 2")
    assert any(re.fullmatch(r"evidence [\d.]+ kB .* ago [0-9a-f]{20}", line) for line in told)
    assert any(line.startswith("in use ") and line.endswith("the outputs in the folder") for line in told)
    assert any(line == "never removed: people's work, 12 B" for line in told)
    assert "1 of these steps counted votes or ratings: built again, they count those that there are then" in told
    assert told[-1].startswith("nothing was removed; to remove ")
    assert told[-1].endswith(", add --yes")
    assert stored(at_home) == before


@pytest.mark.push
def test_another_recipe_in_use_is_kept(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean", RECIPE, *STRICT, "--keep", RECIPE, "--yes"]) == 0
    told = lines(capsys.readouterr().out)
    assert any(line.startswith("in use 2 ") and line.endswith(RECIPE) for line in told)
    assert any(line.startswith("in use 61 ") and line.endswith(RECIPE) for line in told)
    assert told[-1] == "there is nothing to remove"


@pytest.mark.push
def test_an_evaluation_stays_if_one_of_the_recipes_was_not_built(
    at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["clean", RECIPE, *STRICT, "--keep", f"{RECIPE} retriever.top_k=4"]) == 0
    told = lines(capsys.readouterr().out)
    note = "note: the evaluation stays as it is: the items in builds/care_mi were built with other settings"
    assert any(line.startswith(note) for line in told)
    assert not any("builds/care_mi/evaluation" in line for line in told)


@pytest.mark.push
@pytest.mark.parametrize(("typed", "removes"), [("n\n", False), ("\n", False), ("y\n", True)])
def test_it_asks_at_a_terminal(
    typed: str, removes: bool, home: Path, tmp_path: Path, once: Once, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    from benchbuilder.cli import clean
    from benchbuilder.cli.command_line import command_parser
    from benchbuilder.cli.commands import COMMANDS

    class Typed(io.StringIO):
        def isatty(self) -> bool:
            return True

    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", Typed(typed))
    before, shown = stored(tmp_path), io.StringIO()
    parser = command_parser("clean", COMMANDS["clean"])
    terminal = Terminal(file=shown, force_terminal=True, width=120)
    assert clean.run(parser.parse_args([RECIPE, *STRICT]), terminal) == 0
    assert "[y/N]" in shown.getvalue()
    assert len(before - stored(tmp_path)) == (2 if removes else 0)


@pytest.mark.full
def test_with_yes_it_frees_the_bytes_that_it_says(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    items = (tmp_path / "builds/care_mi/items.jsonl").read_bytes()
    size = sum(path.stat().st_size for path in tmp_path.rglob("store/steps/**/*") if path.is_file())
    assert main(["clean", RECIPE, *STRICT, "--yes"]) == 0
    freed = int(re.search(r"\(([\d,]+) bytes\)", capsys.readouterr().out)[1].replace(",", ""))
    left = sum(path.stat().st_size for path in tmp_path.rglob("store/steps/**/*") if path.is_file())
    assert 0 < freed == size - left
    assert main(["check", "--store", "builds/care_mi"]) == 0
    assert main([RECIPE, *STRICT]) == 0
    assert "built " not in capsys.readouterr().out.replace("were built", "")
    assert (tmp_path / "builds/care_mi/items.jsonl").read_bytes() == items
    assert main(["clean", RECIPE, *STRICT, "--yes", "--indices"]) == 0
    assert "index file" in capsys.readouterr().out
    assert main([RECIPE]) == 0  # the former state, built again
    assert json.loads((tmp_path / "builds/care_mi/items.jsonl").read_text("utf-8").partition("\n")[0])["id"]


@pytest.mark.full
def test_wrong_words(at_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clean", RECIPE, "--keep", f"{RECIPE} run.dir={tmp_path}/elsewhere"]) == 2
    assert "builds into another folder" in capsys.readouterr().err
    assert main(["clean", RECIPE, f"run.dir={tmp_path}/elsewhere"]) == 3
    assert "holds no build" in capsys.readouterr().err
