"""Dawid and Skene's model of voters: how often each confuses which answers, and how probable each answer then is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.weighted import Floats

LEAST_VOTERS, LEAST_SHARED = 5, 100
"""The model is shown with so many voters, or with so many units that two or more of them judged."""
_RIGHT, _WRONG = 4.0, 1.0
"""The prior, in votes: of each answer, a voter gave so many right ones, and so many of each wrong one."""
_EACH_ANSWER = 1.0
_ROUNDS, _ENOUGH = 200, 1e-7


@dataclass(frozen=True)
class VoterModel:
    """The fitted model.

    Attributes:
        probabilities: Units by answers: how probable each answer is, given all votes.
        shares: How frequent each answer is.
        confusion: Voters by true answers by given answers.
        voters: The names of the voters, in the order of `confusion`.
    """

    probabilities: Floats
    shares: Floats
    confusion: Floats
    voters: tuple[str, ...]

    def reliability(self) -> dict[str, float]:
        """How often each voter is right, if answers are as frequent as the model estimates."""
        right = np.einsum("k,vkk->v", self.shares, self.confusion)
        return dict(zip(self.voters, right.tolist(), strict=True))


def is_voter_model_shown(voters: int, shared: int) -> bool:
    """Whether there are voters or shared units enough to show the model."""
    return voters >= LEAST_VOTERS or shared >= LEAST_SHARED


def fit_voter_model(units: Sequence[Mapping[str, int]], answers: int) -> VoterModel:
    """Fit the model to the votes on each unit, as voter to answer (0 up to `answers`), by expectation-maximisation.

    It begins with the shares of votes. Priors keep a voter with few votes near the others, and the order of units and
    voters does not matter. The model assumes that voters err independently of each other.

    Raises:
        ValueError: A unit has no vote.
    """
    voters = tuple(sorted({voter for unit in units for voter in unit}))
    code = {voter: number for number, voter in enumerate(voters)}
    if not all(units):
        raise ValueError("the model needs a vote on every unit")
    unit, voter, given = _as_arrays(units, code)
    votes = np.zeros((len(units), answers))
    np.add.at(votes, (unit, given), 1.0)
    probabilities = votes / votes.sum(1, keepdims=True)
    prior = np.full((answers, answers), _WRONG) + np.eye(answers) * (_RIGHT - _WRONG)
    shares, confusion = np.zeros(answers), np.zeros((len(voters), answers, answers))
    for _ in range(_ROUNDS):
        shares = probabilities.sum(0) + _EACH_ANSWER
        shares = shares / shares.sum()
        confusion = np.broadcast_to(prior, confusion.shape).copy()
        np.add.at(confusion.transpose(0, 2, 1), (voter, given), probabilities[unit])
        confusion = confusion / confusion.sum(2, keepdims=True)
        log = np.tile(np.log(shares), (len(units), 1))
        np.add.at(log, unit, np.log(confusion[voter, :, given]))
        former, probabilities = probabilities, np.exp(log - log.max(1, keepdims=True))
        probabilities = probabilities / probabilities.sum(1, keepdims=True)
        if np.abs(probabilities - former).max(initial=0.0) < _ENOUGH:
            break
    return VoterModel(probabilities, shares, confusion, voters)


def _as_arrays(
    units: Sequence[Mapping[str, int]], code: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    rows = [
        (number, code[voter], answer) for number, unit in enumerate(units) for voter, answer in sorted(unit.items())
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]
