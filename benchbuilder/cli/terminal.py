"""The console that commands print to."""

from __future__ import annotations

from rich.console import Console


class Terminal(Console):
    """A console that leaves a closed pipe (``| head``) to whoever runs the command."""

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles the error."""
        raise BrokenPipeError
