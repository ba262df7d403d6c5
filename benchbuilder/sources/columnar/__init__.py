"""Builds rows from Arrow columns, many at a time."""
