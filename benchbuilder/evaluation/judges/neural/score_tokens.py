"""The scores that a decoder can write, as tokens that follow a prompt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from random import Random

from benchbuilder.core import DataError

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TokenFork:
    """A place where the values differ: the tokens `before` it, and the tokens that may follow."""

    before: Tokens
    choices: Tokens


class ScoreGrid:
    """Values with their texts as tokens, each followed by the token `end`.

    `forks` are the places where the texts differ. `paths` are the token sequences to read after a prompt to pass every
    fork. Mostly it is one, such as ``0.`` for 0.0, 0.1, ..., 1.0. The `texts` ascend, and `tokens` are those of each.

    Raises:
        DataError: If two values have the same tokens.
    """

    def __init__(self, texts: Sequence[str], tokens: Sequence[Sequence[int]], end: int) -> None:
        self.values = tuple(map(float, texts))
        self.tokens: tuple[Tokens, ...] = tuple((*value, end) for value in tokens)
        if len(set(self.tokens)) < len(self.tokens):
            raise DataError(
                "two values of the grid have the same tokens",
                why=f"grid: {', '.join(texts)}",
                next="write the values in another way, or use another model",
            )
        following: dict[Tokens, set[int]] = {}
        for value in self.tokens:
            for index, token in enumerate(value):
                following.setdefault(value[:index], set()).add(token)
        forks = [TokenFork(before, tuple(sorted(nexts))) for before, nexts in following.items() if len(nexts) > 1]
        self.forks = tuple(sorted(forks, key=lambda fork: (len(fork.before), fork.before)))
        befores = [fork.before for fork in self.forks]
        self.paths = tuple(
            path for path in befores if not any(other != path and other[: len(path)] == path for other in befores)
        )

    @property
    def longest(self) -> int:
        """The number of tokens of the longest value, including its end."""
        return max(map(len, self.tokens))

    def tokens_of(self, value: float) -> Tokens:
        """The tokens of a value of the grid."""
        return self.tokens[self.values.index(value)]

    def sample_near(self, target: float, chance: Random) -> float:
        """One of the two values around `target`, drawn so that they average to `target`."""
        above = bisect_right(self.values, target)
        if above == 0:
            return self.values[0]
        low = self.values[above - 1]
        if above == len(self.values) or low == target:
            return low
        high = self.values[above]
        return high if chance.random() < (target - low) / (high - low) else low

    def expected(self, logs: dict[tuple[Tokens, int], float]) -> float:
        """The mean of the values, weighted by the probability that the model writes each.

        `logs` holds the log-probability of each choice among the choices of its fork.
        """
        total = weight = 0.0
        for value, tokens in zip(self.values, self.tokens, strict=True):
            probability = exp(sum(logs.get((tokens[:index], token), 0.0) for index, token in enumerate(tokens)))
            total, weight = total + probability * value, weight + probability
        return total / weight
