"""Commands inside the sentences of the documentation, and those of `--help`, take the arguments that they show.

Command blocks run (test_commands.py), and so do the examples of each help (tests/cli/test_build_commands.py).
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest
from doc_blocks import ROOT, pages

from benchbuilder.cli.command_line import command_parser
from benchbuilder.cli.commands import COMMANDS, FORMER

_INLINE = re.compile(r"(?<!`)`benchbuild ([^`]+)`(?!`)")
_PART = re.compile(r"are required|expected (?:one|at least one) argument|invalid int value: 'N'")
"""What the program says of a command that is only named, or shown without the value of an option."""
_OPEN = ("…", "...", "COMMAND", "[", "{", "|", "$")
"""What stands for something else in a command."""


def commands(text: str) -> Iterator[str]:
    """The whole commands in the sentences of a page, without those that show only a part."""
    prose = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
    found = (" ".join(match[1].split()) for match in _INLINE.finditer(prose))
    yield from (command for command in found if not any(sign in command for sign in _OPEN))


def parse(command: str) -> None:
    """Read a command as the program does; SystemExit if it has other arguments."""
    words = shlex.split(command, comments=True)
    if words == ["--version"]:
        return
    name, rest = (words[0], words[1:]) if words[0] in COMMANDS else ("build", words)
    assert words[0] in COMMANDS or "=" in words[0] or words[0].startswith("-") or words[0] in FORMER, command
    command_parser(name, COMMANDS[name]).parse_intermixed_args(rest, argparse.Namespace())


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_command_inside_a_sentence_can_be_given_as_printed(page, capsys) -> None:
    wrong: list[str] = []
    for command in commands(page.read_text(encoding="utf-8")):
        try:
            parse(command)
        except SystemExit as stop:
            said = capsys.readouterr().err.splitlines()[-1] if stop.code else ""
            if said and not _PART.search(said):
                wrong.append(f"{command}: {said}")
    assert wrong == []


def test_the_readme_has_such_commands_and_a_wrong_one_is_seen() -> None:
    assert len(list(commands((ROOT / "README.md").read_text(encoding="utf-8")))) >= 4
    with pytest.raises(SystemExit):
        parse("new mine --data a.csv --no-such-option")
