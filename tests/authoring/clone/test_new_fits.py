"""What `new` leaves out and warns of: sources that no step reads, options in another script, names of old sources."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from clone_world import run

from benchbuilder.authoring.clone.edit_yaml import YamlEditor


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_source_that_no_step_reads(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("new", "statute", "--from", "law_zh", "--source", "exam:multiple_choice", "--source", "book:corpus") == 0
    out = capsys.readouterr().out
    assert out.count("warning: no step of law_zh reads a source of this kind") == 1
    assert "at:      --source exam:multiple_choice" in out
    assert "found:   the steps read sources.passage, sources.several_choice" in out
    assert "several_choice" in out.partition("allowed:")[2].partition("\n")[0]


def test_an_option_in_another_script_than_the_original(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    also = ["--also", "annotation/app", "--also", "annotation/app_en"]
    assert run("new", "nutrition", "--from", "medicine_en", *also) == 0
    out = capsys.readouterr().out
    assert out.count("warning: ") == 1
    assert "at:      --also annotation/app\n" in out
    assert "--also annotation/app_en" in out.partition("hint:")[2]


def test_nothing_of_the_old_sources_stays(here: Path) -> None:
    assert run("new", "nutrition", "--from", "medicine_en", "--source", "questions:multiple_choice",
               "--source", "book:corpus") == 0  # fmt: skip
    text = (here / "recipes/recipe/nutrition.yaml").read_text()
    body = text[text.index("\nname:") :]
    assert [name for name in ("medqa_us", "mmlu_csv", "textbook", "encyclopaedia") if name in body] == []
    assert "  facts_choice: {prefer: []}\n" in text
    assert set(yaml.safe_load(text)["paths"]) == {"words", "stop_words", "relations", "votes"}
    assert "      answer_key: ??? # or answer:\n" in text
    assert "nutrition/book.txt, a paragraph a line" in text


def test_what_the_card_said_can_be_uncommented(here: Path) -> None:
    assert run("new", "nutrition", "--from", "medicine_en") == 0
    text = (here / "recipes/recipe/nutrition.yaml").read_text()
    lines = text.partition("  limitations: ???")[2].splitlines()[1:]
    comment = lines[: next(n for n, line in enumerate(lines) if "#" not in line[:6])]
    found = yaml.safe_load("\n".join(line.replace("# ", "", 1) for line in comment))
    original = yaml.safe_load((Path(__file__).parents[3] / "recipes/recipe/medicine_en.yaml").read_text())
    assert found == original["card"]["limitations"]


def test_a_line_is_taken_out_or_says_null() -> None:
    editor = YamlEditor("paths:\n  a: x # one\n  b: y\n  c: z\nmore: {a: x, b: y}\none:\n  a: x\n")
    for key in (("paths", "a"), ("paths", "b"), ("more", "a"), ("one", "a"), ("paths", "no")):
        editor.remove(key)
    assert editor.edited_text() == "paths:\n  c: z\nmore: {a: null, b: y}\none:\n  a: null\n"
