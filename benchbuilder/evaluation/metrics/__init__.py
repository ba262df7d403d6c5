"""Metrics, which aggregate the scores of many answers."""
