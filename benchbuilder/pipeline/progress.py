"""Shows the progress of a build."""

from __future__ import annotations

from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn


class Watcher(Protocol):
    """Follows a build."""

    def begin(self, step: str, total: int | None, unit: str) -> None:
        """Step `step` begins; `total` is its number of rows or units, if known."""

    def advance(self, step: str, count: int) -> None:
        """`count` more rows or units are done."""

    def end(self, step: str, summary: str) -> None:
        """The step is built, reused or waiting, as `summary` says in a line."""

    def note(self, text: str) -> None:
        """Something that a user may want to know while a step runs."""


class LineProgress:
    """Writes plain lines, for logs and pipes: one when a step ends, unless `notes_only`, and one for each note."""

    def __init__(self, console: Console, *, notes_only: bool = False) -> None:
        self._console = console
        self._notes_only = notes_only

    def begin(self, step: str, total: int | None, unit: str) -> None:
        """Write nothing before the end."""

    def advance(self, step: str, count: int) -> None:
        """Write nothing before the end."""

    def end(self, step: str, summary: str) -> None:
        """Write one line per step."""
        if not self._notes_only:
            self._console.print(f"{step:<20} {summary}", highlight=False, soft_wrap=True, markup=False)

    def note(self, text: str) -> None:
        """Write an indented line."""
        self._console.print(f"{'':<20} {text}", highlight=False, soft_wrap=True, markup=False)


class BarProgress:
    """Shows a bar for the running step, for terminals; other lines appear above it as `LineProgress` writes them."""

    def __init__(self, console: Console, *, notes_only: bool = False) -> None:
        self._progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"), TimeElapsedColumn(), console=console, transient=True,
        )  # fmt: skip
        self._tasks: dict[str, TaskID] = {}
        self._lines = LineProgress(self._progress.console, notes_only=notes_only)

    def __enter__(self) -> BarProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, step: str, total: int | None, unit: str) -> None:
        """Show a bar."""
        self._tasks[step] = self._progress.add_task(step, total=total, unit=unit)

    def advance(self, step: str, count: int) -> None:
        """Move the bar."""
        if step in self._tasks:
            self._progress.advance(self._tasks[step], count)

    def end(self, step: str, summary: str) -> None:
        """Replace the bar with a line."""
        if step in self._tasks:
            self._progress.remove_task(self._tasks.pop(step))
        self._lines.end(step, summary)

    def note(self, text: str) -> None:
        """Write a line above the bars."""
        self._lines.note(text)
