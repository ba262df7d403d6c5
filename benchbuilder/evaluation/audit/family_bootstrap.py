"""The interval of a balanced accuracy: whole families are drawn."""

from __future__ import annotations

import numpy as np

from benchbuilder.evaluation.audit.features import Integers, Reals


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
    drawn = np.random.default_rng([seed, 4]).multinomial(many, counts / many, size=samples) @ kinds
    parts = [column for column in (0, 2) if sums[:, column + 1].any()]
    drawn = drawn[np.all([drawn[:, column + 1] > 0 for column in parts], axis=0)]
    return np.mean([drawn[:, column] / drawn[:, column + 1] for column in parts], axis=0)
