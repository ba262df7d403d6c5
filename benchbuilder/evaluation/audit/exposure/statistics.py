"""How probable the replies of a model are if it has seen nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np


def permuted_excess(values: Sequence[float], controls: Sequence[float], draws: int, seed: int) -> float:
    """How often chance puts the mean of `values` as far above that of `controls`: groups drawn again `draws` times."""
    pooled = np.array([*values, *controls], float)
    generator = np.random.default_rng(seed)
    observed = float(np.sum(values)) - 1e-9
    sums = [float(generator.permutation(pooled)[: len(values)].sum()) for _ in range(draws)]
    return (1 + sum(found >= observed for found in sums)) / (1 + draws)


def fisher_excess(hits: int, n: int, control_hits: int, control_n: int) -> float:
    """Fisher's exact test, one-sided: how probable at least `hits` are if both groups have the same rate.

    >>> round(fisher_excess(3, 3, 0, 3), 3)
    0.05
    """
    total, every = hits + control_hits, comb(n + control_n, n)
    ways = sum(comb(total, k) * comb(n + control_n - total, n - k) for k in range(hits, min(n, total) + 1))
    return ways / every


def matched_excess(
    replies: Sequence[str], expected: Sequence[str], same: Callable[[str, str], bool], draws: int, seed: int
) -> float:
    """How often as many `replies` match if what is expected is dealt out at random."""
    texts = {text: at for at, text in enumerate(dict.fromkeys(expected))}
    matches = np.array([[same(reply, text) for text in texts] for reply in replies], bool)
    places = np.array([texts[text] for text in expected])
    rows, generator = np.arange(len(replies)), np.random.default_rng(seed)
    observed = int(matches[rows, places].sum())
    found = [int(matches[rows, generator.permutation(places)].sum()) for _ in range(draws)]
    return (1 + sum(count >= observed for count in found)) / (1 + draws)
