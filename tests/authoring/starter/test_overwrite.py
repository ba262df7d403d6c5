"""`new NAME --overwrite` replaces what `new` wrote and nobody edited, and loses nothing when it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.cli.dispatch import main

CLAIMS = "claim,label\nSunlight lets the skin make vitamin D.,true\nThe skin makes vitamin C in the sun.,false\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Prüfung 1.csv").write_text(CLAIMS, encoding="utf-8")
    (tmp_path / "more.csv").write_text(CLAIMS.replace("vitamin D", "vitamin D3"), encoding="utf-8")
    assert main(["new", "mine", "--data", "Prüfung 1.csv"]) == 0
    return tmp_path


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_that_is_copied_under_another_name_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "mine", "--data", "Prüfung 1.csv", "--overwrite"]) == 0
    assert "copied as recipes/recipe/mine/prufung_1.csv" in capsys.readouterr().out
    assert (here / "recipes/recipe/mine/prufung_1.csv").is_file()


def test_what_nobody_edited_is_replaced_and_nothing_of_it_is_left(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "mine", "--data", "more.csv"]) == 2
    assert "give --overwrite" in capsys.readouterr().err
    assert main(["new", "mine", "--data", "more.csv", "--overwrite"]) == 0
    found = tree(here / "recipes" / "recipe" / "mine")
    assert set(found) == {"more.csv", "written.json"}
    assert b"D3" in found["more.csv"]
    assert main(["new", "other", "--data", "more.csv", "--overwrite"]) == 0


def test_what_somebody_edited_stays(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forms = here / "recipes" / "forms" / "mine.yaml"
    forms.write_text(forms.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    before = tree(here)
    assert main(["new", "mine", "--data", "more.csv", "--overwrite"]) == 2
    assert "recipes/forms/mine.yaml" in capsys.readouterr().err
    assert tree(here) == before


def test_a_recipe_that_new_did_not_write_stays(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "recipes/recipe/mine/written.json").unlink()
    before = tree(here)
    assert main(["new", "mine", "--data", "more.csv", "--overwrite"]) == 2
    assert "only a recipe that it wrote" in capsys.readouterr().err
    assert tree(here) == before


def test_a_file_that_cannot_be_read_brings_the_former_recipe_back(here: Path) -> None:
    (here / "odd.csv").write_text("shape,size\nround,9\nflat,8\nround,7\n", encoding="utf-8")
    before = tree(here)
    assert main(["new", "mine", "--data", "odd.csv", "--overwrite"]) == 2
    assert tree(here) == before


@pytest.mark.push
def test_nobody_has_said_until_when_the_answers_are_right(here: Path) -> None:
    assert 'correct_as_of: "" # check' in (here / "recipes/recipe/mine.yaml").read_text(encoding="utf-8")
    assert main(["build", "recipe=mine"]) == 0
    report = (here / "builds/mine/report.html").read_text(encoding="utf-8")
    assert "nobody has said yet (card.correct_as_of)" in report
    assert "Correct as of" not in report
