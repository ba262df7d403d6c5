"""Gives gold tasks the shape of the others, so that annotators cannot recognise them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from benchbuilder.annotation.base import ShownParagraph, Task
from benchbuilder.annotation.tasks import paragraph_key


class TaskShape:
    """What `tasks` have in common: which fields are empty, how many paragraphs they show, and of which kind."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._counts = sorted(len(task.paragraphs) for task in tasks)
        self._pool = {paragraph.text: paragraph for task in tasks for paragraph in task.paragraphs}
        self._titled = bool(self._pool) and all(paragraph.title for paragraph in self._pool.values())
        self._filled = {name for task in tasks for name, text in task.fields if text}
        self._always = self._filled.intersection(*({name for name, text in task.fields if text} for task in tasks))

    def fit(self, task: Task) -> Task:
        """`task` with as many paragraphs as another task has: paragraphs of other tasks are mixed in.

        Raises:
            ValueError: it cannot look like the others.
        """
        if not self._counts:
            return task
        filled = {name for name, text in task.fields if text}
        if odd := sorted((self._always - filled) | (filled - self._filled)):
            raise ValueError(f"fields: all other tasks differ in {', '.join(odd)}; annotators would recognise it")
        if len(task.paragraphs) > self._counts[-1]:
            raise ValueError(
                f"paragraphs: it has {len(task.paragraphs)}, other tasks at most {self._counts[-1]}; "
                "annotators would recognise it"
            )
        if self._titled and not all(paragraph.title for paragraph in task.paragraphs):
            raise ValueError("paragraphs: those of all other tasks have a title; annotators would recognise it")
        possible = [count for count in self._counts if count >= len(task.paragraphs)]
        wanted = possible[int(_draw(task.key, "number"), 16) % len(possible)]
        return replace(task, paragraphs=self._mixed(task, wanted))

    def _mixed(self, task: Task, wanted: int) -> tuple[ShownParagraph, ...]:
        """The paragraphs of `task`, then others by hash: the best stand first, as in every task.

        Another paragraph in the pool changes few tasks.
        """
        own = {paragraph.text for paragraph in task.paragraphs}
        spare = sorted((text for text in self._pool if text not in own), key=lambda text: _draw(task.key, text))
        added = (
            replace(self._pool[text], key=paragraph_key(task.key, text))
            for text in spare[: wanted - len(task.paragraphs)]
        )
        return *task.paragraphs, *added


def _draw(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
