"""Runs a plan on a few rows: previews, comparisons, cost estimates."""
