"""`benchbuild diff`: recipes by key, builds by item, each with its cause."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from once import BUILT, Once
from writing_server import writing

from benchbuilder.cli.dispatch import main

WORDS = ["recipe=care_mi", "source=[medqa,textbook]", "annotation=none", "audit.permutations=99"]
SAMPLE = Path(__file__).parents[2] / "recipes" / "recipe" / "care_mi" / "sample"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first") / "build"
    assert main([*WORDS, f"run.dir={folder}"]) == 0
    return folder


@pytest.fixture
def diff(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Callable[..., Any]:
    """Build with further words, compare with the first build, and give what `--json` prints of items.

    What the words leave as it is comes from the first build, unless it is to be built `anew`.
    """
    monkeypatch.chdir(tmp_path)

    def run(*words: str, base: Path = first, anew: bool = False) -> Any:
        if not anew:
            shutil.copytree(base, "second")
        chosen = {word.partition("=")[0] for word in words}
        others = [word for word in WORDS if word.partition("=")[0] not in chosen]
        assert main([*others, *words, "run.dir=second"]) == 0
        capsys.readouterr()
        assert main(["diff", str(base), "second", "--json"]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        return found

    return run


def test_two_builds_by_the_same_words_do_not_differ(diff: Callable[..., Any], capsys: Any):
    found = diff(anew=True)
    assert not found["changes"]
    assert found["same"] > 100
    assert not found["recipe"]


def test_a_line_that_is_gone_is_a_matter_of_data(diff: Callable[..., Any], tmp_path: Path):
    shutil.copytree(SAMPLE / "medqa", tmp_path / "medqa")
    file = tmp_path / "medqa" / "dev.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    gone = json.loads(lines[0])["question"]
    file.write_text("".join(lines[1:]), encoding="utf-8")
    found = diff("paths.medqa=medqa")
    assert {(one["sort"], one["cause"], one["step"]) for one in found["changes"]} == {("removed", "data", "medqa")}
    assert all(one["text"][:4] in gone or one["text"][:4] in lines[0] for one in found["changes"])
    assert [key["key"] for key in found["recipe"]] == ["paths.medqa", "sources.medqa.path"]


@pytest.mark.full
def test_a_changed_setting_is_a_rule_and_names_the_step_and_the_reason(diff: Callable[..., Any]):
    found = diff("steps.state_choice.max_length=20")
    (cause,) = {(one["sort"], one["cause"], one["step"]) for one in found["changes"]}
    assert cause == ("removed", "rule", "state_choice")
    assert all("dropped there: too_long" in one["detail"] for one in found["changes"])
    assert all("max_length: 40 -> 20" in one["detail"] for one in found["changes"])


def test_fewer_paragraphs_change_items_and_say_which_field(diff: Callable[..., Any]):
    found = diff("retriever.top_k=1")
    assert {(one["sort"], one["cause"], one["step"]) for one in found["changes"]} == {("changed", "rule", "evidence")}
    assert all(one["fields"] == ["evidence"] for one in found["changes"])
    assert all("retriever.top_k: 3 -> 1" in one["detail"] for one in found["changes"])
    assert all(one["left"] != one["right"] for one in found["changes"])


def test_votes_and_thresholds_are_told_apart(
    diff: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, once: Once
):
    people = ["annotation=sheets", "source=[bios,cpubmed,medqa,mlecqa,textbook,encyclopaedia]"]
    words = [WORDS[0], WORDS[-1], *people]
    shutil.copytree(once.after(BUILT) / "builds" / "care_mi", "voted")
    assert main([*words, "run.dir=voted"]) == 0
    found = diff(*people, "annotation.min_evidence=5", base=tmp_path / "voted")
    assert {(one["sort"], one["cause"]) for one in found["changes"]} == {("removed", "threshold")}
    assert all("too_little_evidence" in one["detail"] for one in found["changes"])

    shutil.copytree(SAMPLE / "votes", tmp_path / "votes")
    sheets = {path: path.read_text(encoding="utf-8") for path in (tmp_path / "votes").glob("*.csv")}
    changed = next(path for path, text in sheets.items() if path.name == "a.csv")
    rows = sheets[changed].splitlines(keepends=True)
    changed.write_text("".join(rows), encoding="utf-8")
    shutil.rmtree("second")
    found = diff(*people[1:], base=tmp_path / "voted")
    assert {one["cause"] for one in found["changes"]} == {"votes"}, "people were asked in one of the two"


def test_a_prompt_and_a_model_are_causes_of_their_own(diff: Callable[..., Any], tmp_path: Path, first: Path):
    with writing(tmp_path) as server:
        model = ["model@steps.ask_oe_choice.model=openai", "steps.ask_oe_choice.model.name=fake",
                 f"steps.ask_oe_choice.model.base_url={server.base_url}", "budget.tokens=1000000",
                 "steps.ask_oe_choice.strategy=model"]  # fmt: skip
        assert main([*WORDS, *model, "run.dir=asked"]) == 0
        found = diff(*model, base=first)
        assert {(one["cause"], one["step"]) for one in found["changes"]} == {("model", "ask_oe_choice")}
        for folder in ("prompts", "recipes"):
            (tmp_path / folder).mkdir()
        (tmp_path / "prompts" / "own.j2").write_text("请就下面的句子提问：{{ statement }}", encoding="utf-8")
        shutil.rmtree("second")
        found = diff(*model, "steps.ask_oe_choice.prompt=own.j2", base=tmp_path / "asked")
    assert {(one["sort"], one["cause"]) for one in found["changes"]} == {("removed", "prompt")}


def test_recipes_are_compared_key_by_key(capsys: Any):
    assert main(["diff", "care_mi", "recipe=care_mi variant=reference"]) == 0
    told = capsys.readouterr().out
    assert "~ variant: null -> reference" in told
    assert "~ annotation.questions.wrong_is_wrong: {order: 6," in told
    assert main(["diff", "care_mi", "care_mi"]) == 0
    assert capsys.readouterr().out.strip() == "0 keys of the recipes differ"


@pytest.mark.push
def test_what_cannot_be_compared_says_why(first: Path, tmp_path: Path, capsys: Any):
    assert main(["diff", str(first), "care_mi"]) == 2
    assert "a build can be compared with a build" in capsys.readouterr().err
    (tmp_path / "waits").mkdir()
    (tmp_path / "waits" / "recipe.yaml").write_text("items: items\n", encoding="utf-8")
    assert main(["diff", str(first), str(tmp_path / "waits")]) == 3
    assert "waits/store/steps is missing" in capsys.readouterr().err
    (tmp_path / "waits" / "store" / "steps").mkdir(parents=True)
    assert main(["diff", str(first), str(tmp_path / "waits")]) == 3
    assert "has no items yet" in capsys.readouterr().err


def test_items_of_earlier_words_are_not_those_of_a_build_that_waits(first: Path, tmp_path: Path, capsys: Any):
    other = tmp_path / "other"
    shutil.copytree(first, other)
    assert main([*WORDS[:2], "seed=7", f"run.dir={other}"]) == 75
    capsys.readouterr()
    assert main(["diff", str(first), str(other)]) == 3
    assert "has no items yet" in capsys.readouterr().err


@pytest.mark.push
@pytest.mark.parametrize("text", ["- a list", "a: [", "tasks: {ce: 1}", "name: x"])
def test_a_file_that_is_no_recipe_of_a_build(first: Path, tmp_path: Path, capsys: Any, text: str):
    (tmp_path / "recipe.yaml").write_text(text, encoding="utf-8")
    assert main(["diff", str(first), str(tmp_path)]) == 3
    assert "it is not the recipe of a build" in capsys.readouterr().err


def test_a_copy_is_compared_with_its_original_also_by_the_text_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "copy", "--from", "clinic_zu", "--source", "mine:multiple_choice"]) == 0
    recipe = tmp_path / "recipes/recipe/copy.yaml"
    said = {"path": "copy.csv", "options": "[o]", "correct_as_of": '"2025-01-01"'}
    lists = ("intended_use", "not_for", "limitations")
    recipe.write_text(
        re.sub(
            r"(\w+): \?\?\?",
            lambda found: f"{found[1]}: {said.get(found[1], '[x]' if found[1] in lists else 'x')}",
            recipe.read_text("utf-8"),
        ),
        "utf-8",
    )
    with (tmp_path / "recipes/recipe/copy/words.txt").open("a", encoding="utf-8") as words:
        words.write("one more\n")
    capsys.readouterr()
    assert main(["diff", "copy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (told,) = [line for line in lines if "copy/words.txt (" in line]
    assert told.startswith("  ~ steps.choices_on_topic.words: ")
    assert len([line for line in lines if line.startswith("  - sources.")]) == 2  # a line a source, not a line a key
    assert main(["diff", "clinic_zu"]) == 2
    assert "this recipe is not a copy" in capsys.readouterr().err
