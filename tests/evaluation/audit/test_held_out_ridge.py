"""The fast ridge gives what a plain refit for each fold gives."""

import numpy as np
import pytest

from benchbuilder.core.stats import kernels
from benchbuilder.evaluation.audit.estimator import HeldOutRidge, fold_numbers
from benchbuilder.evaluation.audit.features import ViewFeatures, category_rows, joined, signed_rows, sparse_rows
from benchbuilder.evaluation.audit.run_checks import family_draws

LETTERS = list("abcdefghijklmnopqrstuvwxyz")


def random_words(n: int, seed: int) -> list[list[str]]:
    random = np.random.default_rng(seed)
    return [[str(word) for word in random.choice(LETTERS, random.integers(1, 7))] for _ in range(n)]


def dense(features: ViewFeatures) -> np.ndarray:
    table = np.zeros((features.rows, features.width))
    unit = features.unit_rows()
    table[unit.row_of_entry, unit.indices] = unit.values
    return table


def refitted_hits(features: ViewFeatures, labels: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """A ridge fitted anew for each fold, by its normal equations."""
    table, hits = dense(features), np.zeros(len(labels))
    for fold in np.unique(folds):
        train, held = folds != fold, folds == fold
        p = labels[train].mean()
        coded = np.ones(train.sum()) if features.signed else np.where(labels[train] == 1, 0.5 / p, -0.5 / (1 - p))
        inner = table[train].T @ table[train] + np.eye(features.width)
        guess = np.linalg.solve(inner, table[train].T @ coded)
        predicted = table[held] @ guess
        predicted[np.abs(predicted) < 1e-9] = 0
        hits[held] = 0.5 + np.sign(predicted) * np.where(labels[held] == 1, 0.5, -0.5)
    return hits


def balanced(hits: np.ndarray, labels: np.ndarray) -> float:
    return float(np.mean([hits[labels == label].mean() for label in np.unique(labels)]))


def features_of(kind: str, n: int) -> ViewFeatures:
    words = random_words(n, 1)
    if kind == "signed":
        return signed_rows(words, random_words(n, 2))
    if kind == "categories":
        return category_rows([row[0] if len(row) < 5 else "" for row in words])
    if kind == "crossed":
        return sparse_rows(words).crossed([len(row) % 2 == 0 for row in words])
    if kind == "crossed categories":
        return category_rows([row[0] for row in words]).crossed([len(row) % 2 == 0 for row in words])
    if kind == "joined":
        return joined([sparse_rows(words), category_rows([row[0] for row in words])])
    return sparse_rows(words)


KINDS = ["words", "signed", "categories", "crossed", "crossed categories", "joined"]


@pytest.mark.parametrize("kind", KINDS)
def test_hits_and_scores_are_those_of_a_plain_refit(kind: str) -> None:
    n, random = 150, np.random.default_rng(3)
    families = random.integers(0, 50, n)
    families = np.unique(families, return_inverse=True)[1]
    features = features_of(kind, n)
    labels = np.ones((n, 4), np.int8)
    if not features.signed:
        labels = np.stack([random.permutation(np.arange(n) % 3 == 0) for _ in range(4)], axis=1).astype(np.int8)
    folds = fold_numbers(families, 10, 5, 0)
    ridge = HeldOutRidge(features, families)
    scores, _ = ridge.guess(labels, folds)
    for column in range(4):
        expected = refitted_hits(features, labels[:, column], folds)
        np.testing.assert_array_equal(ridge.guess(labels[:, column:], folds)[1], expected)
        assert scores[column] == pytest.approx(balanced(expected, labels[:, column]), abs=1e-9)


def test_many_rows_are_solved_in_the_space_of_features(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 120
    features, families = features_of("joined", n), np.arange(n) // 2
    labels = np.random.default_rng(4).integers(0, 2, n).astype(np.int8)
    folds = fold_numbers(families, 10, 5, 0)
    exact = HeldOutRidge(features, families).guess(labels[:, None], folds)[1]
    monkeypatch.setattr(kernels, "EXACT_ROWS", 50)
    np.testing.assert_array_equal(HeldOutRidge(features, families).guess(labels[:, None], folds)[1], exact)


def test_predictions_of_few_features_that_are_nothing_are_exactly_nothing() -> None:
    # Most rows have the same three features and as many yes as no: in single precision, row by row, they got a sign.
    random = np.random.default_rng(6)
    rows = [["a", "b", "c"] if random.random() < 0.98 else ["a", "b", "d"] for _ in range(3_000)]
    features, families = sparse_rows(rows), np.arange(3_000)
    labels = np.array([random.permutation(3_000) < 1_500 for _ in range(20)], np.int8).T
    folds = fold_numbers(families, 10, 1, 0)
    scores, hits = HeldOutRidge(features, families).guess(labels, folds)
    np.testing.assert_array_equal(hits, refitted_hits(features, labels[:, 0], folds))
    expected = [balanced(refitted_hits(features, column, folds), column) for column in labels.T]
    np.testing.assert_allclose(scores, expected, atol=1e-9)


def test_features_left_out_of_the_space_keep_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    features = features_of("words", 80).unit_rows()
    monkeypatch.setattr(kernels, "WIDTH", 10)
    inverse = kernels.FeatureSpaceInverse(features)
    full = np.linalg.inv(inverse.times(np.eye(80, dtype=np.float32)))
    lengths = np.bincount(features.row_of_entry, features.values**2)
    np.testing.assert_allclose(np.diag(full), 1 + lengths, atol=1e-4)


def test_gram_adds_frequent_and_rare_features(monkeypatch: pytest.MonkeyPatch) -> None:
    features = features_of("joined", 200)
    np.testing.assert_allclose(kernels.gram(features), dense(features) @ dense(features).T * 2, atol=1e-5)


def test_folds_hold_whole_families_and_are_nearly_equal() -> None:
    families = np.unique(np.random.default_rng(0).integers(0, 90, 400), return_inverse=True)[1]
    folds = fold_numbers(families, 10, 1, 0)
    assert all(len(set(folds[families == family])) == 1 for family in np.unique(families))
    assert 30 <= np.bincount(folds, minlength=10).min() <= np.bincount(folds).max() <= 50
    assert not np.array_equal(folds, fold_numbers(families, 10, 1, 1))
    assert len(set(fold_numbers(np.arange(4), 10, 1, 0))) == 4


def test_bootstrap_by_kinds_is_that_of_families() -> None:
    random = np.random.default_rng(5)
    families = np.arange(300) // 2
    labels = random.integers(0, 2, 300).astype(np.int8)
    hits = random.integers(0, 3, 300) / 2
    fast = family_draws(hits, labels, families, 4000, 1)
    plain = []
    for _ in range(4000):
        chosen = random.integers(0, 150, 150)
        rows = (chosen[:, None] * 2 + [0, 1]).ravel()
        plain.append(balanced(hits[rows], labels[rows]))
    assert np.quantile(fast, [0.025, 0.5, 0.975]) == pytest.approx(np.quantile(plain, [0.025, 0.5, 0.975]), abs=0.006)
