"""Rows as Arrow tables and back."""
