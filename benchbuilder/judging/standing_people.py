"""How each annotator works: how much, how fast, and how often right on tasks whose answers are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchbuilder.judging.shown import wording_key
from benchbuilder.ports.votes import Subject, Task, Value
from benchbuilder.spec.judging import GuidingQuestion
from benchbuilder.spec.review import ProjectSpec


@dataclass(frozen=True)
class Gold:
    """How many judgements on gold tasks were `right`, of those `judged`."""

    right: int = 0
    judged: int = 0

    @property
    def share(self) -> float | None:
        """The share of 1 that was right; ``None`` if nothing was judged."""
        return self.right / self.judged if self.judged else None


@dataclass(frozen=True)
class Pace:
    """Seconds that `tasks` finished tasks took: the median, the 10th and the 90th percentile (``None`` without any).

    `hasty` counts those that took less than the recipe's least time; `per_hour` is tasks in an hour of work.
    """

    tasks: int
    median: float | None
    tenth: float | None
    ninetieth: float | None
    hasty: int
    per_hour: float | None


def gold_accuracy(
    spec: ProjectSpec, tasks: Iterable[Task], votes: Mapping[Subject, Mapping[str, Value]]
) -> dict[str, Gold]:
    """By person, how the `votes` on gold tasks compare with what is expected.

    Questions about claims with a known answer count, unless they are texts. A scalar is right within the question's
    tolerance.
    """
    questions = {
        name: (wording_key(question), question)
        for name, question in spec.asked("claim").items()
        if question.answer != "text"
    }
    right: dict[str, list[bool]] = {}
    for task in tasks:
        for name, expected in task.expected:
            if name not in questions:
                continue
            wording, question = questions[name]
            for person, value in votes.get(Subject(task.key, wording), {}).items():
                right.setdefault(person, []).append(is_right(question, value, expected))
    return {person: Gold(sum(found), len(found)) for person, found in sorted(right.items())}


def is_right(question: GuidingQuestion, value: Value, expected: Value) -> bool:
    """Whether `value` is the `expected` answer, or close enough to it if it is a scalar.

    >>> scalar = GuidingQuestion(order=1, subject="claim", label="a", text="b", answer="scalar", tolerance=0.1)
    >>> is_right(scalar, 0.6, 0.7), is_right(scalar, 0.5, 0.7)
    (True, False)
    """
    if isinstance(value, str) or isinstance(expected, str):
        return value == expected
    return abs(value - expected) <= (question.tolerance if question.answer == "scalar" else 0) + 1e-9


def pace(seconds: Sequence[float], least: int | None) -> Pace:
    """How long tasks take; `least` is the recipe's least time in seconds, if it has one."""
    hasty = sum(taken < least for taken in seconds) if least is not None else 0
    if not seconds:
        return Pace(0, None, None, None, hasty, None)
    tenth, median, ninetieth = (float(value) for value in np.percentile(seconds, (10, 50, 90)))
    total = sum(seconds)
    return Pace(len(seconds), median, tenth, ninetieth, hasty, len(seconds) * 3600 / total if total else None)
