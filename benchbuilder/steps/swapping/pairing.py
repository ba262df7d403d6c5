"""Makes pairs of facts: the scarcest first, then exchanges that make room for facts that are left."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

import numpy as np


class Pairing:
    """Pairs of rows that `allowed` (a symmetric matrix) lets exchange their answers, none twice.

    Rows come in the order in which ties are decided. No two pairs make the same statement: `concepts` and `answers`
    number the ends of the rows; `relatedness` is that of concepts. `popularity` has, for each side, a number a row: a
    partner that is as popular on one side as the row is preferred among equally related ones, since then how popular
    the two ends of a statement are together does not tell its truth. `mate` has the partner of each row, or -1.
    """

    def __init__(
        self, allowed: Any, concepts: Any, answers: Any, relatedness: Any, partner: Literal["far", "any", "near"],
        popularity: tuple[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        self._allowed = allowed
        self._concepts, self._answers = concepts, answers
        self.degrees = allowed.sum(axis=1)
        self.mate = np.full(len(allowed), -1)
        self._with_concept, self._with_answer = _rows_by_number(concepts), _rows_by_number(answers)
        self._made_of, self._made_with = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
        self._distance = _distances(relatedness, partner)
        self._popularity = popularity
        for row in np.argsort(self.degrees, kind="stable").tolist():
            if self.mate[row] < 0 and (other := self._best(row, self._free(row))) is not None:
                self._join(row, other)
        while self._exchange_all():
            pass

    def first_choice(self, row: int) -> int | None:
        """The partner that a row would have if nothing barred it; ``None`` if the row is alone."""
        others = np.ones(len(self.mate), bool)
        others[row] = False
        allowed = self._allowed[row]
        return self._best(row, allowed if allowed.any() else others)

    def _best(self, row: int, candidates: Any) -> int | None:
        """The preferred one among candidates: by distance and popularity, then the scarcer one, then the first."""
        places = np.flatnonzero(candidates)
        if not len(places):
            return None
        order = self._distances(row, places) * (len(self.mate) + 1) + self.degrees[places]
        return int(places[np.argmin(order)])

    def _distances(self, row: int, places: Any) -> Any:
        distances = self._distance[self._concepts[row], self._concepts[places]].astype(np.int64)
        if self._popularity is None:
            return distances
        first, second = (side[row] != side[places] for side in self._popularity)
        return 2 * distances + (first & second)

    def _free(self, row: int) -> Any:
        """The partners that a row may have now: no pair would make a statement that another one makes."""
        free = self._allowed[row] & (self.mate < 0)
        for answer in self._made_of[self._concepts[row]]:
            free[self._with_answer[answer]] = False
        for concept in self._made_with[self._answers[row]]:
            free[self._with_concept[concept]] = False
        return free

    def _repeats(self, row: int, other: int) -> bool:
        """Whether the pair would make a statement that another pair makes."""
        return (
            self._answers[other] in self._made_of[self._concepts[row]]
            or self._answers[row] in self._made_of[self._concepts[other]]
        )

    def _join(self, row: int, other: int) -> None:
        self.mate[row], self.mate[other] = other, row
        self._mark(row, other, made=True)

    def _part(self, row: int, other: int) -> None:
        self.mate[row] = self.mate[other] = -1
        self._mark(row, other, made=False)

    def _mark(self, row: int, other: int, *, made: bool) -> None:
        for one, two in ((row, other), (other, row)):
            concept, answer = int(self._concepts[one]), int(self._answers[two])
            for numbers, number in ((self._made_of[concept], answer), (self._made_with[answer], concept)):
                (numbers.add if made else numbers.discard)(number)

    def _exchange_all(self) -> bool:
        """Give pairs of left rows a partner each, by parting a pair; False if no pair can be parted so."""
        alone = self.mate < 0
        waiting = self._allowed[:, alone].sum(axis=1)  # how many left rows each row could have
        changed = False
        for row in np.flatnonzero(alone & (self.degrees > 0)).tolist():
            if self.mate[row] >= 0:
                continue
            found = self._exchange(row, waiting)
            if found is not None:
                waiting -= self._allowed[:, row].astype(waiting.dtype) + self._allowed[:, found]
                changed = True
        return changed

    def _exchange(self, row: int, waiting: Any) -> int | None:
        """Part one pair so that `row` and another left row have partners; the other row, or ``None``."""
        places = np.flatnonzero(self._allowed[row] & (self.mate >= 0))
        mates = self.mate[places]
        places = places[waiting[mates] > self._allowed[mates, row]]
        for other in places[np.argsort(self._distances(row, places), kind="stable")].tolist():
            mate = int(self.mate[other])
            self._part(other, mate)
            if not self._repeats(row, other):
                self._join(row, other)
                candidates = self._free(mate)
                if (third := self._best(mate, candidates)) is not None:
                    self._join(mate, third)
                    return third
                self._part(row, other)
            self._join(other, mate)
        return None


def _rows_by_number(numbers: Any) -> list[Any]:
    """For each number, the rows that have it."""
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])


def _distances(relatedness: Any, partner: str) -> Any:
    """Relatedness as something that preferred partners have little of."""
    if partner == "any":
        return np.zeros_like(relatedness)
    return relatedness if partner == "far" else relatedness.max(initial=0) - relatedness
