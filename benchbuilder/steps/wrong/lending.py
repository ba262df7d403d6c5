"""Which question lends its answer to which, as a wrong one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.fuzz import ratio
from rapidfuzz.process import cdist

from benchbuilder.core import Dropped
from benchbuilder.steps.wrong.known import AnsweredRow, KnownAnswers
from benchbuilder.steps.wrong.shapes import same_length_class
from benchbuilder.steps.wrong.spec import RowLoan

_BLOCK = 2_000
"""The most questions that are compared with each other at a time."""
_TRIED = 40
"""The most lenders, nearest first, that are looked at for each of the nearest that may lend."""


@dataclass(frozen=True, slots=True)
class Loan:
    """The answer of another question; `lender` is the id of its row."""

    answer: str
    lender: str


class Lending:
    """Lends answers between questions of one type whose answers have one shape.

    Large groups are cut into blocks at random, by the seed. In a block, questions with the fewest lenders choose first;
    each takes its nearest lender whose answer is still free. The order of the rows makes no difference.
    """

    def __init__(self, rules: RowLoan, known: KnownAnswers, seed: int) -> None:
        self._rules, self._known, self._seed = rules, known, seed
        self._uses: dict[str, int] = {}

    def lend(self, borrowers: Sequence[AnsweredRow], lenders: Sequence[AnsweredRow]) -> dict[str, Loan | Dropped]:
        """For each borrower, by its id, what it is lent, or why it is lent nothing."""
        found: dict[str, Loan | Dropped] = {}
        for asking, lending in self._blocks(borrowers, lenders):
            nearest = zip(asking, _near(asking, lending), strict=True)
            choices = [self._choices(row, lending, near) for row, near in nearest]
            for place in sorted(range(len(asking)), key=lambda place: len(choices[place][0])):
                row, (free, reason) = asking[place], choices[place]
                chosen = next((lender for lender in free if self._is_free(lender)), None)
                if chosen is None:
                    found[row.id] = reason or Dropped("none_left", row.answer)
                else:
                    self._uses[chosen.answer_key] = self._uses.get(chosen.answer_key, 0) + 1
                    found[row.id] = Loan(chosen.answer, chosen.id)
        return found

    def _is_free(self, lender: AnsweredRow) -> bool:
        return self._uses.get(lender.answer_key, 0) < self._rules.uses

    def _blocks(
        self, borrowers: Sequence[AnsweredRow], lenders: Sequence[AnsweredRow]
    ) -> Iterator[tuple[list[AnsweredRow], list[AnsweredRow]]]:
        """Borrowers and lenders of each group, in random order, cut where the group is large."""
        groups: dict[object, tuple[list[AnsweredRow], list[AnsweredRow]]] = {}
        for side, rows in enumerate((borrowers, lenders)):
            for row in sorted(rows, key=self._drawn):
                groups.setdefault(self._group(row), ([], []))[side].append(row)
        for group in sorted(groups, key=repr):
            asking, lending = groups[group]
            count = max(1, -(-max(len(asking), len(lending)) // _BLOCK))
            for number in range(count):
                yield asking[number::count], lending[number::count]

    def _group(self, row: AnsweredRow) -> object:
        thing = row.thing
        if thing is None:
            raise TypeError(f"{row.id} asks for nothing that is known")
        return (thing.type, thing.head, row.shape)

    def _drawn(self, row: AnsweredRow) -> bytes:
        return hashlib.blake2b(f"{self._seed}:{row.id}".encode(), digest_size=16).digest()

    def _choices(
        self, row: AnsweredRow, lending: Sequence[AnsweredRow], near: Sequence[int]
    ) -> tuple[list[AnsweredRow], Dropped | None]:
        """The nearest rows that may lend, and what bars the nearest of all."""
        free: list[AnsweredRow] = []
        barred: Dropped | None = None
        answers = set[str]()
        for place in near[: _TRIED * self._rules.nearest]:
            other = lending[place]
            if other.id == row.id or other.answer_key in answers or not self._fits(row, other):
                continue
            answers.add(other.answer_key)
            reason = self._bar(row, other)
            if reason is None:
                free.append(other)
                if len(free) == self._rules.nearest:
                    break
            elif barred is None:
                barred = Dropped(reason, f"{other.answer} | {other.id}")
        return free, None if free else barred

    def _fits(self, row: AnsweredRow, other: AnsweredRow) -> bool:
        """Whether length and document of another row are such that it may lend."""
        return row.gold.isdisjoint(other.gold) and same_length_class(row.answer, other.answer)

    def _bar(self, row: AnsweredRow, other: AnsweredRow) -> str | None:
        """Why the answer of another row may be right, or give itself away; ``None`` if nothing says so."""
        if ratio(row.asked, other.asked) >= self._rules.max_question_similarity * 100:
            return "question_too_alike"
        if self._known.says(row, other.answer_key):
            return "known_answer"
        if any(answer in row.asked for answer in other.right):
            return "in_question"
        return "in_gold" if any(answer in row.evidence for answer in other.right) else None


def _near(asking: Sequence[AnsweredRow], lending: Sequence[AnsweredRow]) -> Iterator[list[int]]:
    """The places of the lenders, nearest first, for each borrower."""
    if not asking or not lending:
        yield from ([] for _ in asking)
        return
    alike = cdist([row.asked for row in asking], [row.asked for row in lending], scorer=ratio, dtype=np.uint8)
    for line in alike:
        yield np.argsort(-line.astype(np.int16), kind="stable").tolist()
