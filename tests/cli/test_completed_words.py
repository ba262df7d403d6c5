"""What a shell is offered at Tab, and how little is done for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shells import TypedShell

from benchbuilder.cli.completed_words import complete_words
from benchbuilder.cli.dispatch import main

HEAVY = {"hydra", "omegaconf", "pydantic", "pyarrow", "numpy", "rich", "jinja2"}
QUIET = """
import sys
from benchbuilder.cli.dispatch import main
main(["completion", "--words", "recipe=care_mi", "steps.state_choice.max_"])
sys.stderr.write(" ".join(sys.modules))
"""


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("ev", ["evaluate"]),
        ("reci", ["recipe="]),
        ("release --des", ["--despite"]),
        ("evaluate --expected ", ["yes", "no"]),
        ("evaluate --expected y", ["yes"]),
        ("judge train --ag", ["--again"]),
        ("judge sco", ["score", "scorecard."]),
        ("judge train sco", ["scorecard."]),
        ("check recipe=care_", ["recipe=care_mi"]),
        ("peek recipe=care_mi negate_c", ["negate_choice"]),
        ("peek stem -n 2 recipe=care_mi stem", []),
        ("recipe=care_mi --refresh stem", ["stem"]),
        ("recipe=care_mi variant=ref", ["variant=reference"]),
        ("recipe=care_mi annotation=she", ["annotation=sheets"] + [f"annotation=sheets_{name}" for name in (
            "de", "de_labels", "en", "en_labels", "es", "es_labels", "fr", "fr_labels", "pt", "pt_labels", "zh_labels",
            "zh_law", "zu")]),
        ("recipe=care_mi source=[medqa,textb", ["source=[medqa,textbook"]),
        ("recipe=care_mi 'source=[medqa,textb", ["'source=[medqa,textbook"]),
        ("recipe=care_mi source=[textbook,textb", []),
        ("recipe=care_mi retriever.to", ["retriever.top_k=", "retriever.tokenizer."]),
        ("recipe=care_mi +retriever.top", ["+retriever.top_k="]),
        ("recipe=care_mi steps.state_choice.max_l", ["steps.state_choice.max_length="]),
        ("recipe=care_mi audit.gate=b", ["audit.gate=build"]),
        ("recipe=care_mi model@steps.ask_tf", ["model@steps.ask_tf_choice.model="]),
        ("recipe=care_mi model@steps.ask_tf_choice.model=op", ["model@steps.ask_tf_choice.model=openai"]),
        ("export recipe=care_mi to=lm_eval,ins", ["to=lm_eval,inspect"]),
        ("new mine --from care_", ["care_mi"]),
        ("publish rec", []),
        ("help re", ["review", "results", "release"]),
        ("help al", ["all"]),
        ("--recipes no/such/folder recipe=", []),
    ],
)  # fmt: skip
def test_the_last_word_is_completed(line: str, offered: list[str]) -> None:
    assert sorted(complete_words(line.split(" "))) == sorted(offered)


def test_a_recipe_in_the_current_folder_is_offered_with_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "recipes" / "recipe"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("# @package _global_\ndefaults: [care_mi]\nown: {key: 1}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert complete_words(["recipe=min"]) == ["recipe=mine"]
    assert complete_words(["recipe=mine", "own."]) == ["own.key="]
    assert complete_words(["recipe=mine", "sources.bio"]) == ["sources.bios."]


def test_completion_imports_next_to_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["steps.state_choice.max_length=", "steps.state_choice.max_model_length=",
                                   "steps.state_choice.max_glue=", "steps.state_choice.max_edits="]  # fmt: skip
    assert not HEAVY & set(done.stderr.split())


@pytest.mark.push
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_real_shell_completes_its_line(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "answers.jsonl").touch()
    assert main(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out, encoding="utf-8")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    typed = TypedShell(shell, tmp_path / "script", tmp_path, {"PATH": path})
    try:
        assert typed.complete("benchbuild evaluTAB --expec") == "benchbuild evaluate --expected"
        assert typed.complete("benchbuild release --des") == "benchbuild release --despite"
        assert typed.complete("benchbuild recipe=care_TAB variant=ref") == "benchbuild recipe=care_mi variant=reference"
        assert typed.complete("benchbuild recipe=care_mi retriever.top") == "benchbuild recipe=care_mi retriever.top_k="
        assert typed.complete("benchbuild score-private answ") == "benchbuild score-private answers.jsonl"
        assert typed.complete("benchbuild paths.answers=answ") == "benchbuild paths.answers=answers.jsonl"
    finally:
        typed.close()
