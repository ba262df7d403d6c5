"""Evidence: a passage retrieved for a candidate."""

from __future__ import annotations

from typing import ClassVar

from benchbuilder.records.envelope import Row


class Evidence(Row):
    """A passage found for a candidate (`of`), with score and rank (from 1) within its knowledge base."""

    name: ClassVar[str] = "evidence"
    identity: ClassVar[tuple[str, ...]] = ("passage",)

    passage: str
    base: str
    document: str
    title: str = ""
    text: str
    score: float
    rank: int
