"""What the help shows, and how little it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchbuilder.annotation import CLAIMS_PROJECT
from benchbuilder.authoring import SKELETON_SLOTS
from benchbuilder.cli.command_line import command_parser
from benchbuilder.cli.commands import COMMANDS, FORMER, GROUPS, MAIN_ROAD
from benchbuilder.cli.completion import SCRIPTS
from benchbuilder.cli.dispatch import main
from benchbuilder.core import text_languages
from benchbuilder.publishing import DECISIONS, ERRATUM_KINDS


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_the_first_screen_has_the_main_road_in_its_order(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 23, "the prompt below it needs a line too"
    assert max(map(len, lines)) <= 80
    road = lines.index("The main road, in its order:") + 1
    assert [line.split()[0] for line in lines[road : road + len(MAIN_ROAD)]] == list(MAIN_ROAD)
    rest = [line.partition(":")[2].split() for line in lines if line.partition(":")[0].strip() in GROUPS]
    assert sorted([*MAIN_ROAD, *(name for names in rest for name in names)]) == sorted(COMMANDS)


@pytest.mark.parametrize("words", [["help", "all"], ["--help", "all"]])
def test_every_command_has_its_sentence(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert {f"  {name:<10} {command.help}" for name, command in COMMANDS.items()} <= set(lines)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_two_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert [example for example in COMMANDS[name].examples if f"  {example}\n" in told][1:]
    assert main(["help", name]) == 0
    assert capsys.readouterr().out == told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["help", "paln"], "hint:    did you mean 'plan'?"),
        (["chekc", "recipe=care_mi"], "hint:    did you mean 'check'?"),
        (
            ["frobnicate", "recipe=care_mi"],
            "hint:    did you mean recipe=frobnicate? `benchbuild --help` shows the main commands",
        ),
    ],
)
def test_a_word_that_is_no_command(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert says in capsys.readouterr().err


def test_the_help_of_a_former_command_is_that_of_the_one_it_became(capsys: pytest.CaptureFixture[str]) -> None:
    for former, name in FORMER.items():
        assert former not in COMMANDS
        assert main(["help", former]) == 0
        assert capsys.readouterr().out.startswith(f"usage: benchbuild {name} ")


def test_the_table_of_commands_has_the_words_of_the_rooms() -> None:
    """It imports nothing, so that help comes at once, and therefore repeats a few words."""
    declared = {
        (name, action.dest): action for name in COMMANDS for action in command_parser(name, COMMANDS[name])._actions
    }
    assert tuple(declared["errata", "kind"].choices or ()) == ERRATUM_KINDS
    assert ", ".join(DECISIONS) in str(declared["errata", "overrides"].help)
    assert tuple(declared["judge", "words"].choices or ()) == text_languages()
    assert declared["judge", "words"].default is None, "the language of the locale"
    assert declared["votes", "project"].default == CLAIMS_PROJECT
    assert str(declared["new", "kind"].help).endswith(", ".join(SKELETON_SLOTS))
    assert set(declared["completion", "shell"].choices or ()) == set(SCRIPTS)


HEAVY = ("torch", "transformers", "openai", "pyarrow", "jieba", "numpy", "opencc", "hydra", "pydantic", "rich", "yaml")


def imported_by(script: str, folder: Path) -> set[str]:
    """The modules that a process has imported when it has run a script with `main`."""
    code = f"import sys\nfrom benchbuilder.cli.dispatch import main\n{script}\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["--help"], ["ls"], ["--version"]])
def test_light_commands_import_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    assert not imported_by(f"main({words})", tmp_path) & ({*HEAVY} - {"pydantic", "rich", "yaml"})


def test_the_help_of_a_command_imports_nothing_that_the_command_works_with(tmp_path: Path) -> None:
    script = f"""
for name in {list(COMMANDS)}:
    try:
        main([name, "--help"])
    except SystemExit:
        pass
"""
    imported = imported_by(script, tmp_path)
    assert not imported & {*HEAVY}
    modules = {f"benchbuilder.cli.{command.module}" for command in COMMANDS.values()}
    assert imported & modules == {"benchbuilder.cli.help"}, "the first screen is in it"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["from=notes.md"], "did you mean --data notes.md?"),
        (["from=care_mi"], "did you mean --from care_mi?"),
        (["--langage=pt"], "did you mean '--language'?"),
        (["another"], "`benchbuild new --help` lists its arguments"),
    ],
)
def test_what_no_argument_takes_names_the_option_that_was_meant(
    given: list[str], meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["new", "name", *given]) == 2
    assert meant in capsys.readouterr().err
