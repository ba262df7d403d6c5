import numpy as np

from benchbuilder.evaluation.stats.statistic import Statistic


def statistic_of_rows(function, rows, why="it is undefined"):
    """Any function of row numbers, in which a row is as often as it was drawn; called once for each draw."""
    everything = np.arange(rows)

    def of(weights):
        drawn = (np.repeat(everything, row) for row in weights.astype(np.int64))
        return np.array([function(indices) if len(indices) else np.nan for indices in drawn], np.float64)

    return Statistic(of, np.ones(rows, bool), why)
