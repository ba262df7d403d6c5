"""Types into a real shell, as a user does, and reads what stands on its line."""

from __future__ import annotations

import array
import fcntl
import os
import pty
import re
import select
import subprocess
import termios
import time
from pathlib import Path

from patience import patience, until

STARTS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
READY = {"bash": "", "zsh": "autoload -Uz compinit; compinit -u -d $HOME/.zcompdump; setopt nonomatch\n", "fish": ""}


class TypedShell:
    """A shell in a terminal of its own, into which the script of completion was read."""

    def __init__(self, shell: str, script: Path, folder: Path, env: dict[str, str]) -> None:
        self._terminal, self._inner = pty.openpty()
        self._count = 0
        settings = {**env, "HOME": str(folder), "TERM": "dumb", "COLUMNS": "300", "PROMPT": "> "}
        command = ["setsid", "--ctty", *STARTS[shell]]
        self._process = subprocess.Popen(command, stdin=self._inner, stdout=self._inner, stderr=self._inner,
                                         cwd=folder, env=settings)  # fmt: skip
        self.type(READY[shell] + f"source {script}\n")
        self._wait_for_answer(self._ask_line(""))

    def complete(self, text: str) -> str:
        """The line after `text` and the Tab key; ``TAB`` in `text` is the key too."""
        return self._wait_for_answer(self._ask_line(text.replace("TAB", "\t") + "\t" if text else ""))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._terminal, text.encode())

    def close(self) -> None:
        """End the shell."""
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)
        os.close(self._inner)

    def _ask_line(self, keys: str) -> str:
        """Press keys, and have the shell print its line: Ctrl-A goes to its begin."""
        self._count += 1
        mark = f"line{self._count}"
        for part in re.split("(\t)", keys):
            self.type(part)
            if part == "\t":
                until(self._has_read_all)
        self.type(f"\x01printf '<%s>' li''{mark[2:]} \x05 ':end'\n")
        return mark

    def _has_read_all(self) -> bool:
        """Whether the shell has read every key: completing takes the ones that follow for its own otherwise."""
        waiting = array.array("i", [0])
        fcntl.ioctl(self._inner, termios.FIONREAD, waiting)
        return waiting[0] == 0

    def _wait_for_answer(self, mark: str) -> str:
        text, last = "", time.monotonic() + patience()
        while time.monotonic() < last:
            if select.select([self._terminal], [], [], 0.2)[0]:
                text += os.read(self._terminal, 65536).decode(errors="replace")
            if found := re.search(rf"<{mark}>(.*?)<:end>", text, re.DOTALL):
                return " ".join(re.findall("<(.*?)>", found[1]))
        raise AssertionError(f"the shell printed no line: {text!r}")
