"""The values that a decoder may give as a score, as tokens that follow a prompt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchbuilder.core import DataError

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TokenFork:
    """A place where values part: after the tokens `before`, what may follow."""

    before: Tokens
    choices: Tokens


class ScoreGrid:
    """Values with their texts as tokens, each closed by the token `end`.

    `forks` are the places where the texts part, and `paths` the token sequences to read after a prompt so that every
    fork has been passed: mostly one, as ``0.`` is for 0.0, 0.1, ..., 1.0.
    """

    def __init__(self, texts: Sequence[str], tokens: Sequence[Sequence[int]], end: int) -> None:
        """DataError if two values have the same tokens."""
        self.values = tuple(map(float, texts))
        self.tokens: tuple[Tokens, ...] = tuple((*one, end) for one in tokens)
        if len(set(self.tokens)) < len(self.tokens):
            raise DataError(
                "the tokenizer does not tell all values of the grid apart", why=f"grid: {', '.join(texts)}",
                next="write the values otherwise, or use another model",
            )  # fmt: skip
        following: dict[Tokens, set[int]] = {}
        for one in self.tokens:
            for at, token in enumerate(one):
                following.setdefault(one[:at], set()).add(token)
        forks = [TokenFork(before, tuple(sorted(nexts))) for before, nexts in following.items() if len(nexts) > 1]
        self.forks = tuple(sorted(forks, key=lambda fork: (len(fork.before), fork.before)))
        befores = [fork.before for fork in self.forks]
        self.paths = tuple(
            one for one in befores if not any(other != one and other[: len(one)] == one for other in befores)
        )

    @property
    def longest(self) -> int:
        """Tokens of the longest value, its end included."""
        return max(map(len, self.tokens))

    def tokens_of(self, value: float) -> Tokens:
        """The tokens of a value of the grid."""
        return self.tokens[self.values.index(value)]

    def sample_near(self, target: float, chance: Random) -> float:
        """One of the two values around `target`, the nearer one the likelier: on average `target`."""
        above = bisect_right(self.values, target)
        if above == 0:
            return self.values[0]
        low = self.values[above - 1]
        if above == len(self.values) or low == target:
            return low
        high = self.values[above]
        return high if chance.random() < (target - low) / (high - low) else low

    def expected(self, logs: dict[tuple[Tokens, int], float]) -> float:
        """The mean of the values, weighted by e to the power of the sum of `logs` at the forks that lead to each.

        `logs` holds for each fork and choice the log-probability of the choice among the choices of the fork.
        """
        from math import exp

        total = weight = 0.0
        for value, tokens in zip(self.values, self.tokens, strict=True):
            share = exp(sum(logs.get((tokens[:at], token), 0.0) for at, token in enumerate(tokens)))
            total, weight = total + share * value, weight + share
        return total / weight
