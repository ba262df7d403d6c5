"""Which candidates are dropped: contradictions, equal questions, and what is left of their families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from benchbuilder.core import answers_after, combined_column, take_rows
from benchbuilder.steps.families.candidates import Groups, KnownCandidates, Mask, Numbers

REASONS = ("", "contradiction", "duplicate", "family_incomplete")
_KEPT, _CONTRADICTION, _DUPLICATE, _INCOMPLETE = range(4)
_WINDOW = 16_384


class FamilyDrops:
    """For each candidate the number of the reason why it is dropped (0: it is not), and the other that it names."""

    def __init__(self, known: KnownCandidates, same: Groups, alike: Iterable[Groups]) -> None:
        self.reasons = np.zeros(len(known), np.int8)
        self.others = np.full(len(known), -1, np.int64)
        self._known, self._same, self._alike = known, same, alike
        self._answers = known.yes.astype(np.int64)
        for places in self._open_groups():
            self._compare_answers(places)

    def drop_contradictions(self) -> None:
        """Drop all candidates of which an equal one has another answer."""
        for places, others in map(self._contradicting, self._alike):
            new = self.reasons[places] == _KEPT
            self.reasons[places[new]] = _CONTRADICTION
            self.others[places[new]] = others[new]

    def count_contradictions(self) -> int:
        """How many candidates contradict another one."""
        found = np.zeros(len(self.reasons), bool)
        for groups in self._alike:
            found[self._contradicting(groups)[0]] = True
        return int(found.sum())

    def drop_duplicates(self) -> None:
        """Keep the first of equal questions; true/false questions are kept or dropped by family, in their order."""
        keys = np.full(len(self.reasons), -1, np.int64)
        keys[self._same.places] = self._same.owners()
        keys[self._same.places] = keys[self._same.places] * (len(keys) + 2) + self._answers[self._same.places]
        self._drop_equal_open(keys)
        kept: dict[int, int] = {}
        for places in self._touched_families(keys):
            self._keep_first(places.tolist(), keys[places].tolist(), kept)

    def _open_groups(self) -> Iterator[list[Numbers]]:
        """The groups of open questions, some at a time."""
        some, size = list[Numbers](), 0
        for places in self._same:
            if not self._known.tf[places[0]]:
                some.append(places)
                size += len(places)
            if size >= _WINDOW:
                yield some
                some, size = [], 0
        if some:
            yield some

    def _compare_answers(self, groups: list[Numbers]) -> None:
        """The number, within its group, of what each open question must agree in."""
        places = np.concatenate(groups)
        rows = take_rows(self._known.table.arrow.select(["context", "question", "answer"]), places)
        self._known.table.release()
        columns = (combined_column(rows, name).to_pylist() for name in ("context", "question", "answer"))
        texts: dict[int, tuple[str, str, str]] = dict(zip(places.tolist(), zip(*columns, strict=True), strict=True))
        for group in groups:
            numbers: dict[str, int] = {}
            by_question: dict[bytes, list[int]] = {}
            for place in group.tolist():
                by_question.setdefault(self._known.questions[place].tobytes(), []).append(place)
            for equal in by_question.values():
                context, question, _ = texts[equal[0]]
                statements = [texts[place][0] + texts[place][2] for place in equal]
                for place, answer in zip(equal, answers_after(context + question, statements), strict=True):
                    self._answers[place] = numbers.setdefault(answer, len(numbers))

    def _contradicting(self, groups: Groups) -> tuple[Numbers, Numbers]:
        """The positions of contradictions, each with the first of its group that has another answer."""
        places, owners, answers = groups.places, groups.owners(), self._answers[groups.places]
        first = groups.starts[:-1]
        differs = answers != answers[first][owners]
        found, at = np.unique(owners[differs], return_index=True)
        rival = np.full(len(groups), -1, np.int64)
        rival[found] = places[differs][at]
        others = np.where(differs, places[first][owners], rival[owners])
        return places[others >= 0], others[others >= 0]

    def _drop_equal_open(self, keys: Numbers) -> None:
        """Drop open questions that are equal to an earlier one."""
        places = np.flatnonzero((keys >= 0) & ~self._known.tf & (self.reasons == _KEPT))
        _, first, back = np.unique(keys[places], return_index=True, return_inverse=True)
        earlier = places[first[back.reshape(-1)]]
        again = earlier != places
        self.reasons[places[again]] = _DUPLICATE
        self.others[places[again]] = earlier[again]

    def _touched_families(self, keys: Numbers) -> Iterator[Numbers]:
        """The true/false questions of each former family that may lose one; families in the order of their first."""
        former, tf = self._known.former.numbers, self._known.tf
        touched = np.zeros(len(self._known.former), bool)
        touched[former[tf & ((keys >= 0) | (self.reasons != _KEPT))]] = True
        places = np.flatnonzero(tf & touched[former])
        _, first, back = np.unique(former[places], return_index=True, return_inverse=True)
        yield from Groups.of(first[back.reshape(-1)], places, least=1)

    def _keep_first(self, places: list[int], keys: list[int], kept: dict[int, int]) -> None:
        """Drop what a family has that an earlier one has too, and then the rest of it."""
        lost = next((place for place in places if self.reasons[place]), None)
        own: dict[int, int] = {}
        for place, key in zip(places, keys, strict=True):
            if key < 0 or self.reasons[place]:
                continue
            if key in kept:
                self._drop(place, _DUPLICATE, kept[key])
                lost = place if lost is None else lost
            elif own.setdefault(key, place) != place:
                self._drop(place, _DUPLICATE, own[key])
        if lost is None:
            kept |= own
            return
        for place in places:
            self._drop(place, _INCOMPLETE, lost)

    def _drop(self, place: int, reason: int, other: int) -> None:
        """Drop a candidate, unless it is dropped already."""
        if not self.reasons[place]:
            self.reasons[place], self.others[place] = reason, other

    def details(self, places: Numbers) -> list[str]:
        """What each of these dropped candidates names."""
        names = ["id", "expected", "answer"]
        arrow = self._known.table.arrow.select(names)
        sides = [take_rows(arrow, side).to_pylist() for side in (places, self.others[places])]
        return [
            f"{_right(own)} / {_right(other)} ({other['id']})" if contradicts else str(other["id"])
            for own, other, contradicts in zip(*sides, self.reasons[places] == _CONTRADICTION, strict=True)
        ]

    def dropped(self, places: Numbers) -> Mask:
        """Which of these candidates are dropped."""
        return self.reasons[places] != _KEPT


def _right(row: dict[str, Any]) -> str:
    return f"{row['expected']}: {row['answer']}" if row["expected"] else row["answer"]
