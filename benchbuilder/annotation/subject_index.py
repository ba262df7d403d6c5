"""Finds the task that shows a text, and what is asked about the text."""

from __future__ import annotations

from collections.abc import Iterable

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.config import AnnotationSpec


class SubjectIndex:
    """The number of the task that shows a text, by the key of the text, and the guiding questions about it.

    It holds keys, not tasks: `judgement_requests` of many tasks would need several times the memory.
    """

    def __init__(self, tasks: Iterable[Task], spec: AnnotationSpec) -> None:
        self._slots: dict[str, int] = {}
        for number, task in enumerate(tasks):
            self._slots.setdefault(task.key, 2 * number)
            for paragraph in task.paragraphs:
                self._slots.setdefault(paragraph.key, 2 * number + 1)
        self._asked = [
            {wording_key(question): name for name, question in spec.questions_about(kind).items()}
            for kind in ("claim", "evidence")
        ]

    def task_number(self, key: str) -> int | None:
        """The number of the first task that shows the text with the key `key`, as a whole or as a paragraph."""
        slot = self._slots.get(key)
        return None if slot is None else slot // 2

    def question(self, subject: Subject) -> str | None:
        """The guiding question about `subject`; ``None`` if it is not asked."""
        slot = self._slots.get(subject.key)
        return None if slot is None else self._asked[slot % 2].get(subject.wording)
