"""Weights of wrong options: drawn by them, wrong answers have the letters and the length ranks that right ones have."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Option, Table

_ROUNDS = 100
_LEAST, _MOST = 0.02, 50.0
"""Bounds of a weight: where right answers are never the shortest, a wrong one still may be."""
_STEP = 0.4
"""Weights are rounded to powers of e to this: one question more or less then changes no other draw."""
_FEW = 50
"""Below this number of questions, a partition has no weights of its own: shares of so few are chance."""

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Marks:
    """The letter and the length rank of the options of one question, which is right, and which may be drawn."""

    letters: tuple[str, ...]
    ranks: tuple[int, ...]
    right: int
    usable: tuple[bool, ...]


class OptionWeights:
    """How likely each wrong option is drawn, by partition.

    Authors of examinations make the right option longer than the others, and avoid some letters. A wrong option drawn
    evenly would then be shorter than the right one more often than not, and the verdict could be guessed. The weights
    are fitted so that the drawn wrong options of a partition have the letters and length ranks of its right options, as
    far as its questions allow. `usable` says of an option and the right answer whether the option can be drawn.
    """

    def __init__(self, facts: Table[Any], usable: Callable[[str, str], bool] = lambda option, answer: True) -> None:  # noqa: ARG005
        self._usable = usable
        by_partition: dict[str, list[_Marks]] = defaultdict(list)
        for batch in facts.batches(["partition", "payload.options", "payload.answer_key"]):
            for row in batch.to_pylist():
                options = row["payload"]["options"]
                marks = self._marks_of([Option(**option) for option in options], row["payload"]["answer_key"])
                if marks is not None:
                    by_partition[row["partition"]].append(marks)
        self._fitted = {name: _fit(rows) for name, rows in by_partition.items() if len(rows) >= _FEW}

    def in_random_order(self, partition: str, options: Sequence[Option], right: str, seed: str) -> list[Option]:
        """The wrong options in the order in which they are tried: drawn without putting any back."""
        marks = self._marks_of(options, right)
        letters, ranks = self._fitted.get(partition, ({}, {}))
        drawn: list[tuple[float, Option]] = []
        for place, option in enumerate(options):
            if option.key == right:
                continue
            weight = 1.0
            if marks is not None:
                weight = letters.get(marks.letters[place], 1.0) * ranks.get(marks.ranks[place], 1.0)
            chance = random.Random(f"{seed}:{option.key}").random()
            drawn.append((chance ** (1 / weight), option))
        return [option for _, option in sorted(drawn, key=lambda pair: (-pair[0], pair[1].key))]

    def _marks_of(self, options: Sequence[Option], right: str) -> _Marks | None:
        keys = [option.key for option in options]
        if right not in keys:
            return None
        sizes = sorted((len(option.text) for option in options), reverse=True)
        ranks = tuple(sizes.index(len(option.text)) for option in options)
        answer = options[keys.index(right)].text
        usable = tuple(option.key != right and self._usable(option.text, answer) for option in options)
        return _Marks(tuple(keys), ranks, keys.index(right), usable)


def _fit(rows: Sequence[_Marks]) -> tuple[Mapping[str, float], Mapping[int, float]]:
    """The weight of each letter and of each length rank, by iterative proportional fitting."""
    letters = sorted({letter for row in rows for letter in row.letters})
    width, depth = max(len(row.letters) for row in rows), 1 + max(rank for row in rows for rank in row.ranks)
    letter = np.zeros((len(rows), width), np.int64)
    rank = np.zeros((len(rows), width), np.int64)
    wrong = np.zeros((len(rows), width))
    goals = np.zeros(len(letters)), np.zeros(depth)
    for number, row in enumerate(rows):
        if not any(row.usable):
            continue
        for place, (name, position) in enumerate(zip(row.letters, row.ranks, strict=True)):
            letter[number, place], rank[number, place] = letters.index(name), position
            wrong[number, place] = row.usable[place]
        goals[0][letter[number, row.right]] += 1
        goals[1][rank[number, row.right]] += 1
    weights = np.ones(len(letters)), np.ones(depth)
    for _ in range(_ROUNDS):
        for margin, codes, goal in zip(weights, (letter, rank), goals, strict=True):
            chance = wrong * weights[0][letter] * weights[1][rank]
            chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1e-12)
            drawn = np.bincount(codes.ravel(), chance.ravel(), minlength=len(margin))
            ratio = np.divide(goal, drawn, out=np.ones_like(goal), where=drawn > 0)
            np.clip(margin * ratio, _LEAST, _MOST, out=margin)
    rounded = [np.exp(np.round(np.log(margin) / _STEP) * _STEP) for margin in weights]
    return (
        {name: float(rounded[0][place]) for place, name in enumerate(letters)},
        {place: float(weight) for place, weight in enumerate(rounded[1])},
    )
