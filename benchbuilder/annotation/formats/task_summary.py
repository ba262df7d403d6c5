"""Sums up tasks in one pass: what an export says of all of them before it writes the first one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from benchbuilder.annotation.base import Task


class TaskSummary:
    """The names of fields and of metadata in their order, and how many tasks are gold or have metadata."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.fields, self.about = dict[str, None](), dict[str, None]()
        self.gold = self.with_about = 0
        self.partly_empty = set[str]()
        self._tasks_by_length = Counter[int]()
        for task in tasks:
            self.fields |= dict.fromkeys(name for name, _ in task.fields)
            self.partly_empty |= {name for name, text in task.fields if not text.strip()}
            self.about |= dict.fromkeys(name for name, _ in task.about)
            self.gold += bool(task.expected)
            self.with_about += bool(task.about)
            self._tasks_by_length[len(task.paragraphs)] += 1

    @property
    def most_paragraphs(self) -> int:
        """The number of paragraphs of the task with the most."""
        return max(self._tasks_by_length, default=0)

    @property
    def fewest_paragraphs(self) -> int:
        """The number of paragraphs of the task with the fewest."""
        return min(self._tasks_by_length, default=0)

    def shorter_than(self, paragraphs: int) -> int:
        """How many tasks have fewer than so many paragraphs."""
        return sum(count for length, count in self._tasks_by_length.items() if length < paragraphs)
