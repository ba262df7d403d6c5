"""Sums over drawn clusters are the same to the last bit whichever way they are computed."""

from __future__ import annotations

import numpy as np
import pytest

from benchbuilder.core.stats.agreement import layout
from benchbuilder.core.stats.agreement.layout import ClusterSums


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_all_draws_together_give_what_each_gives(*, is_whole: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    clusters, size = 40, 5
    cluster, key = np.sort(rng.integers(0, clusters, 300)), rng.integers(0, size, 300)
    amount = rng.integers(1, 9, 300).astype(float) if is_whole else rng.random(300)
    weights = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=50)
    sums = ClusterSums(cluster, key, amount, size).sum_draws(weights)
    monkeypatch.setattr(layout, "_MOST_PRODUCTS", 0)
    added = ClusterSums(cluster, key, amount, size).sum_draws(weights)
    assert sums.dtype == added.dtype
    assert np.array_equal(sums, added)
