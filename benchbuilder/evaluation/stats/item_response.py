"""Item response theory: how hard items are and how well they separate models, by marginal maximum likelihood.

The probability that a model of ability t gets an item right is 1 / (1 + exp(-a (t - b))). Abilities are normal with
mean 0. With one parameter, a is 1 for every item, and the deviation of abilities is estimated: `b` is in logits. With
two, the deviation is 1: `b` is in deviations between models. Weak priors keep estimates finite: log a is normal with
mean 0 and deviation 0.5, b with mean 0 and deviation 2. Scores between 0 and 1 count as parts of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchbuilder.core import Floats

_SD_LOG_A, _SD_B = 0.5, 2.0
_WIDEST, _WIDEST_LOGIT = 4.5, 6.0
_ROUNDS, _CLOSE = 200, 1e-3
_LEAST_SPREAD = 0.05
_LONGEST_STEP = 1.0


@dataclass(frozen=True)
class ItemResponse:
    """The estimates of `fit_item_response`.

    Attributes:
        a: How steeply each item separates models; 1 with one parameter.
        b: How hard each item is: the ability at which half of the answers are right.
        b_error: The standard error of `b`, given the priors.
        ability: The ability of each model.
        ability_error: Its standard deviation.
        spread: The deviation of abilities between models.
        rounds: How many rounds it took.
        converged: Whether the estimates had come to rest by then.
    """

    a: Floats
    b: Floats
    b_error: Floats
    ability: Floats
    ability_error: Floats
    spread: float
    rounds: int
    converged: bool

    def expected(self, ability: Floats) -> Floats:
        """The probability of a right answer for each ability (rows) and item (columns)."""
        return _logistic(self.a * (ability[:, None] - self.b))

    def information(self, ability: Floats) -> Floats:
        """How much each item (columns) says about each ability (rows)."""
        right = self.expected(ability)
        return self.a**2 * right * (1 - right)


def fit_item_response(scores: Floats, parameters: Literal[1, 2], *, rounds: int = _ROUNDS) -> ItemResponse:
    """Fit a model of one parameter (all items separate equally well) or of two.

    Args:
        scores: Models by items, from 0 to 1; nan where a model was not asked.
        parameters: How many parameters an item has.
        rounds: The most rounds of expectation and maximisation.
    """
    asked = ~np.isnan(scores)
    right = np.where(asked, scores, 0.0)
    fit = _Fit(right, asked.astype(np.float64), shared=parameters == 1)
    for done in range(1, rounds + 1):
        if fit.step() < _CLOSE:
            return fit.result(done, converged=True)
    return fit.result(rounds, converged=False)


class _Fit:
    """The state of an estimation: items' log a and b, and what is believed of each model's ability."""

    def __init__(self, right: Floats, asked: Floats, *, shared: bool) -> None:
        self._right, self._asked, self._shared = right, asked, shared
        widest = _WIDEST_LOGIT if shared else _WIDEST
        self._nodes: Floats = np.asarray(np.linspace(-widest, widest, _node_count(right.shape[1])), np.float64)
        self._spread = 1.0
        share = (right.sum(0) + 0.5) / (asked.sum(0) + 1)
        self._log_a, self._b = np.zeros(right.shape[1]), -np.log(share / (1 - share))
        self._belief = self._expectation()

    def _logits(self) -> Floats:
        """Items by nodes."""
        return np.exp(self._log_a)[:, None] * (self._nodes - self._b[:, None])

    def _expectation(self) -> Floats:
        """The probability of each node for each model."""
        logits = self._logits()
        likelihood = (
            self._right @ logits - self._asked @ np.logaddexp(0.0, logits) - 0.5 * (self._nodes / self._spread) ** 2
        )
        belief = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        return belief / belief.sum(axis=1, keepdims=True)

    def step(self) -> float:
        """One round; the largest change of an estimate."""
        before = self._log_a, self._b, self._spread
        right, asked = self._right.T @ self._belief, self._asked.T @ self._belief
        for _ in range(2):
            self._maximise(right, asked)
        self._rescale()
        self._belief = self._expectation()
        changes = (
            np.abs(now - then).max() for now, then in zip((self._log_a, self._b, self._spread), before, strict=True)
        )
        return float(max(changes))

    def _rescale(self) -> None:
        """Put the mean of abilities at 0, and with two parameters their deviation at 1.

        Otherwise items and abilities that are known well hold each other in place, and every round moves them little.
        """
        mean = float((self._belief @ self._nodes).mean())
        spread = max(_LEAST_SPREAD, float(np.sqrt((self._belief @ self._nodes**2).mean() - mean**2)))
        self._b = self._b - mean
        if self._shared:
            self._spread = spread
        else:
            self._b, self._log_a = self._b / spread, self._log_a + np.log(spread)

    def _maximise(self, right: Floats, asked: Floats) -> None:
        """One step of Fisher scoring for every item."""
        a, logits = np.exp(self._log_a), self._logits()
        expected = _logistic(logits)
        residual, weight = right - asked * expected, asked * expected * (1 - expected)
        slope_b = -a * residual.sum(1) - self._b / _SD_B**2
        curve_b = a**2 * weight.sum(1) + 1 / _SD_B**2
        if self._shared:
            self._b = self._b + np.clip(slope_b / curve_b, -_LONGEST_STEP, _LONGEST_STEP)
            return
        slope_a = (residual * logits).sum(1) - self._log_a / _SD_LOG_A**2
        curve_a = (weight * logits**2).sum(1) + 1 / _SD_LOG_A**2
        mixed = -a * (weight * logits).sum(1)
        determinant = curve_a * curve_b - mixed**2
        step_a = (curve_b * slope_a - mixed * slope_b) / determinant
        step_b = (curve_a * slope_b - mixed * slope_a) / determinant
        self._log_a = self._log_a + np.clip(step_a, -_LONGEST_STEP, _LONGEST_STEP)
        self._b = self._b + np.clip(step_b, -_LONGEST_STEP, _LONGEST_STEP)

    def result(self, rounds: int, *, converged: bool) -> ItemResponse:
        """The estimates as they are."""
        ability = self._belief @ self._nodes
        error = np.sqrt(np.maximum(self._belief @ self._nodes**2 - ability**2, 0.0))
        return ItemResponse(
            np.exp(self._log_a), self._b, self._errors(), ability, error, self._spread, rounds, converged
        )

    def _errors(self) -> Floats:
        """The standard errors of b, by the information that is left when abilities are not known for sure."""
        a, logits = np.exp(self._log_a), self._logits()
        expected, asked = _logistic(logits), self._asked.T @ self._belief
        weight = asked * expected * (1 - expected)
        curve_b, mixed = a**2 * weight.sum(1), -a * (weight * logits).sum(1)
        curve_a = (weight * logits**2).sum(1) + 1 / _SD_LOG_A**2
        mean = self._belief @ expected.T
        unknown = a**2 * ((asked * expected**2).sum(1) - (self._asked * mean**2).sum(0))
        lost = 0.0 if self._shared else mixed**2 / curve_a
        return 1 / np.sqrt(np.maximum(curve_b - unknown - lost, 0.0) + 1 / _SD_B**2)


def _node_count(items: int) -> int:
    """More items tell abilities apart more finely."""
    return 41 if items <= 200 else 81 if items <= 1000 else 161


def _logistic(values: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * values))
