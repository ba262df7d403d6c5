"""The interval of a balanced accuracy: whole families are drawn."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from benchbuilder.evaluation.audit.features import Integers, Reals

_FEW_KINDS = 30


def family_draws(hits: Reals, labels: Reals, families: Integers, samples: int, seed: int) -> Reals:
    """The balanced accuracy in each draw of as many families as there are, without draws that miss a label.

    Families with equal sums are drawn as one kind, which has the same distribution and costs little.
    With one label only, the accuracy is that of this label.
    """
    many = int(families.max()) + 1
    sums = np.column_stack(
        [
            np.bincount(families, weights, minlength=many)
            for weights in (hits * labels, labels, hits * (1 - labels), 1 - labels)
        ]
    )
    kinds, counts = np.unique(np.round(sums, 9), axis=0, return_counts=True)
    draw = _drawn_counts if len(counts) <= _FEW_KINDS else _drawn_counts.__wrapped__
    drawn = draw(tuple(counts.tolist()), samples, seed) @ kinds
    parts = [column for column in (0, 2) if sums[:, column + 1].any()]
    drawn = drawn[np.all([drawn[:, column + 1] > 0 for column in parts], axis=0)]
    return np.mean([drawn[:, column] / drawn[:, column + 1] for column in parts], axis=0)


@lru_cache(maxsize=64)
def _drawn_counts(counts: tuple[int, ...], samples: int, seed: int) -> Integers:
    """How often each draw has each kind of family, of which there are `counts`; many checks have the same."""
    many = sum(counts)
    drawn = np.random.default_rng([seed, 4]).multinomial(many, np.asarray(counts) / many, size=samples)
    return drawn.astype(np.int64)
