"""Finds votes among many: which ones count, on which tasks they are, and the last one of a person on a subject."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.subject_index import SubjectIndex


class _Vote(Protocol):
    @property
    def code(self) -> str: ...
    @property
    def subject(self) -> Subject: ...
    @property
    def value(self) -> Value | None: ...


def vote_mark(code: str, subject: Subject) -> bytes:
    """A hash of a person and a subject, 16 bytes long."""
    text = "\0".join((code, subject.key, subject.wording))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class VoteIndex:
    """Votes by their places in chronological order; it holds some 30 bytes of each.

    `counts` says which votes count: of those of one person on one subject the last, unless it withdraws the one before.
    `first_of_person` has the place of the first vote of each person.
    """

    def __init__(self, votes: Iterable[_Vote], subjects: SubjectIndex) -> None:
        marks, tasks, flags = bytearray(), array("i"), bytearray()
        first: dict[str, int] = {}
        for place, vote in enumerate(votes):
            first.setdefault(vote.code, place)
            marks += vote_mark(vote.code, vote.subject)
            number = subjects.task_number(vote.subject.key)
            tasks.append(-1 if number is None else number)
            flags.append((vote.value is not None) + 2 * (subjects.question(vote.subject) is not None))
        self.first_of_person = list(first.values())
        halves: NDArray[np.uint64] = np.frombuffer(marks, np.uint64).reshape(-1, 2)
        self._order = np.lexsort((halves[:, 1], halves[:, 0]))
        self._high, self._low = (np.ascontiguousarray(half[self._order]) for half in halves.T)
        again = (self._high[1:] == self._high[:-1]) & (self._low[1:] == self._low[:-1])
        is_last = ~np.append(again, np.zeros(min(len(halves), 1), bool))
        self._tasks: NDArray[np.int32] = np.frombuffer(tasks, np.int32)
        given: Any = np.frombuffer(flags, np.uint8)
        self.counts = np.zeros(len(halves), bool)
        self.counts[self._order[is_last]] = True
        self.counts &= given % 2 == 1
        self._asked = given >= 2

    @property
    def counting(self) -> int:
        """How many votes count."""
        return int(self.counts.sum())

    @property
    def counting_asked(self) -> int:
        """How many votes count and are on what is asked now."""
        return int((self.counts & self._asked).sum())

    @property
    def unplaced(self) -> int:
        """How many votes are on texts that no task shows."""
        return int((self._tasks < 0).sum())

    @property
    def voted_tasks(self) -> int:
        """How many tasks have votes, whether these count or not."""
        return len(np.unique(self._tasks[self._tasks >= 0]))

    @cached_property
    def _by_task(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places of votes that count and are asked for, by task and then in order, and where each task begins."""
        places = np.flatnonzero(self.counts & self._asked)
        tasks = self._tasks[places]
        order = np.argsort(tasks, kind="stable")
        return places[order], np.searchsorted(tasks[order], np.arange(tasks.max(initial=-1) + 2))

    def places_on(self, task: int) -> list[int]:
        """The places of votes that count on what is asked about the task with the number `task`."""
        places, edges = self._by_task
        return places[edges[task] : edges[task + 1]].tolist() if task + 1 < len(edges) else []

    def last_place(self, code: str, subject: Subject) -> int | None:
        """The place of the last vote of a person on a subject."""
        high, low = np.frombuffer(vote_mark(code, subject), np.uint64)
        start, end = np.searchsorted(self._high, high, "left"), np.searchsorted(self._high, high, "right")
        found = np.flatnonzero(self._low[start:end] == low)
        return int(self._order[start + found[-1]]) if len(found) else None
