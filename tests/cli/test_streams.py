"""Closed streams, and terminals that cannot show every character, stop no command."""

from __future__ import annotations

import subprocess
import sys

COMMAND = "import sys; from benchbuilder.cli.dispatch import main; sys.argv[1:] = ['--version']; main(); "


def test_closed_streams_become_the_null_device() -> None:
    check = COMMAND + "import os; file = os.open(os.devnull, 0); sys.exit(file if file > 2 else 1)"
    ended = subprocess.run(["sh", "-c", '"$0" -c "$1" <&- >&- 2>&-', sys.executable, check], check=False)
    assert ended.returncode > 2  # the number of the next file


def test_what_a_terminal_cannot_show_is_escaped() -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-c", COMMAND + "print('\\u4e2d')"]
    ended = subprocess.run(words, env=ascii_only, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("\\u4e2d\n")
