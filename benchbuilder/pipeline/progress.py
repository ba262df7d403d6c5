"""Shows the progress of a build."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

_BETWEEN_LINES_S = 60.0
"""Seconds between two lines about a step that takes long."""
ProgressLines = Literal["steps", "long", "notes"]
"""What is written in lines: every step, only steps that take long, or only notes."""


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


@dataclass
class StepPace:
    """How fast a step goes: `total` and `done` rows or units, and the `clock`, in seconds, at which it began."""

    total: int | None
    unit: str
    began: float
    done: int = 0
    told: float = 0.0
    """When a line was last written about it."""
    is_long: bool = False
    """Whether a line was written about it while it ran."""

    def text(self, now: float) -> str:
        """The part that is done, the rate, and the time that is left.

        >>> StepPace(total=100, unit="rows", began=0.0, done=20).text(40.0)
        '20 of 100 rows, 30 a minute, 2 min 40 s left'
        """
        seconds = now - self.began
        rate = self.done / seconds if seconds > 0 else 0.0
        many = f"{self.done:,} {self.unit}" if self.total is None else f"{self.done:,} of {self.total:,} {self.unit}"
        if not rate:
            return many
        pace = f"{rate:,.0f} a second" if rate >= 10 else f"{60 * rate:,.0f} a minute"
        left = "" if self.total is None else f", {duration_text(max(0, self.total - self.done) / rate)} left"
        return f"{many}, {pace}{left}"


def duration_text(seconds: float) -> str:
    """A duration for people, in its two largest units.

    >>> duration_text(8.4), duration_text(160), duration_text(7_500)
    ('8 s', '2 min 40 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class LineProgress:
    """Writes plain lines, for logs and pipes: one when a step ends, and one for each note.

    While a step takes long, a line a minute says how far it is and when it will end. `lines` says which are written.
    """

    def __init__(
        self, console: Console, *, lines: ProgressLines = "steps", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._clock, self._lines = console, clock, lines
        self._paces: dict[str, StepPace] = {}

    def begin(self, step: str, total: int | None, unit: str) -> None:
        """Start the clock of a step."""
        now = self._clock()
        self._paces[step] = StepPace(total, unit, now, told=now)

    def advance(self, step: str, count: int) -> None:
        """Write a line if the last one is a minute old."""
        pace = self._paces.get(step)
        if pace is None:
            return
        pace.done += count
        now = self._clock()
        if self._lines != "notes" and now - pace.told >= _BETWEEN_LINES_S:
            pace.told, pace.is_long = now, True
            self._write(step, pace.text(now))

    def end(self, step: str, summary: str) -> None:
        """Write one line per step, or per step that took long."""
        pace = self._paces.pop(step, None)
        if self._lines == "steps" or (self._lines == "long" and pace is not None and pace.is_long):
            self._write(step, summary)

    def note(self, text: str) -> None:
        """Write an indented line."""
        self._write("", text)

    def _write(self, step: str, text: str) -> None:
        self._console.print(f"{step:<20} {text}", highlight=False, soft_wrap=True, markup=False)


class BarProgress:
    """Shows a bar for the running step, for terminals; other lines appear above it as `LineProgress` writes them."""

    def __init__(self, console: Console, *, lines: ProgressLines = "steps") -> None:
        self._progress = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}"), TimeElapsedColumn(), TextColumn("{task.fields[left]}"), console=console,
            transient=True,
        )  # fmt: skip
        self._tasks: dict[str, TaskID] = {}
        self._paces: dict[str, StepPace] = {}
        self._lines = LineProgress(self._progress.console, lines=lines)

    def __enter__(self) -> BarProgress:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, step: str, total: int | None, unit: str) -> None:
        """Show a bar."""
        self._tasks[step] = self._progress.add_task(step, total=total, unit=unit, left="")
        self._paces[step] = StepPace(total, unit, time.monotonic())

    def advance(self, step: str, count: int) -> None:
        """Move the bar."""
        if step in self._tasks:
            pace = self._paces[step]
            pace.done += count
            self._progress.update(self._tasks[step], advance=count, left=pace.text(time.monotonic()).partition(", ")[2])

    def end(self, step: str, summary: str) -> None:
        """Replace the bar with a line."""
        if step in self._tasks:
            self._progress.remove_task(self._tasks.pop(step))
            del self._paces[step]
        self._lines.end(step, summary)

    def note(self, text: str) -> None:
        """Write a line above the bars."""
        self._lines.note(text)
