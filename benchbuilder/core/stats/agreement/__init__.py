"""How far people agree: coefficients by level of measurement, with intervals, and words where they are undefined."""
