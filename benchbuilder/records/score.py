"""Scores: how good an answer is in one respect."""

from __future__ import annotations

from typing import ClassVar

from benchbuilder.records.envelope import Frozen, Row


class Rating(Frozen):
    """What one person said of an answer, from 0 to 1."""

    rater: str
    value: float


class Score(Row):
    """The score of one answer, which is its driving parent, in one `aspect`, by one `scorer`.

    `value` lies between 0 and 1, or is ``None`` where no value can be given; `label` says what the scorer saw (the
    verdict parser: ``right``, ``wrong``, ``invalid``), `detail` by what. `ratings` holds each person's value where the
    score is their mean. `counts` is what a metric sums where an answer can be right in part: how many things are both
    given and wanted, how many are given, how many are wanted.
    """

    name: ClassVar[str] = "score"
    identity: ClassVar[tuple[str, ...]] = ("scorer", "aspect")

    item: str
    model: str
    scorer: str
    aspect: str
    value: float | None
    label: str = ""
    detail: str = ""
    ratings: tuple[Rating, ...] = ()
    counts: tuple[int, ...] = ()
