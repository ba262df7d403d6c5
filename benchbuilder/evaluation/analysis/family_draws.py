"""Draws whole item families again and again, for all models at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchbuilder.core import Floats
from benchbuilder.evaluation.analysis.answered import AnsweredItems

_CELLS = 1 << 21
"""Draws by families that are held at once."""


def drawn_means(answered: AnsweredItems, samples: int, seed: Sequence[int]) -> Iterator[Floats]:
    """The mean of each model (columns) in draws of as many families as there are (rows), some draws at a time.

    A mean is over the items that the model was asked; nan if a draw holds none of them.
    """
    families, models = answered.family_count, len(answered.systems)
    codes = answered.items.families
    sums, sizes = (
        np.array([np.bincount(codes, row, minlength=families) for row in rows])
        for rows in (np.where(answered.asked, answered.scores, 0.0), answered.asked)
    )
    random = np.random.default_rng(list(seed))
    batch = max(1, _CELLS // max(families, models * models))
    for start in range(0, samples, batch):
        count = min(batch, samples - start)
        weights = random.multinomial(families, np.full(families, 1 / families), size=count).astype(np.float64)
        above: Floats = weights @ sums.T
        below: Floats = weights @ sizes.T
        means: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
        yield np.round(means, 12)
