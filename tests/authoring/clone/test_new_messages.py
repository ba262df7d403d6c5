"""What `new` reports: one message for each error, warnings about misfits, and nothing is overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from clone_world import run

from benchbuilder.authoring.clone.parts import is_bound
from benchbuilder.authoring.clone.source_form import source_template
from benchbuilder.config import YamlEditor
from benchbuilder.core import RecipeError

# --- new messages ----------------------------------------------------------------------------------------------------

CASES: dict[str, tuple[str, str]] = {
    "nothing asked": (
        "new", """\
        error: 1 problem in the recipe
        - missing: a name, and a file, a recipe to copy or a language
            at:      new
            hint:    for instance `benchbuild new mine --data FILE`, `benchbuild new mine --from care_mi`, `benchbuild new mine --language yo` or `benchbuild new --plugin my_plugin`
        """,  # noqa: E501
    ),
    "no such recipe": (
        "new wall --from balcny", """\
        error: 1 problem on the command line
        - recipe: there is no recipe 'balcny'
            at:      command line: recipe=balcny
            found:   balcny
            hint:    did you mean 'balcony'?
        """,
    ),
    "name taken": (
        "new garden --from balcony", """\
        error: 1 problem in the recipe
        - a recipe of this name exists already
            found:   recipes/recipe/garden.yaml
            hint:    choose another name, or give --overwrite
        """,
    ),
    "name and language": (
        "new My-Wall --from balcony --language English", """\
        error: 2 problems in the recipe
        - this is not a valid name for a recipe
            at:      new My-Wall
            allowed: a-z, 0-9 and _, beginning with a letter
        - expected the tag of a language, for instance zh, en-GB or zh-Hant
            at:      --language English
        """,
    ),
    "no such option": (
        "new wall --from garden --also annotation/ap", """\
        error: 1 problem on the command line
        - there is no such option
            at:      --also annotation/ap
            found:   annotation/ap
            allowed: annotation/none, annotation/sheets
            hint:    did you mean 'annotation/none'?
        """,
    ),
    "no source": (
        "new wall --from garden --source quiz", """\
        error: 1 problem on the command line
        - a source is a name and a kind
            at:      --source quiz
            allowed: NAME:KIND
            hint:    for instance `--source questions:multiple_choice`
        """,
    ),
    "no such kind of source": (
        "new wall --from garden --source quiz:multiple_choise", """\
        error: there is no source kind 'multiple_choise'
          why:   installed: broken, quiz, triples_file
          next:  benchbuild ls --kinds lists what is installed
        """,
    ),
    "kind without plugin": (
        "new wall --from garden --kind source", """\
        error: 1 problem on the command line
        - --kind is for plugins
            at:      --kind source
            hint:    give --plugin NAME
        """,
    ),
    "plugin from a recipe": (
        "new wall --from garden --plugin wall", """\
        error: 1 problem on the command line
        - a plugin is not a copy of a recipe
            at:      --plugin wall
            hint:    give --plugin NAME alone, or NAME --from RECIPE
        """,
    ),
    "plugin name and kind": (
        "new --plugin 9x --kind sorce", """\
        error: 2 problems on the command line
        - this is not a valid name for a plugin
            at:      --plugin 9x
            allowed: a-z, 0-9 and _, beginning with a letter
        - there is no skeleton of this kind
            at:      --kind sorce
            found:   sorce
            allowed: source, payload, step, tokenizer, retriever, baseline, solver, scorer, metric, judge, view, exporter
            hint:    did you mean 'source'?
        """,  # noqa: E501
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_message(name: str, garden: Any, capsys: pytest.CaptureFixture[str]) -> None:
    words, wanted = CASES[name]
    before = sorted(garden.folder.rglob("*"))
    assert run(*words.split()) == 2
    lines = [line.removeprefix("        ") for line in wanted.splitlines()]
    of_here = ("  why:", "    allowed: balcony")  # these lines also name what plugins bring that are installed here
    told = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(of_here)]
    assert told == [line for line in lines if line and not line.startswith(of_here)]
    assert sorted(garden.folder.rglob("*")) == before


def test_nothing_is_overwritten(garden: Any, capsys: pytest.CaptureFixture[str]) -> None:
    garden.write("prompts/wall/state.j2", "mine\n")
    assert run("new", "wall", "--from", "garden") == 2
    assert "- a copy overwrites nothing\n    found:   prompts/wall/state.j2" in capsys.readouterr().err
    assert (garden.folder / "prompts/wall/state.j2").read_text() == "mine\n"
    assert not (garden.folder / "recipes/recipe/wall.yaml").exists()


def test_a_recipe_that_builds_on_another_is_copied_with_it(garden: Any) -> None:
    assert run("new", "hedge", "--from", "balcony") == 0
    text = (garden.folder / "recipes/recipe/hedge.yaml").read_text()
    assert text.startswith("# @package _global_\n# Copied from balcony;")
    entries = ["hedge_garden", "override /source: [plants, quiz]", "override /annotation: hedge_sheets", "_self_"]
    assert "defaults:\n" + "".join(f"  - {entry}\n" for entry in entries) in text
    base = Path(garden.folder / "recipes/recipe/hedge_garden.yaml").read_text()
    assert "name: hedge_garden\n" in base
    assert "  plants: ???\n" in base
    assert "    words: hedge/words.txt\n" in base
    assert "    prompt: hedge/state.j2\n" in base
    assert "  title: ??? # balcony: Garden\n" in base


def test_defaults_in_brackets(garden: Any) -> None:
    listed = "defaults:\n  - garden\n  - override /source: [plants, quiz]\n  - _self_"
    garden.replace("recipes/recipe/balcony.yaml", listed, "defaults: [garden, override /source: [plants], _self_]")
    assert run("new", "hedge", "--from", "balcony", "--language", "zu") == 0
    entries = 'override /annotation: hedge_sheets, override /tokenizer: "???", _self_'
    text = (garden.folder / "recipes/recipe/hedge.yaml").read_text()
    assert f"defaults: [hedge_garden, override /source: [plants], {entries}]" in text


def test_an_option_that_stays_keeps_its_name_though_another_group_has_one_that_is_copied(garden: Any) -> None:
    listed = "defaults:\n  - garden\n"
    garden.write("recipes/rules/quiz.yaml", "# @package steps\nstate: {tone: plain, endings: ['.']}\n")
    garden.replace("recipes/recipe/balcony.yaml", listed, f"{listed}  - /rules: quiz\n")
    assert run("new", "hedge", "--from", "balcony") == 0
    text = (garden.folder / "recipes/recipe/hedge.yaml").read_text()
    assert "  - /rules: hedge_quiz\n" in text
    assert "  - override /source: [plants, quiz]\n" in text


@pytest.mark.parametrize(
    ("key", "bound"),
    [
        ("steps.confirm.ways.sheets.votes", True), ("tasks.dd.evaluation.scorers.people.file", True),
        ("evaluation.scorers.codes.classification.names.file", False), ("evaluation.answers", True),
        ("tasks.dd.evaluation.scorers.codes.classification.names.list.file", False),
    ],
)  # fmt: skip
def test_what_is_about_the_items_of_one_recipe(key: str, bound: bool) -> None:
    assert is_bound(key) is bound


# --- new fits --------------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.full
def test_a_source_that_no_step_reads(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("new", "statute", "--from", "law_zh", "--source", "exam:multiple_choice", "--source", "book:corpus") == 0
    out = capsys.readouterr().out
    assert out.count("warning: no step of law_zh reads a source of this kind") == 1
    assert "at:      --source exam:multiple_choice" in out
    assert "found:   the steps read sources.passage, sources.several_choice" in out
    assert "several_choice" in out.partition("allowed:")[2].partition("\n")[0]


@pytest.mark.push
def test_an_option_in_another_script_than_the_original(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    also = ["--also", "annotation/app", "--also", "annotation/app_en"]
    assert run("new", "nutrition", "--from", "medicine_en", *also) == 0
    out = capsys.readouterr().out
    assert out.count("warning: ") == 1
    assert "at:      --also annotation/app\n" in out
    assert "--also annotation/app_en" in out.partition("hint:")[2]


@pytest.mark.push
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


def test_a_form_names_settings_as_recipes_do() -> None:
    _, form = source_template("facts:sql", "nutrition")
    assert "    as: ??? # triple, choice, several_choice or passage" in form
    assert "as_" not in form


@pytest.mark.push
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


def test_a_file_behind_a_kind_is_for_new_recipes_only() -> None:
    with pytest.raises(RecipeError) as caught:
        source_template("mine:claims=claims.csv", "myths")
    [problem] = caught.value.problems
    assert problem.message == "a file is copied only into a new recipe, not with --from"
    assert "--source mine:claims" in problem.hint
