"""The console that commands print to."""

from __future__ import annotations

from rich.console import Console


class Terminal(Console):
    """A console that passes a closed pipe (``| head``) on as BrokenPipeError."""

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles the error."""
        raise BrokenPipeError


def print_line(console: Console, text: str = "", style: str = "") -> None:
    """Print `text` as it is, without markup or wrapping; control characters are made visible."""
    from benchbuilder.core import printable_text  # here, because listings print tables only and start faster

    console.print(printable_text(text), style=style or None, highlight=False, markup=False, soft_wrap=True)
