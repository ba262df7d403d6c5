"""A clone of care_mi whose owner filled in what is open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from clone_world import NEW, QUESTIONS, fill, run

from benchbuilder.config.load import load_recipe


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert run(*NEW) == 0
    fill(tmp_path)
    return tmp_path


def test_it_composes_with_its_own_files_only(filled: Path) -> None:
    loaded = load_recipe(["recipe=nutrition"])
    assert (loaded.recipe.name, loaded.recipe.language) == ("nutrition", "zh")
    assert set(loaded.recipe.sources) == {"questions", "book"}
    own = (filled / "recipes" / "evaluation" / "nutrition_claims.yaml").read_text("utf-8")
    assert "- nutrition_sets@_here_ " in own
    assert (filled / "recipes" / "evaluation" / "nutrition_sets.yaml").is_file()
    strangers = [f"{key}: {ref.file}" for key, ref in loaded.files if not ref.file.is_relative_to(filled)]
    assert strangers == []


def test_it_checks_and_says_what_is_left_over(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "recipe=nutrition") == 0
    text = capsys.readouterr().out
    assert "prompts/nutrition/qa2d.pairs.yaml:3" in text
    assert "产后 (line 3)" in text
    assert "1 of the 5 words of the list match nothing" in text
    assert "recipes/recipe/nutrition/words.txt:5" in text
    assert "胆固醇 (line 5)" in text
    assert "still that of care_mi" not in text
    assert "another language" not in text
    assert "another script" not in text
    assert text.endswith("files are fine\n")


@pytest.mark.full
def test_it_builds(filled: Path) -> None:
    assert run("recipe=nutrition", "annotation=none") == 0
    items = [json.loads(line) for line in (filled / "builds/nutrition/items.jsonl").read_text().splitlines()]
    assert {item["source"] for item in items} == {"questions"}
    assert any("坏血病" in item["answer"] for item in items)


def test_it_waits_for_its_own_people(filled: Path) -> None:
    assert run("recipe=nutrition") == 75
    assert list((filled / "builds/nutrition/annotation/to_fill").iterdir())


def test_a_clone_of_the_clone_builds_too(filled: Path) -> None:
    assert run("new", "diet", "--from", "nutrition", "--source", "questions:multiple_choice",
               "--source", "book:corpus") == 0  # fmt: skip
    fill(filled, "diet", "nutrition")
    record = json.loads((filled / "recipes/recipe/diet/origin.json").read_text())
    assert record["recipe"] == "nutrition"
    assert record["files"]["recipes/rules/diet_claims.yaml"]["origin"] == "recipes/rules/nutrition_claims.yaml"
    assert run("recipe=diet", "annotation=none") == 0
    loaded = load_recipe(["recipe=diet"])
    assert not [key for key, ref in loaded.files if "nutrition" in str(ref.file.relative_to(filled))]


@pytest.mark.push
def test_a_path_of_the_user_s_own_does_not_bring_the_sample_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "recipes/local/default.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text(f"# @package _global_\npaths: {{medqa: {tmp_path}/mine.jsonl, votes: {tmp_path}/votes}}\n")
    assert run("new", "nutrition", "--from", "care_mi", "--trust", "recipes/local") == 0
    text = (tmp_path / "recipes/recipe/nutrition.yaml").read_text()
    assert "  medqa: ???\n" in text
    assert "  votes: null\n" in text
    assert not (tmp_path / "recipes/recipe/nutrition/sample").exists()


def test_an_option_that_is_asked_for_is_copied_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*NEW, "--also", "annotation/app", "--also", "evaluation/zh_prompted") == 0
    fill(tmp_path)
    loaded = load_recipe(["recipe=nutrition", "annotation=nutrition_app",
                          "evaluation=[nutrition_claims,nutrition_prompted]"])  # fmt: skip
    assert loaded.recipe.annotation.kind == "app"
    assert [key for key, ref in loaded.files if not ref.file.is_relative_to(tmp_path)] == []
    assert "evaluation.judges.prompted_correctness.prompt" in dict(loaded.files)


THIN = """# @package _global_
defaults:
  - care_mi
  - override /source: []
  - _self_

name: thin
paths: {words: thin/words.txt, votes: null}
sources:
  exam: # one file
    kind: multiple_choice
    path: thin/exam.csv
    columns: {question: question, options: [A, B, C, D], answer_key: answer}
"""


def test_a_recipe_with_sources_of_its_own_is_copied_without_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "recipes/recipe/thin"
    folder.mkdir(parents=True)
    (tmp_path / "recipes/recipe/thin.yaml").write_text(THIN)
    (folder / "words.txt").write_text("碘\n")
    (folder / "exam.csv").write_text(QUESTIONS)
    assert run("new", "copy", "--from", "thin") == 0
    text = (tmp_path / "recipes/recipe/copy.yaml").read_text()
    assert "    path: ???\n" in text
    assert "  exam: # one file\n" in text
    assert "paths: {words: copy/words.txt, votes: null}" in text
    base = (tmp_path / "recipes/recipe/copy_care_mi.yaml").read_text()
    assert "  bios: null\n" in base
    assert not list(tmp_path.rglob("*.csv"))[1:]
    assert not (tmp_path / "recipes/recipe/copy/sample").exists()
