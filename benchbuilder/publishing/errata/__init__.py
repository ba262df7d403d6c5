"""Collects reports of errors in items, records decisions about them, and releases what was decided."""
