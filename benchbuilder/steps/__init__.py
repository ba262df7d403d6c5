"""Stages: one file, one verb; no stage imports another."""
