"""How far people agree: coefficients by level of measurement, with intervals, or why they are undefined."""
