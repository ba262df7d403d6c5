"""Writes the explorer of a release as static files."""
