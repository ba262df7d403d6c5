"""Shows the progress of the functions of the API: in a notebook, or to a function of the caller."""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.pipeline import Watcher

_SECONDS = 0.2
"""The least time between two changes of what a notebook shows."""


@dataclass(frozen=True)
class ProgressEvent:
    """Something that happened in a step.

    Attributes:
        sort: ``begin`` and ``end`` of a step, ``advance`` within it, or a ``note``.
        step: The name of the step; empty for a note.
        done: The number of rows or units that are done.
        total: Their number in all, if it is known.
        unit: What is counted.
        text: The note, or what became of the step.
    """

    sort: Literal["begin", "advance", "end", "note"]
    step: str = ""
    done: int = 0
    total: int | None = None
    unit: str = ""
    text: str = ""


Progress = Callable[[ProgressEvent], None] | bool | None
"""A function that gets each event; ``True`` or ``False`` to show it or not; ``None`` shows it in notebooks only."""


class EventProgress:
    """Gives each event to a function."""

    def __init__(self, receive: Callable[[ProgressEvent], None]) -> None:
        self._receive = receive
        self._steps: dict[str, tuple[int, int | None, str]] = {}

    def begin(self, step: str, total: int | None, unit: str) -> None:
        """Begin to count the rows of a step."""
        self._steps[step] = (0, total, unit)
        self._receive(ProgressEvent("begin", step, 0, total, unit))

    def advance(self, step: str, count: int) -> None:
        """Count more rows of a step."""
        done, total, unit = self._steps.get(step, (0, None, ""))
        self._steps[step] = (done + count, total, unit)
        self._receive(ProgressEvent("advance", step, done + count, total, unit))

    def end(self, step: str, summary: str) -> None:
        """Say what became of a step."""
        done, total, unit = self._steps.pop(step, (0, None, ""))
        self._receive(ProgressEvent("end", step, done, total, unit, summary))

    def note(self, text: str) -> None:
        """Pass on a note."""
        self._receive(ProgressEvent("note", text=text))


class NotebookProgress:
    """Shows one output in a notebook, changed in place: a line for each finished step, and the running step last.

    It needs IPython alone, which every notebook has.
    """

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None
        self._lines: list[str] = []
        self._shown = 0.0

    def __call__(self, event: ProgressEvent) -> None:
        """Show an event; a step that advances is shown again at most five times a second."""
        now = time.monotonic()
        if event.sort == "advance" and now - self._shown < _SECONDS:
            return
        self._shown = now
        count = f"{event.done} of {event.total}" if event.total is not None else str(event.done)
        running = f"{event.step:<20} {count} {event.unit} ..."
        if event.sort == "end":
            self._lines.append(f"{event.step:<20} {event.text}")
        elif event.sort == "note":
            self._lines.append(f"{'':<20} {event.text}")
        self._show([*self._lines, running] if event.sort in ("begin", "advance") else self._lines)

    def _show(self, lines: list[str]) -> None:
        text = "\n".join(lines)
        bundle = {"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"}
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def watcher_of(progress: Progress) -> Watcher:
    """The watcher that `progress` asks for. ``True`` outside a notebook writes lines to standard error."""
    if callable(progress):
        return EventProgress(progress)
    if progress is not False and (display := _notebook_display()) is not None:
        return EventProgress(NotebookProgress(display))
    if progress:
        from rich.console import Console

        from benchbuilder.pipeline import LineProgress

        return LineProgress(Console(file=sys.stderr, width=200))
    return EventProgress(_ignore)


def _ignore(event: ProgressEvent) -> None:
    """Show nothing."""


def _notebook_display() -> Callable[..., Any] | None:
    """How a running notebook displays something; ``None`` elsewhere, a terminal with IPython included."""
    if "IPython" not in sys.modules:
        return None
    shell: Any = importlib.import_module("IPython").get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display: Callable[..., Any] = importlib.import_module("IPython.display").display
    return display
