"""Permuted labels keep what a family is; p values are uniform if the text tells nothing."""

import numpy as np
import pytest

from benchbuilder.evaluation.audit.estimator import HeldOutRidge, fold_numbers
from benchbuilder.evaluation.audit.features import sparse_rows
from benchbuilder.evaluation.audit.run_checks import PermutationDraws, family_p_values, single_p

FAMILIES = ["quad"] * 4 + ["three"] * 3 + [f"pair {n}" for n in range(3) for _ in "12"] + [f"one {n}" for n in range(8)]
LABELS = np.array([1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0], np.int8)


def codes_of(families: list[str]) -> tuple[np.ndarray, list[str]]:
    names, codes = np.unique(families, return_inverse=True)
    return codes, [str(name) for name in names]


def permuted(permutations: int = 400, seed: int = 1) -> np.ndarray:
    codes, names = codes_of(FAMILIES)
    return PermutationDraws(FAMILIES, permutations, seed).labels("verdict", LABELS, codes, names)


def test_a_balanced_family_is_turned_round_as_a_whole() -> None:
    quads = {tuple(column) for column in permuted()[:4].T}
    assert quads == {(1, 0, 1, 0), (0, 1, 0, 1)}


def test_an_unbalanced_family_exchanges_its_labels_inside() -> None:
    assert {tuple(column) for column in permuted()[4:7].T} == {(1, 1, 0), (1, 0, 1), (0, 1, 1)}


def test_families_of_one_label_exchange_with_families_of_their_size() -> None:
    pairs, singles = permuted()[7:13], permuted()[13:]
    np.testing.assert_array_equal(pairs[::2], pairs[1::2])
    assert set(pairs[::2].sum(axis=0)) == {1}
    assert set(singles.sum(axis=0)) == {3}
    assert singles.mean(axis=1) == pytest.approx(np.full(8, 3 / 8), abs=0.1)


def test_a_family_draws_the_same_in_every_scope() -> None:
    codes, names = codes_of(FAMILIES[:4])
    draws = PermutationDraws(FAMILIES, 50, 1)
    alone = draws.labels("verdict", LABELS[:4], codes, names)
    np.testing.assert_array_equal(alone, permuted(50)[:4])
    np.testing.assert_array_equal(draws.sides(codes, names)[0], alone[0])


def test_targets_turn_families_round_together_and_exchange_apart() -> None:
    codes, names = codes_of(FAMILIES)
    draws = PermutationDraws(FAMILIES, 50, 1)
    verdict, truth = (draws.labels(target, LABELS, codes, names) for target in ("verdict", "truth"))
    np.testing.assert_array_equal(verdict[:4], truth[:4])
    assert (verdict[13:] != truth[13:]).any()


def test_p_is_uniform_if_the_labels_are_a_permutation() -> None:
    random = np.random.default_rng(0)
    families = [f"{n // 4:03}" if n < 60 else f"{n:03}" for n in range(120)]
    codes, names = codes_of(families)
    labels = np.array([n % 2 for n in range(60)] + [int(n < 20) for n in range(60)], np.int8)
    words = [[str(word) for word in random.choice(list("abcdefghijklmno"), 4)] for _ in families]
    many = PermutationDraws(families, 4000, 3).labels("verdict", labels, codes, names)
    scores, _ = HeldOutRidge(sparse_rows(words), codes).guess(many, fold_numbers(codes, 10, 1, 0))
    scores = np.round(scores, 9) + random.random(len(scores)) * 1e-6
    p = np.sort([single_p(row[0], row[1:]) for row in scores.reshape(100, 40)])
    distance = np.abs(p - np.arange(1, 101) / 101).max()
    assert distance < 1.63 / 10  # the bar of Kolmogorov and Smirnov for p = .01


def test_p_over_all_checks_rarely_alarms() -> None:
    random = np.random.default_rng(2)
    alarms = [
        family_p_values(random.normal(size=20) / 20, random.normal(size=(20, 99)) / 20).min() <= 0.05
        for _ in range(400)
    ]
    assert 0.02 <= np.mean(alarms) <= 0.08


def test_checks_that_never_vary_do_not_alarm_nor_hide_others() -> None:
    random = np.random.default_rng(3)
    flat = np.full((30, 199), 0.5)
    flat[np.arange(30), random.integers(0, 199, 30)] += 0.01  # one tiny jump each
    scores = np.concatenate([flat, 0.5 + random.normal(size=(1, 199)) * 0.03])
    p = family_p_values(np.array([0.5] * 30 + [0.65]), scores)
    assert p[-1] == pytest.approx(1 / 200)
    assert (p[:-1] > 0.5).all()
    assert family_p_values(np.zeros(0), np.zeros((0, 9))).size == 0
