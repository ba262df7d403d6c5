"""Writes a benchmark as tasks of evaluation harnesses."""
