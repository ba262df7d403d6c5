"""Words that give the label away, by hand."""

import math

import numpy as np
import pytest

from benchbuilder.evaluation.audit.auditor import audit_words, holm
from benchbuilder.evaluation.audit.features import sparse_rows
from benchbuilder.evaluation.audit.findings import AuditSettings, WordFinding

SETTINGS = AuditSettings(seed=0)


def words_of(rows: list[list[str]], labels: list[bool], families: list[str] | None = None) -> dict[str, WordFinding]:
    families = families or [f"{place:04}" for place in range(len(rows))]
    return {word.name: word for word in audit_words("verdict", "all", sparse_rows(rows), labels, families, SETTINGS)}


def test_figures_of_a_planted_word() -> None:
    labels = [place % 2 == 0 for place in range(100)]
    rows = [["all", "not"] if place % 4 == 1 else ["all", "not"] if place == 0 else ["all"] for place in range(100)]
    found = words_of(rows, labels)
    word = found["not"]
    assert (word.n, word.yes, word.prior, word.share) == (26, 1 / 26, 0.5, 0.26)
    assert word.z == pytest.approx((1 / 26 - 0.5) / math.sqrt(0.25 / 26))
    assert word.p == pytest.approx(2 * (2 * 27 / 2**26))  # both tails of 0 and 1 of 26, and two words tested
    assert word.lmi == pytest.approx(0.25 * math.log((25 / 26) / 0.5))
    assert word.accuracy == pytest.approx((25 + 49) / 100)
    assert word.leaks
    assert word.closes
    assert (found["all"].z, found["all"].leaks) == (0.0, False)


def test_a_family_counts_once() -> None:
    rows = [["not"] if place < 40 else ["other"] for place in range(80)]
    labels = [place < 40 or place >= 79 for place in range(80)]
    assert words_of(rows, labels)["not"].leaks
    families = [f"{place // 20}" if place < 40 else f"{place}" for place in range(80)]
    assert "not" not in words_of(rows, labels, families)


def test_a_word_of_both_sides_of_its_families_is_even() -> None:
    rows = [["not", f"w{place // 2 % 7}"] for place in range(60)]
    families = [f"{place // 2:02}" for place in range(60)]
    word = words_of(rows, [place % 2 == 0 for place in range(60)], families)["not"]
    assert (word.n, word.yes, word.z, word.leaks) == (30, 0.5, 0.0, False)


def test_words_with_equal_occurrences_are_one() -> None:
    rows = [["这种", "种说", "这种说", "不"] if place % 2 else ["不"] for place in range(40)]
    assert sorted(words_of(rows, [place % 2 == 0 for place in range(40)])) == ["不", "这种说"]


def test_rare_words_are_not_tested() -> None:
    rows = [["not"] if place < 9 else [] for place in range(60)]
    assert words_of(rows, [place < 30 for place in range(60)]) == {}


def test_a_significant_word_of_few_items_does_not_leak() -> None:
    rows = [["not"] if place < 19 else [] for place in range(1000)]
    labels = [place < 500 for place in range(1000)]
    word = words_of(rows, labels)["not"]
    assert word.p < 0.001
    assert word.z > 4
    assert not word.leaks


def test_the_exact_tail_holds_for_a_rare_label() -> None:
    labels = [place < 10 for place in range(200)]
    rows = [["word"] if place < 4 or place >= 192 else [] for place in range(200)]
    word = words_of(rows, labels)["word"]
    tail = sum(math.comb(12, k) * 0.05**k * 0.95 ** (12 - k) for k in range(4, 13))
    assert word.p == pytest.approx(2 * tail)


def test_large_words_use_the_normal_tail() -> None:
    labels = [place % 2 == 0 for place in range(1000)]
    rows = [["word"] if (place % 2 == 0 and place < 300) or place >= 800 else [] for place in range(1000)]
    word = words_of(rows, labels)["word"]
    assert word.p == pytest.approx(math.erfc(abs(word.z) / math.sqrt(2)), rel=1e-6)


def test_holm() -> None:
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.03, 0.5])), [0.09, 0.04, 0.09, 0.5])
    assert holm(np.zeros(0)).size == 0


def test_one_label_has_no_words() -> None:
    assert words_of([["word"]] * 20, [True] * 20) == {}
