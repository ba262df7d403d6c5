"""Answers that say the same in another order of words: a wrong one may be a paraphrase of the right one."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import LengthUnit, Option, Regex, Table, comparison_key, has_match, rouge_l, split_words


class Rewording(Spec):
    """What makes a wrong option a rewording of the answer: it shares most of it, and much of that in another order.

    Shares are taken of both texts together. A wrong option that differs in one place has the rest in the same order.
    """

    shared: Annotated[float, Field(gt=0, le=1)]
    """The lowest share of characters (or words) that both have, in any order."""
    moved: Annotated[float, Field(gt=0, le=1)]
    """The lowest share that both have only in another order."""
    least: Annotated[int, Field(ge=2)]
    """The shortest texts that are compared, in characters or words."""
    same: tuple[Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=2)], ...] = ()
    """Groups of words that say the same. Two texts that have the same characters once these are one are rewordings."""
    unless: tuple[Regex, ...] = ()
    """Patterns of statements and options in which the order is what differs: sequences, numbers, formulae."""

    def fits(self, option: str, answer: str, statement: str, unit: LengthUnit, ignore: str) -> bool:
        """Whether `option` is a rewording of `answer` in the true `statement`."""
        if any(has_match(pattern, text) for pattern in self.unless for text in (statement, option)):
            return False
        left, right = (_pieces(text, unit, ignore) for text in (option, answer))
        if min(len(left), len(right)) < self.least:
            return False
        plain = [self._with_one_word(text) for text in (option, answer)]
        if plain != [option, answer] and len({tuple(sorted(_pieces(text, unit, ignore))) for text in plain}) == 1:
            return True
        shared = 2 * sum((Counter(left) & Counter(right)).values()) / (len(left) + len(right))
        return shared >= self.shared and shared - rouge_l(left, right) >= self.moved

    def _with_one_word(self, text: str) -> str:
        """`text` with the first word of each group of `same` for the others."""
        for first, *others in self.same:
            for other in others:
                text = text.replace(other, first)
        return text


class NearAnswer(Spec):
    """A wrong option that may be a paraphrase: part by part, it says nearly what the answer says.

    Another option is taken first. Where there is none, it is taken, and the statement's rule ends in ``_near``.
    """

    between: Annotated[str, Field(min_length=1)]
    """The marks between the parts of an answer."""
    longest: Annotated[int, Field(ge=1)]
    """The length of the longest parts that may differ, in characters."""
    opposites: tuple[Annotated[str, Field(min_length=2, max_length=2)], ...] = ()
    """Pairs of characters; two parts with one of each are plainly different."""

    def fits(self, option: str, answer: str) -> bool:
        """Whether both have several parts, as many, and those that differ are short and share a character."""
        left, right = (_parts(text, self.between) for text in (option, answer))
        if len(left) != len(right) or len(left) < 2:
            return False
        unlike = [pair for pair in zip(left, right, strict=True) if pair[0] != pair[1]]
        return all(max(map(len, pair)) <= self.longest and self._is_near(*pair) for pair in unlike)

    def _is_near(self, one: str, other: str) -> bool:
        opposed = any((a in one and b in other) or (b in one and a in other) for a, b in self.opposites)
        return not opposed and not set(one).isdisjoint(other)


def _parts(text: str, between: str) -> list[str]:
    for mark in between[1:]:
        text = text.replace(mark, between[0])
    return [part for part in text.split(between[0]) if part]


def _pieces(text: str, unit: LengthUnit, ignore: str) -> list[str]:
    return split_words(text, ignore) if unit == "words" else list(comparison_key(text, ignore))


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
