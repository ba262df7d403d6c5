"""Errors, rows, text, statistics and the registry of kinds; names no component."""
