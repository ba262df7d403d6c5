"""Candidates: items before experts have judged them."""

from __future__ import annotations

from typing import ClassVar, Literal

from benchbuilder.records.envelope import Row


class Candidate(Row):
    """A question with its right and its wrong answer; its id does not depend on evidence."""

    name: ClassVar[str] = "candidate"
    identity: ClassVar[tuple[str, ...]] = ("type", "expected", "context", "question", "answer", "answer_wrong")

    type: Literal["tf", "oe"]
    expected: Literal["yes", "no", ""] = ""
    context: str = ""
    question: str
    answer: str
    answer_wrong: str
    fact: str
    checks: tuple[str, ...] = ()
