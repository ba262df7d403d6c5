"""The console that commands print to."""

from __future__ import annotations

from typing import Any

from rich.console import Console


class Terminal(Console):
    """A console that passes a closed pipe (``| head``) on as BrokenPipeError, and remembers its `lines`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.lines: list[str] = []

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as every console does."""
        self.lines += [f"{text}\n" for text in objects if isinstance(text, str)]
        super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles the error."""
        raise BrokenPipeError


def print_line(console: Console, text: str = "", style: str = "") -> None:
    """Print `text` as it is, without markup or wrapping; control characters are made visible."""
    from benchbuilder.core import printable_text  # here, because listings print tables only and start faster

    console.print(printable_text(text), style=style or None, highlight=False, markup=False, soft_wrap=True)
