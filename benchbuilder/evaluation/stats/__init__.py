"""Statistics of scores: correlations, intervals, calibration, validity."""
