"""Two groups in strata: against published figures, and with nothing to find."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchbuilder.evaluation.stats.stratified import benjamini_hochberg, compare_in_strata, quantile_strata

BERKELEY = [
    (512, 313, 89, 19), (353, 207, 17, 8), (120, 205, 202, 391), (138, 279, 131, 244), (53, 138, 94, 299),
    (22, 351, 24, 317),
]  # fmt: skip
"""Men admitted and rejected, women admitted and rejected, by department (Bickel and others, Science 1975)."""


def test_the_test_of_mantel_and_haenszel_has_the_published_figures() -> None:
    scores: list[float] = []
    men: list[bool] = []
    strata: list[int] = []
    for department, counts in enumerate(BERKELEY):
        for count, (score, man) in zip(counts, ((1, True), (0, True), (1, False), (0, False)), strict=True):
            scores += [score] * count
            men += [man] * count
            strata += [department] * count
    found = compare_in_strata(np.array(scores, np.float64)[:, None], np.array(men), np.array(strata))
    assert found.odds_ratio == pytest.approx(0.9046968, abs=1e-6)  # mantelhaen.test of R, correct = FALSE
    assert found.z**2 == pytest.approx(1.5246, abs=1e-4)
    assert found.p == pytest.approx(0.2169, abs=1e-4)
    assert found.compared == len(scores)


def test_equal_scores_and_strata_of_one_group_cannot_be_compared() -> None:
    first = np.array([True, True, False, False])
    equal = compare_in_strata(np.ones((4, 3)), first, np.zeros(4, np.int64))
    assert math.isnan(equal.p)
    alone = compare_in_strata(np.eye(4), first, np.array([0, 0, 1, 1]))
    assert (alone.compared, math.isnan(alone.p)) == (0, True)


def test_strata_are_even_and_ties_share_one() -> None:
    assert quantile_strata(np.array([5.0, 1, 2, 3, 4, 6]), 3).tolist() == [2, 0, 0, 1, 1, 2]
    assert quantile_strata(np.zeros(4), 2).tolist() == [0, 0, 0, 0]


def test_p_values_are_adjusted_for_false_discoveries() -> None:
    assert benjamini_hochberg(np.array([0.005, 0.009, 0.019, 0.5])) == pytest.approx(
        [0.018, 0.018, 0.0253333, 0.5], abs=1e-6
    )
