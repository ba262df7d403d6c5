"""Rows as Arrow tables."""
