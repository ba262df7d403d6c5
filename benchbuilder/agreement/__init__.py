"""How far people agree: coefficients over nominal judgements, with intervals, and words where they are undefined."""
