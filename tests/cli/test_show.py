"""``benchbuild show``: what was set and where, in few lines; a part in full; the places of a wording."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchbuilder.cli.completed_words import complete_words
from benchbuilder.cli.dispatch import main

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"(?P<text>.*?) *  # (?P<place>command line|\S+\.yaml:\d+(?: \(\$\{.+\}\))?)")
BUNDLED = [
    "care_mi",
    "claims_en",
    "clinic_zu",
    "exam_any",
    "guideline_en",
    "guideline_zh",
    "law_zh",
    "medicine_en",
    "reading_en",
]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> str:
        code = main(["show", *words])
        said = capsys.readouterr()
        assert code == (2 if said.err else 0)
        return said.out + said.err

    return run


def places(text: str) -> dict[str, str]:
    """The place of each line of a summary, by its text without blanks."""
    found = [LINE.fullmatch(line) for line in text.split("\n\n", maxsplit=1)[0].splitlines()]
    assert all(found), text
    return {match["text"].strip(): match["place"] for match in found if match is not None}


@pytest.mark.push
@pytest.mark.parametrize("recipe", BUNDLED)
def test_a_recipe_is_told_in_at_most_150_lines_each_with_its_place(
    monkeypatch: pytest.MonkeyPatch, shown: Any, recipe: str
) -> None:
    monkeypatch.chdir(ROOT)
    text = shown(f"recipe={recipe}")
    assert len(text.splitlines()) <= 150
    for place in places(text).values():
        if place != "command line":
            file, line = place.partition(" ")[0].split(":")
            assert len(Path(file).read_text(encoding="utf-8").splitlines()) >= int(line)


def test_what_the_recipe_the_command_line_and_the_options_set_is_told_apart(garden: Any, shown: Any) -> None:
    told = places(shown("recipe=garden", "variant=strict", "retriever.top_k=2", "annotation=none"))
    assert told["flow=claims"] == "recipes/recipe/garden.yaml:4"
    assert told["annotation=none"] == told["variant: strict"] == told["top_k: 2"] == "command line"
    assert told["paths.plants: garden/plants.tsv"] == "recipes/recipe/garden.yaml:13"
    assert told["min_chars: 9"] == "recipes/variant/garden/strict.yaml:4"
    assert told["endings: [., !]"] == "recipes/recipe/garden.yaml:22"
    assert any(text.startswith("steps.state: state from on_topic") for text in told)
    assert not any("timeout_s" in text for text in told), "nobody set it"


def test_what_is_taken_out_and_what_a_recipe_starts_from_is_told(garden: Any, shown: Any) -> None:
    told = places(shown("recipe=balcony", "steps.pair=null"))
    assert told["steps.pair: null"] == "command line"
    assert told["balcony starts from garden"] == "recipes/recipe/balcony.yaml:3"
    assert told["source=[plants, quiz]"] == "recipes/recipe/balcony.yaml:4"
    told = places(shown("recipe=garden", "~steps.pair", "retriever.top_k=4", "retriever.top_k=5"))
    assert told["steps.pair: null"] == told["top_k: 5"] == "command line"
    assert not any(text.endswith("top_k: 4") for text in told)


def test_long_values_are_cut_with_their_count(garden: Any, shown: Any) -> None:
    endings = "[" + ",".join(f"ending{number}" for number in range(40)) + "]"
    text = shown("recipe=garden", f"steps.state.endings={endings}", f"card.summary={'long_' * 40}")
    assert re.search(r"endings: \[ending0, ending1, .+ \.\.\. \(40 values\) +# command line", text)
    assert re.search(r"card\.summary: long_long_.+ \.\.\. \(200 characters\) +# command line", text)
    assert max(map(len, text.split("\n\n", maxsplit=1)[0].splitlines())) < 160


def test_a_part_is_shown_in_full_with_its_place(garden: Any, shown: Any) -> None:
    text = shown("steps.state.endings", "retriever.top_k", "recipe=garden", "retriever.top_k=2")
    assert yaml.safe_load(text) == {"steps": {"state": {"endings": [".", "!"]}}, "retriever": {"top_k": 2}}
    assert re.search(r"top_k: 2 +# command line: retriever\.top_k=2\n", text)
    assert "timeout_s: 60.0" in (whole := shown("steps.state.", "recipe=garden"))
    assert shown("steps.state", "recipe=garden") == whole, "as completion leaves it"
    assert shown("steps.state.endings[0]", "recipe=garden") == shown("steps.state.endings=", "recipe=garden")
    plain = shown("run", "steps.state", "--plain", "recipe=garden")
    assert "run: the shown recipe leaves this out" in plain, "it does not change the output"
    assert "#" not in shown("steps.state", "--plain", "recipe=garden")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["state", "recipe=garden"], "did you mean 'steps.state'?"),
        (["steps.stat", "recipe=garden"], "did you mean 'steps.state'"),
        (["seed.x", "recipe=garden"], "did you mean 'seed'"),
        (["zzzzzz", "recipe=garden"], "`benchbuild show` without a part names the parts"),
        (["", "recipe=garden"], "the recipe has no such part"),
        (["steps.pair", "recipe=garden", "steps.pair=null"], "steps.pair: the shown recipe leaves this out"),
        (["seed", "--all", "recipe=garden"], "this asks for a part and for the whole recipe"),
        (["seed", "--find", "oak", "recipe=garden"], "this asks for a part and for the whole recipe"),
        (["steps.state"], "benchbuild show steps.state recipe=balcony"),
        (["zzzzzz"], "no recipe was named"),
        (["--find", "nowhere", "recipe=garden"], "no setting has this text"),
    ],
)
def test_what_cannot_be_shown_names_what_can(garden: Any, shown: Any, words: list[str], message: str) -> None:
    assert message in shown(*words)


def test_a_part_that_only_one_recipe_has_needs_no_recipe(garden: Any, shown: Any) -> None:
    (garden.folder / "recipes/recipe/balcony.yaml").unlink()
    assert shown("steps.state") == shown("steps.state", "recipe=garden")


def test_a_wording_is_found_at_one_place_and_in_the_files_of_steps(garden: Any, shown: Any) -> None:
    assert shown("--find", "garden/plants", "recipe=garden").splitlines() == [
        f"{'paths.plants: garden/plants.tsv':<72}  # recipes/recipe/garden.yaml:13"
    ]
    assert "{{ head }} {{ relation }} {{ tail }}." in (text := shown("--find", "relation }}", "recipe=garden"))
    assert text.endswith("# prompts/en/state.j2:1\n")
    (line,) = shown("--find", "3", "recipe=garden", "retriever.top_k=3").splitlines()
    assert line.startswith("retriever.top_k: 3 ")


def test_the_wording_of_the_true_false_question_stands_where_show_says(
    monkeypatch: pytest.MonkeyPatch, shown: Any
) -> None:
    monkeypatch.chdir(ROOT)
    (line,) = [
        line
        for line in shown("steps.ask_tf_choice.forms", "recipe=care_mi").splitlines()
        if "- form: '{statement}吗？'" in line
    ]
    file, number = line.rpartition("# ")[2].split(":")
    assert "form: '{statement}吗？'" in Path(file).read_text(encoding="utf-8").splitlines()[int(number) - 1]


def test_a_message_proposes_a_part_that_is_there(garden: Any, shown: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for override in ("steps.state.endings.x=3", "~steps.state.endings.0", "steps.state.endings.9=3"):
        assert main(["check", "recipe=garden", override]) == 2
        proposed = re.search(r"`benchbuild show (.+)`", capsys.readouterr().err)
        assert proposed is not None
        assert yaml.safe_load(shown(*proposed[1].split())) == {"steps": {"state": {"endings": [".", "!"]}}}


def test_what_completion_offers_is_a_part(garden: Any, shown: Any) -> None:
    for word in complete_words(["show", "recipe=garden", "steps.state."]):
        part = yaml.safe_load(shown(word, "recipe=garden"))
        assert list(part["steps"]["state"]) == [word.rstrip(".=").rpartition(".")[2]]
